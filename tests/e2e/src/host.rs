//! The host as an operator runs it: a process of its own, known by its log and its exit code.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use windlass_controlplane::eventually;

use crate::DEADLINE;
use crate::mirror::Mirror;
use crate::origin::arguments;
use windlass_harness::{host_binary, workspace};

/// Runs any other command of the host's program on a cluster, and waits for its end.
///
/// # Errors
/// It could not be built or started.
pub fn windlass(arguments: &[&str], kubeconfig: &Path) -> Result<Output> {
    let file = kubeconfig.to_str().context("a path is text")?;
    windlass_alone(&[arguments, &["--kubeconfig", file]].concat())
}

/// As [`windlass()`], of a command that speaks to no cluster.
///
/// # Errors
/// It could not be built or started.
pub fn windlass_alone(arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(host_binary()?);
    command.args(arguments);
    without_settings(&mut command);
    command.stdin(Stdio::null());
    command.output().context("cannot start the host's program")
}

/// The host does not get the settings of the person who runs the tests.
pub fn without_settings(command: &mut Command) {
    for name in [
        "KUBECONFIG",
        "RUST_LOG",
        "WINDLASS_LOG",
        "WINDLASS_LOG_FORMAT",
    ] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    // The objects of a test are where its Leases are.
    command.env("WINDLASS_PROTECT_NAMESPACE", "");
}

/// Replaces itself with the host; a second shell in the background kills the host when standard
/// input ends, which is when the test binary does, however it ends.
const GUARD: &str = r#"
exec 3<&0
{ cat <&3; kill -KILL $$; } >/dev/null 2>&1 &
exec 3<&-
exec "$@" </dev/null
"#;

/// A running host. It is killed when the last clone is dropped.
#[derive(Clone)]
pub struct Host {
    process: Arc<Process>,
    _mirror: Option<Arc<Mirror>>,
    log: Arc<Mutex<Vec<Line>>>,
}

/// The process, and the shell that guards it: a group of their own.
struct Process {
    child: Mutex<Child>,
    group: Pid,
}

/// One line of the host's log; or of its last words, which are no JSON.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was logged.
    pub message: String,
    /// All fields of the line, the message among them.
    pub fields: Value,
}

impl Line {
    /// A field as text; empty if it is not there.
    pub fn field(&self, name: &str) -> &str {
        let field = self.fields.get(name);
        field.and_then(Value::as_str).unwrap_or_default()
    }

    /// A field as a whole number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.fields.get(name).and_then(Value::as_u64)
    }

    /// Whether this is the line of a pass.
    pub fn is_any_pass(&self) -> bool {
        self.fields.get("step").is_some()
    }

    /// Whether this is the line of a pass over `object` (`Greeting/ns/name`) that ended as `outcome`.
    pub fn is_pass(&self, object: &str, step: &str, outcome: &str) -> bool {
        self.field("object") == object
            && self.field("step") == step
            && self.field("outcome") == outcome
    }
}

impl Host {
    /// Starts `windlass run` on the plugins in `config`, with a code cache that all tests share.
    /// The Leases are in `namespace`.
    ///
    /// # Errors
    /// It could not be built or started.
    pub fn run(config: &Path, kubeconfig: &Path, namespace: &str, more: &[&str]) -> Result<Self> {
        let code = workspace().join("target/code-cache");
        Self::run_binary(&host_binary()?, &code, config, kubeconfig, namespace, more)
    }

