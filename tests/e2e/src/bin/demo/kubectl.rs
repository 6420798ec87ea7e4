//! The commands that the demo shows, and what runs them: kubectl where there is one, otherwise a client of
//! our own that prints the same.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::Value;
use windlass_controlplane::{Assets, ControlPlane};
use windlass_e2e::{Cluster, TestServer, control_plane, eventually};
use windlass_e2e::{DEADLINE, apply, workspace};

/// How kubectl prints the text of a Greeting's ConfigMap.
const TEXT: &str = r#"jsonpath={.data.index\.html}{"\n"}"#;
/// Every namespace has it, and it is not what is shown.
const NOT_THE_AUTHORITY: &str = "metadata.name!=kube-root-ca.crt";

/// A command of kubectl.
#[derive(Clone, Copy)]
pub(crate) enum Do<'a> {
    /// `apply -k`: the example's kind and register.
    Install(&'a [&'a str]),
    /// `wait` for a kind.
    WaitForKind(&'a str),
    /// `apply -f`, of a file in the workspace.
    Apply(&'a str),
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
            Self::Install(_) => say(&["apply", "-k", "plugins/greeter"]),
            Self::WaitForKind(crd) => {
                say(&["wait", "--for=condition=Established"]);
                words.push(format!("crd/{crd}"));
            }
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
pub(crate) enum Kubectl {
    Program(PathBuf),
    Own,
}

impl Kubectl {
    /// The real kubectl for a real control plane, which was built with it; otherwise the one on `PATH`.
    ///
    /// # Errors
    /// The control plane has none.
    pub(crate) fn find() -> Result<Self> {
        if TestServer::chosen()? == TestServer::Real {
            return Ok(Self::Program(Assets::find()?.kubectl));
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&folders).map(|folder| folder.join("kubectl"));
        Ok(match found.find(|path| path.is_file()) {
            Some(path) => Self::Program(path),
            None => Self::Own,
        })
    }

    /// Says which it is.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Program(path) => format!("commands are run by {}", path.display()),
            Self::Own => "there is no kubectl on PATH: what it would do is done by a client of \
                          the demo's own"
                .to_owned(),
        }
    }

    /// Shows a command, runs it, and shows what it prints.
    ///
    /// # Errors
    /// It fails.
    pub(crate) async fn show(&self, step: Do<'_>) -> Result<()> {
        let words = step.words();
        let shown: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        println!("\n$ kubectl {}", shown.join(" "));
        match self {
            Self::Program(path) => run(path, control_plane()?, &words),
            Self::Own => {
                let cluster = Cluster::existing("default").await?;
                print!("{}", own(&cluster, step).await?);
                Ok(())
            }
        }
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
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Does what kubectl would do, and answers what it would print.
async fn own(cluster: &Cluster, step: Do<'_>) -> Result<String> {
    Ok(match step {
        Do::Install(files) => {
            let mut said = String::new();
            for file in files {
                said.push_str(&applied(file).await?);
            }
            said
        }
        Do::Apply(file) => applied(file).await?,
        Do::WaitForKind(crd) => {
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}");
            eventually(DEADLINE, "the kind is established", async || {
                let text = cluster.text(&path, "application/json").await?;
                Ok(text.contains("\"Established\"").then_some(()))
            })
            .await?;
            format!("customresourcedefinition.apiextensions.k8s.io/{crd} condition met\n")
        }
        Do::List(kinds, namespace) => {
            let mut tables = Vec::new();
            for kind in kinds {
                let query = format!("?fieldSelector={}", NOT_THE_AUTHORITY.replace('=', "%3D"));
                let path = format!("{}{query}", collection(kind, namespace)?);
                let prefix = if kinds.len() > 1 { named(kind)? } else { "" };
                let shown = table(cluster, &path, prefix).await?;
                tables.extend((!shown.is_empty()).then_some(shown));
            }
            tables.join("\n")
        }
        Do::Get(kind, name) => {
            let path = format!("{}/{name}", collection(&format!("{kind}s"), "default")?);
            table(cluster, &path, "").await?
        }
        Do::Text(name) => {
            let map = cluster.get("ConfigMap", name).await?;
            let map = map.with_context(|| format!("there is no ConfigMap {name}"))?;
            let text = map.data.pointer("/data/index.html").and_then(Value::as_str);
            format!("{}\n", text.unwrap_or_default())
        }
        Do::Patch(kind, name, patch) => {
            let patch: Value = serde_json::from_str(patch)?;
            let api = cluster.api(camel(kind)?, "default")?;
            let parameters = PatchParams::default();
            api.patch(name, &parameters, &Patch::Merge(patch)).await?;
            format!("{}/{name} patched\n", named(&format!("{kind}s"))?)
        }
        Do::Delete(kind, name, waits) => {
            let api = cluster.api(camel(kind)?, "default")?;
            let uid = api.get(name).await?.metadata.uid;
            api.delete(name, &DeleteParams::background()).await?;
            if waits {
                eventually(DEADLINE, "it is gone", async || {
                    let held = api.get_opt(name).await?;
                    Ok((held.and_then(|held| held.metadata.uid) != uid).then_some(()))
                })
                .await?;
            }
            let kind = named(&format!("{kind}s"))?;
            format!("{kind} \"{name}\" deleted from default namespace\n")
        }
    })
}

async fn applied(file: &str) -> Result<String> {
    let objects = apply(file).await?;
    let lines = objects.iter().map(|object| {
        let text = |path| object.pointer(path).and_then(Value::as_str);
        let version = text("/apiVersion").unwrap_or_default();
        let group = version
            .split_once('/')
            .map(|(group, _)| format!(".{group}"));
        let kind = text("/kind").unwrap_or_default().to_lowercase();
        let name = text("/metadata/name").unwrap_or_default();
        format!(
            "{kind}{}/{name} serverside-applied\n",
            group.unwrap_or_default()
        )
    });
    Ok(lines.collect())
}

/// Where objects are.
fn collection(plural: &str, namespace: &str) -> Result<String> {
    let base = match plural {
        "configmaps" => "/api/v1",
        "deployments" => "/apis/apps/v1",
        "greetings" => "/apis/examples.windlass.dev/v1",
        other => bail!("the demo knows no {other}"),
    };
    Ok(format!("{base}/namespaces/{namespace}/{plural}"))
}

/// What kubectl puts before a name.
fn named(plural: &str) -> Result<&'static str> {
    Ok(match plural {
        "configmaps" => "configmap",
        "deployments" => "deployment.apps",
        "greetings" => "greeting.examples.windlass.dev",
        other => bail!("the demo knows no {other}"),
    })
}

