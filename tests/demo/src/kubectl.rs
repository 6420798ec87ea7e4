//! The commands that the demo shows, run by the kubectl that was built with the control plane.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use windlass_controlplane::{Assets, ControlPlane};
use windlass_e2e::{control_plane, workspace};

/// How kubectl prints the text of a Greeting's ConfigMap.
const TEXT: &str = r#"jsonpath={.data.index\.html}{"\n"}"#;
/// How kubectl prints why a Plugin is not ready.
const WHY: &str = r#"jsonpath={.status.conditions[?(@.type=="Ready")].message}{"\n"}"#;
/// Every namespace has it, and it is not what is shown.
const NOT_THE_AUTHORITY: &str = "metadata.name!=kube-root-ca.crt";

/// A command of kubectl.
#[derive(Clone, Copy)]
pub(crate) enum Do<'a> {
    /// `apply -k`: the example's kind and register.
    Install,
    /// `wait` for a kind.
    WaitForKind(&'a str),
    /// `apply -f`, of a file in the workspace.
    Apply(&'a str),
    /// `wait` for the condition Ready, to have this status.
    WaitForReady(&'a str, &'a str),
    /// `get` of why a Plugin is not ready.
    Why(&'a str),
    /// `get` of some resources in a namespace.
    List(&'a [&'a str], &'a str),
    /// `get` of one object.
    Get(&'a str, &'a str),
    /// `get` of the text in a ConfigMap.
    Text(&'a str),
    /// `patch --type=merge`.
    Patch(&'a str, &'a str, &'a str),
    /// `delete`, with or without a wait for the end.
    Delete(&'a str, &'a str, bool),
}

impl Do<'_> {
    fn words(self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut say = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        match self {
            Self::Install => say(&["apply", "-k", "plugins/greeter"]),
            Self::WaitForKind(crd) => {
                say(&["wait", "--for=condition=Established"]);
                words.push(format!("crd/{crd}"));
            }
            Self::WaitForReady(object, status) => {
                let condition = format!("--for=condition=Ready={status}");
                say(&["wait", object, &condition, "--timeout=60s"]);
            }
            Self::Why(name) => say(&["get", "plugin", name, "-o", WHY]),
            Self::Apply(file) => say(&["apply", "-f", file]),
            Self::List(kinds, namespace) => {
                say(&["get", &kinds.join(",")]);
                if namespace != "default" {
                    say(&["-n", namespace]);
                }
                if kinds.contains(&"configmaps") {
                    words.push(format!("--field-selector={NOT_THE_AUTHORITY}"));
                }
            }
            Self::Get(kind, name) => say(&["get", kind, name]),
            Self::Text(name) => say(&["get", "configmap", name, "-o", TEXT]),
            Self::Patch(kind, name, patch) => {
                say(&["patch", kind, name, "--type=merge", "-p", patch]);
            }
            Self::Delete(kind, name, waits) => {
                say(&["delete", kind, name]);
                if !waits {
                    say(&["--wait=false"]);
                }
            }
        }
        words
    }
}

/// What runs commands.
pub(crate) struct Kubectl(PathBuf);

impl Kubectl {
    /// That of the control plane.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn find() -> Result<Self> {
        Ok(Self(Assets::find()?.kubectl))
    }

    /// Shows a command, runs it, and shows what it prints.
    ///
    /// # Errors
    /// It fails.
    pub(crate) fn show(&self, step: Do<'_>) -> Result<()> {
        let words = step.words();
        let shown: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        println!("\n$ kubectl {}", shown.join(" "));
        run(&self.0, control_plane()?, &words)
    }
}

fn run(kubectl: &PathBuf, control_plane: &ControlPlane, words: &[String]) -> Result<()> {
    let mut command = Command::new(kubectl);
    command.arg("--kubeconfig");
    command.arg(control_plane.kubeconfig_admin());
    let output = command.args(words).current_dir(workspace()).output()?;
    print!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(
        output.status.success(),
        "kubectl {} failed",
        words.join(" ")
    );
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=!,:%".contains(it);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