    /// As [`Host::run`], with another build of the host, which keeps compiled code in `code`.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run_binary(
        binary: &Path,
        code: &Path,
        config: &Path,
        kubeconfig: &Path,
        namespace: &str,
        more: &[&str],
    ) -> Result<Self> {
        let command = Self::command(binary, code, config, kubeconfig, namespace, more);
        Self::run_command(&command)
    }

    /// The command line of `windlass run` that [`Host::run_binary`] starts.
    pub fn command(
        binary: &Path,
        code: &Path,
        config: &Path,
        kubeconfig: &Path,
        namespace: &str,
        more: &[&str],
    ) -> Command {
        let mut command = Command::new(binary);
        command.arg("run").arg("--config").arg(config);
        command.arg("--kubeconfig").arg(kubeconfig);
        command.args(["--namespace", namespace]);
        command.arg("--log-format=json");
        if !more.iter().any(|flag| flag.starts_with("--log=")) {
            command.arg("--log=info,plugin=debug,windlass_host::hosting=debug");
        }
        command.arg("--code-cache").arg(code);
        command.args(more);
        command
    }

    /// Starts a host by a command that becomes it: of the command, the program and its arguments.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run_command(host: &Command) -> Result<Self> {
        let mut command = Command::new("sh");
        without_settings(&mut command);
        command.args(["-c", GUARD, "sh"]);
        let (arguments, mirror) = arguments(host)?;
        command.arg(host.get_program()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().context("cannot start the host")?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.context("a process has an id")?;
        let stderr = child.stderr.take();
        let stderr = stderr.context("the host has no standard error")?;
        let log: Arc<Mutex<Vec<Line>>> = Arc::default();
        let lines = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let parsed = serde_json::from_str::<Value>(&line).ok();
                let message = parsed
                    .as_ref()
                    .and_then(|fields| fields.get("message")?.as_str());
                let message = message.unwrap_or(&line).to_owned();
                let fields = parsed.unwrap_or_default();
                let mut lines = lines.lock();
                lines.push(Line { message, fields });
            }
        });
        let child = Mutex::new(child);
        let process = Arc::new(Process { child, group });
        Ok(Self {
            process,
            _mirror: mirror,
            log,
        })
    }

    /// Kills the host at once, and waits until it is dead.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Stops all its threads where they are, as a machine that stands still does.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn freeze(&self) -> Result<()> {
        Ok(kill_process(self.process.group, Signal::STOP)?)
    }

    /// Lets a frozen host go on.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn thaw(&self) -> Result<()> {
        Ok(kill_process(self.process.group, Signal::CONT)?)
    }

    /// Sends SIGTERM.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn terminate(&self) -> Result<()> {
        if !self.is_running() {
            bail!("the host has ended: {:#?}", self.log());
        }
        Ok(kill_process(self.process.group, Signal::TERM)?)
    }

    /// Sends SIGHUP, as a terminal does that is closed.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn hang_up(&self) -> Result<()> {
        Ok(kill_process(self.process.group, Signal::HUP)?)
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// It did not end in time.
    pub async fn ended(&self) -> Result<ExitStatus> {
        eventually(DEADLINE, "the host ends", async || {
            Ok(self.process.child.lock().try_wait()?)
        })
        .await
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self.process.child.lock().try_wait(), Ok(None))
    }

    /// The log so far.
    pub fn log(&self) -> Vec<Line> {
        let log = self.log.lock();
        log.clone()
    }

    /// The lines of all passes over `object` (`Greeting/ns/name`) so far.
    pub fn passes(&self, object: &str) -> Vec<Line> {
        let of_object = |line: &Line| line.is_any_pass() && line.field("object") == object;
        self.log().into_iter().filter(of_object).collect()
    }

    /// How many lines are as `wanted` says.
    pub fn count(&self, wanted: impl Fn(&Line) -> bool) -> usize {
        let log = self.log.lock();
        log.iter().filter(|line| wanted(line)).count()
    }

    /// Waits for a line that contains `text`, and answers it.
    ///
    /// # Errors
    /// It did not come; the error shows the log.
    pub async fn says(&self, text: &str) -> Result<Line> {
        self.logs(&format!("the host says {text:?}"), |line| {
            line.message.contains(text)
        })
        .await
    }

    /// Waits for a line that is as `wanted` says, and answers it.
    ///
    /// # Errors
    /// It did not come; the error shows the log.
    pub async fn logs(&self, what: &str, wanted: impl Fn(&Line) -> bool) -> Result<Line> {
        eventually(DEADLINE, what, async || {
            let found = self.log.lock().iter().find(|line| wanted(line)).cloned();
            match found {
                Some(line) => Ok(Some(line)),
                None => bail!("the log is {:#?}", self.log()),
            }
        })
        .await
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.child.lock().id()
    }
}

impl Process {
    fn kill(&self) {
        // The group holds the waiting shell as well, so its id is ours even if the host is gone.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.lock().wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