fn camel(kind: &str) -> Result<&'static str> {
    Ok(match kind {
        "configmap" => "ConfigMap",
        "greeting" => "Greeting",
        other => bail!("the demo knows no {other}"),
    })
}

/// Objects as the server's Table, in columns.
async fn table(cluster: &Cluster, path: &str, prefix: &str) -> Result<String> {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table: Value = serde_json::from_str(&cluster.text(path, accept).await?)?;
    let list = |path: &str| table.pointer(path).and_then(Value::as_array).cloned();
    let columns = list("/columnDefinitions").unwrap_or_default();
    let shown: Vec<usize> = (0..columns.len())
        .filter(|index| {
            columns
                .get(*index)
                .is_some_and(|column| column["priority"] == 0)
        })
        .collect();
    let title = |index: &usize| {
        columns
            .get(*index)
            .and_then(|column| column["name"].as_str())
    };
    let mut lines: Vec<Vec<String>> = vec![
        shown
            .iter()
            .map(|index| title(index).unwrap_or_default().to_uppercase())
            .collect(),
    ];
    for row in list("/rows").unwrap_or_default() {
        let cell = |index: &usize| match row.pointer(&format!("/cells/{index}")) {
            Some(Value::String(text)) if *index == 0 && !prefix.is_empty() => {
                format!("{prefix}/{text}")
            }
            Some(Value::String(text)) => text.clone(),
            other => other.map(Value::to_string).unwrap_or_default(),
        };
        lines.push(shown.iter().map(cell).collect());
    }
    if lines.len() < 2 {
        return Ok(String::new());
    }
    Ok(aligned(&lines))
}

fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let lines = lines.iter().map(|line| {
        let cells = line.iter().enumerate();
        let cells = cells.map(|(index, cell)| format!("{cell:<width$}", width = width(index) + 3));
        format!("{}\n", cells.collect::<String>().trim_end())
    });
    lines.collect()
}
