//! An author's first minutes: a new project, `windlass dev`, and what it says when an object, the code and a
//! mistake come along.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_e2e::host_binary;

use crate::Demo;

/// How long a step may take: a build from nothing, on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(600);
const NAME: &str = "hello";
const SOURCE: &str = "src/lib.rs";
/// Where `windlass dev` and `windlass cluster` write it.
pub(crate) const KUBECONFIG: &str = ".windlass/kubeconfig";

/// All of it.
pub(crate) async fn show(demo: &mut Demo) -> Result<()> {
    let windlass = host_binary()?;
    let home = tempfile::tempdir()?;
    println!("# in {}", home.path().display());
    let folder = home.path().join(NAME);
    run(&windlass, home.path(), &["new", NAME])?;
    demo.done("project made");

    println!("\n$ cd {NAME} && windlass dev");
    let session = Session::start(&windlass, &folder, &["dev"])?;
    session.until("Ready in ")?;
    demo.done("built from nothing, running");

    println!("\n# an object changes");
    rename(&folder.join(KUBECONFIG), "Grace").await?;
    session.until("data.text: \"Hello, Ada!\" -> \"Hello, Grace!\"")?;
    demo.done("object changed, child follows");

    println!("\n# the code changes");
    edit(&folder, "Hello, ", "Ahoy, ")?;
    session.until("data.text: \"Hello, Grace!\" -> \"Ahoy, Grace!\"")?;
    demo.done("saved, built, swapped, child follows");

    println!("\n# a mistake that does not compile");
    edit(&folder, "let text = ", "let text: u8 = ")?;
    session.until("the version before continues to run")?;
    demo.done("mistake shown, last good version runs on");
    edit(&folder, "let text: u8 = ", "let text = ")?;
    session.until("as before")?;

    println!("\n# a mistake that fails, which is recorded");
    edit(
        &folder,
        "Ok(Action::AwaitChange)",
        "Err(Failure::transient(\"no luck\"))",
    )?;
    let said = session.until("replay: windlass replay ")?;
    let recording = said.rsplit(' ').next().context("it names a file")?;
    demo.done("failed, and on record");
    edit(
        &folder,
        "Err(Failure::transient(\"no luck\"))",
        "Ok(Action::AwaitChange)",
    )?;
    session.until("Swapped")?;
    session.end()?;
    let again = run(&windlass, &folder, &["replay", recording, "--with", "."])?;
    ensure!(
        again.contains("+ returned: awaitChange"),
        "the same pass still fails"
    );
    demo.done("fixed: the same pass succeeds");
    Ok(())
}

/// `windlass dev` or `windlass cluster`, whose lines are shown as they come.
pub(crate) struct Session {
    child: Child,
    lines: Receiver<String>,
}

impl Session {
    pub(crate) fn start(windlass: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(windlass);
        command.args(arguments);
        command.args(["--admin-bind-address", "127.0.0.1:0"]);
        command.current_dir(folder).env_remove("KUBECONFIG");
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start windlass")?;
        let (sender, lines) = channel();
        let said = child.stdout.take().context("it has a standard output")?;
        show_lines(said, sender.clone());
        let said = child.stderr.take().context("it has a standard error")?;
        show_lines(said, sender);
        Ok(Self { child, lines })
    }

    /// Waits for a line with `word` in it.
    pub(crate) fn until(&self, word: &str) -> Result<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.with_context(|| format!("it did not say {word:?}"))?;
            if line.contains(word) {
                return Ok(line);
            }
        }
    }

    /// Ctrl-C.
    pub(crate) fn end(mut self) -> Result<()> {
        let id = Pid::from_raw(i32::try_from(self.child.id())?);
        kill_process(id.context("a process has an id")?, Signal::INT)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "windlass ended with {status}");
        Ok(())
    }
}

/// Shows what is said, and passes it on.
fn show_lines(said: impl Read + Send + 'static, sender: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            println!("{line}");
            let _ = sender.send(line);
        }
    });
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Shows a command of this program, runs it, and shows what it prints.
fn run(windlass: &Path, folder: &Path, arguments: &[&str]) -> Result<String> {
    println!("\n$ windlass {}", arguments.join(" "));
    let output = Command::new(windlass)
        .args(arguments)
        .current_dir(folder)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{}{said}", String::from_utf8_lossy(&output.stderr));
    // That decisions differ is an answer.
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "windlass {arguments:?} ended with {}",
        output.status
    );
    Ok(said)
}

/// Saves the source with another text in the place of one.
fn edit(folder: &Path, from: &str, to: &str) -> Result<()> {
    println!("$ sed -i 's/{from}/{to}/' {SOURCE}");
    let path: PathBuf = folder.join(SOURCE);
    let text = fs::read_to_string(&path)?;
    if !text.contains(from) {
        bail!("{} does not hold {from:?}", path.display());
    }
    Ok(fs::write(path, text.replacen(from, to, 1))?)
}

/// Gives the example's Greeting another name, as kubectl would.
async fn rename(kubeconfig: &Path, name: &str) -> Result<()> {
    let patch = serde_json::json!({ "spec": { "name": name } });
    println!(
        "$ kubectl --kubeconfig .windlass/kubeconfig patch greeting ada --type=merge -p '{patch}'"
    );
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = kube::Client::try_from(config)?;
    let kind = GroupVersionKind::gvk(&format!("{NAME}.example.dev"), "v1", "Greeting");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &resource);
    let patch: Patch<Value> = Patch::Merge(patch);
    api.patch("ada", &PatchParams::default(), &patch).await?;
    Ok(())
}
