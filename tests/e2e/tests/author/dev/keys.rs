//! In a terminal: keys, and a terminal that goes away. `script` of util-linux is the terminal.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use windlass_base::digest::digest;
use windlass_e2e::{DEADLINE, Dev, eventually, host_binary, windlass_alone, workspace};

use super::{COMPILER, project};

/// The file that says which host a folder has.
fn host_file(folder: &Path) -> Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let name = digest(folder.as_os_str().as_encoded_bytes()).to_string();
    let name = name.replace("sha256:", "");
    let hosts = workspace().join("target/state/windlass/hosts");
    Ok(hosts.join(name).with_extension("json"))
}

/// A session in a terminal.
struct Terminal {
    script: Child,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn open(folder: &Path) -> Result<Self> {
        Self::run(folder, "dev --admin-bind-address 127.0.0.1:0")
    }

    /// A terminal of 30 lines, in which a command of this program runs.
    fn run(folder: &Path, command_line: &str) -> Result<Self> {
        let mut command = Command::new("script");
        let windlass = host_binary()?;
        let windlass = windlass.display();
        let line = format!("stty rows 30 cols 120; exec {windlass} {command_line}");
        command.args([
            "--quiet",
            "--flush",
            "--return",
            "--command",
            &line,
            "/dev/null",
        ]);
        command.env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"));
        command.env("XDG_STATE_HOME", workspace().join("target/state"));
        command
            .env_remove("KUBECONFIG")
            .env("TERM", "xterm")
            .current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command
            .spawn()
            .context("cannot start script, of util-linux")?;
        let shown: Arc<Mutex<String>> = Arc::default();
        let mut out = script.stdout.take().context("it has a standard output")?;
        let held = shown.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                held.lock().push_str(&text);
            }
        });
        Ok(Self { script, shown })
    }

    async fn shows(&self, text: &str) -> Result<()> {
        eventually(
            DEADLINE,
            &format!("the terminal shows {text:?}"),
            async || {
                let shown = self.shown.lock();
                if shown.contains(text) {
                    Ok(Some(()))
                } else {
                    bail!("it shows {shown}")
                }
            },
        )
        .await
    }

    fn press(&mut self, key: &str) -> Result<()> {
        let keyboard = self.script.stdin.as_mut().context("it has a keyboard")?;
        keyboard.write_all(key.as_bytes())?;
        Ok(keyboard.flush()?)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[tokio::test]
async fn keys_reconcile_everything_say_why_and_end_it() -> Result<()> {
    let home = project(COMPILER)?;
    let mut terminal = Terminal::open(home.path())?;
    terminal.shows("q quit").await?;
    terminal.shows("end v0 Ada").await?;
    terminal.press("x\r")?;
    terminal.press("r")?;
    terminal.shows("somebody asked for it").await?;
    terminal.press("w")?;
    terminal.shows("LAST PASS").await?;
    terminal.press("q")?;
    let status = eventually(DEADLINE, "it ends", async || {
        Ok(terminal.script.try_wait()?)
    })
    .await?;
    assert!(status.success(), "{status}");
    assert!(!home.path().join(".windlass/kubeconfig").exists());
    Ok(())
}

#[tokio::test]
async fn top_goes_from_all_plugins_to_one_and_to_its_objects() -> Result<()> {
    let home = project(COMPILER)?;
    let dev = Dev::start(home.path(), &[])?;
    let ready = dev
        .tells("it is ready", |event| event["event"] == "ready")
        .await?;
    let page = ready["page"].as_str().context("there is a page")?;
    let mut terminal = Terminal::run(home.path(), &format!("top --admin-url {page}"))?;
    // Blanks are jumped over.
    for (key, word) in [
        ("", "PASSES/MIN"),
        ("s", "QUEUE)"),
        ("\r", "SLOWEST"),
        ("\r", "RETURNED"),
    ] {
        terminal.press(key)?;
        terminal.shows(word).await?;
    }
    terminal.press("q")?;
    let status = eventually(DEADLINE, "it ends", async || {
        Ok(terminal.script.try_wait()?)
    })
    .await?;
    assert!(status.success(), "{status}");
    // Where there is no terminal it is said once.
    let said = windlass_alone(&["top", "--admin-url", page])?;
    let said = String::from_utf8(said.stdout)?;
    ensure!(
        said.contains("NAME") && said.contains("relay  running  Greeting"),
        "{said}"
    );
    let said = windlass_alone(&["top", "-o", "json", "--admin-url", page])?;
    let status: Value = serde_json::from_slice(&said.stdout)?;
    assert_eq!(status["kind"], "Status");
    // The folder knows its host, and which one answers is said.
    let here = |arguments: &[&str]| {
        let mut command = Command::new(host_binary()?);
        command.args(arguments).current_dir(home.path());
        command.env("XDG_STATE_HOME", workspace().join("target/state"));
        command.env_remove("WINDLASS_ADMIN_URL");
        anyhow::Ok(command.output()?)
    };
    let said = here(&["top", "-o", "json"])?;
    let own: Value = serde_json::from_slice(&said.stdout)?;
    assert_eq!(own["host"], status["host"]);
    let errors = String::from_utf8(said.stderr)?;
    ensure!(
        errors.contains(&format!("the host of this folder at {page}")),
        "{errors}"
    );
    let said = here(&["why", "greeting/ada"])?;
    ensure!(said.status.success(), "{said:?}");
    // It is gone with its host. What a killed one leaves behind is known by its name.
    let file = host_file(home.path())?;
    let left = std::fs::read(&file)?;
    dev.interrupt()?;
    dev.ended().await?;
    ensure!(!file.exists(), "the file goes with the host");
    std::fs::write(&file, left)?;
    let errors = String::from_utf8(here(&["top", "-o", "json"])?.stderr)?;
    ensure!(
        errors.contains("has ended; `windlass dev` starts it again"),
        "{errors}"
    );
    Ok(())
}

#[tokio::test]
async fn an_object_is_paused_where_the_folders_host_runs() -> Result<()> {
    let home = project(COMPILER)?;
    let dev = Dev::start(home.path(), &[])?;
    dev.tells("it is ready", |event| event["event"] == "ready")
        .await?;
    let here = |verb: &str| {
        let mut command = Command::new(host_binary()?);
        command
            .args([verb, "greeting/ada"])
            .current_dir(home.path());
        command.env("XDG_STATE_HOME", workspace().join("target/state"));
        // Where the user's own cluster would be.
        command.env("KUBECONFIG", home.path().join("nowhere"));
        anyhow::Ok(command.output()?)
    };
    for (verb, says) in [
        ("pause", "ada in namespace default paused"),
        ("resume", "ada in namespace default resumed"),
        (
            "reconcile",
            "ada in namespace default is asked to be reconciled",
        ),
    ] {
        let said = here(verb)?;
        ensure!(said.status.success(), "{said:?}");
        let (out, errors) = (
            String::from_utf8(said.stdout)?,
            String::from_utf8(said.stderr)?,
        );
        ensure!(out.contains(says), "{out}");
        let cluster = "that of the host of this folder, kubeconfig /";
        ensure!(errors.contains("target/state/windlass/hosts/"), "{errors}");
        ensure!(errors.contains(cluster), "{errors}");
    }
    // What a killed host leaves behind names no cluster.
    let file = host_file(home.path())?;
    let left = std::fs::read(&file)?;
    dev.interrupt()?;
    dev.ended().await?;
    std::fs::write(&file, left)?;
    let said = here("pause")?;
    ensure!(!said.status.success(), "{said:?}");
    let errors = String::from_utf8(said.stderr)?;
    ensure!(errors.contains("has ended"), "{errors}");
    Ok(())
}

#[tokio::test]
async fn a_terminal_that_goes_away_takes_the_session_with_it() -> Result<()> {
    let home = project(COMPILER)?;
    let terminal = Terminal::open(home.path())?;
    terminal.shows("end v0 Ada").await?;
    drop(terminal);
    let kubeconfig = home.path().join(".windlass/kubeconfig");
    eventually(
        DEADLINE,
        "the session ends, and its kubeconfig goes",
        async || Ok((!kubeconfig.exists()).then_some(())),
    )
    .await
}
