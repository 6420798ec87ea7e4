//! `windlass dev` as an author runs it: a process of its own, known by the documents that it prints.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windlass_controlplane::eventually;

use crate::DEADLINE;
use windlass_harness::{host_binary, workspace};

/// How long a session may take that builds a project from nothing, on a machine that has much to do.
const BUILD: Duration = Duration::from_secs(600);

/// A session. It is killed when this is dropped.
pub struct Dev {
    child: Mutex<Child>,
    events: Arc<Mutex<Vec<Value>>>,
    errors: Arc<Mutex<String>>,
    /// Those who read what it says, until it has no more to say.
    readers: Mutex<Vec<JoinHandle<()>>>,
}

impl Dev {
    /// Starts it in `folder`, with these arguments.
    ///
    /// # Errors
    /// It could not be built or started.
    pub fn start(folder: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start_binary(&host_binary()?, folder, arguments)
    }

    /// The same, with another build of the host.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_binary(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary);
        for name in ["KUBECONFIG", "RUST_LOG", "WINDLASS_LOG"] {
            command.env_remove(name);
        }
        command.env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"));
        command.env("XDG_STATE_HOME", workspace().join("target/state"));
        command.current_dir(folder).arg("dev").args(arguments);
        command.args(["-o", "json", "--admin-bind-address", "127.0.0.1:0"]);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start windlass dev")?;
        let (events, errors) = (Arc::default(), Arc::default());
        let out = child.stdout.take().context("it has a standard output")?;
        let seen: Arc<Mutex<Vec<Value>>> = Arc::clone(&events);
        let events_in = std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                seen.lock().push(event);
            }
        });
        let mut err = child.stderr.take().context("it has a standard error")?;
        let said: Arc<Mutex<String>> = Arc::clone(&errors);
        let errors_in = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = err.read(&mut piece) {
                let text = String::from_utf8_lossy(piece.get(..length).unwrap_or_default());
                said.lock().push_str(&text);
            }
        });
        let child = Mutex::new(child);
        Ok(Self {
            child,
            events,
            errors,
            readers: Mutex::new(vec![events_in, errors_in]),
        })
    }

    /// Everything that it has told.
    pub fn events(&self) -> Vec<Value> {
        self.events.lock().clone()
    }

    /// What was said on standard error: its own last words, and those of toolchains.
    pub fn errors(&self) -> String {
        self.errors.lock().clone()
    }

    /// How often it told `event`.
    pub fn count(&self, event: &str) -> usize {
        let events = self.events();
        events.iter().filter(|told| told["event"] == event).count()
    }

    /// Waits until it tells something that is as `wanted` says.
    ///
    /// # Errors
    /// It did not.
    pub async fn tells(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(DEADLINE, what, async || {
            match self.events().into_iter().find(&wanted) {
                Some(event) => Ok(Some(event)),
                None => bail!("it told {:#?}, and said {}", self.events(), self.errors()),
            }
        })
        .await
    }

    /// Waits until it tells of a pass that wrote `text` into some field.
    ///
    /// # Errors
    /// It did not.
    pub async fn writes(&self, text: &str) -> Result<Value> {
        self.tells(&format!("a pass writes {text:?}"), |event| {
            let wrote = event["wrote"].as_array().into_iter().flatten();
            let mut fields =
                wrote.flat_map(|wrote| wrote["fields"].as_array().into_iter().flatten());
            fields.any(|field| {
                field["after"]
                    .as_str()
                    .is_some_and(|after| after.contains(text))
            })
        })
        .await
    }

    /// Sends SIGINT, as Ctrl-C does.
    ///
    /// # Errors
    /// It has ended.
    pub fn interrupt(&self) -> Result<()> {
        let id = i32::try_from(self.child.lock().id())?;
        let id = Pid::from_raw(id).context("a process has an id")?;
        Ok(kill_process(id, Signal::INT)?)
    }

    /// Waits for its end, and for everything that it said until then.
    ///
    /// # Errors
    /// It did not end in time.
    pub async fn ended(&self) -> Result<ExitStatus> {
        let status = eventually(BUILD, "windlass dev ends", async || {
            Ok(self.child.lock().try_wait()?)
        })
        .await?;
        // Its last words may still be on their way.
        for reader in self.readers.lock().drain(..) {
            let _ = reader.join();
        }
        Ok(status)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let mut child = self.child.lock();
        let _ = child.kill();
        let _ = child.wait();
    }
}
