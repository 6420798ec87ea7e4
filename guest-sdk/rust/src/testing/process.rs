//! The process that plays the cluster, and the lines that it is sent.

use std::env;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

/// What this crate speaks.
const PROTOCOL: &str = "windlass.dev/fake/v1";

/// What the fake cluster does not do, and why.
#[derive(Clone, PartialEq, Eq)]
pub struct FakeError(pub(super) String);

impl fmt::Display for FakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As [`fmt::Display`], since tests show errors by `unwrap`.
impl fmt::Debug for FakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FakeError {}

/// A `windlass fake` that runs. It ends with this.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What was started.
    program: String,
}

/// An answer of the process.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reply {
    /// It is done.
    Ok(Value),
    /// It cannot be done.
    Error(String),
    /// An import was not carried out.
    Errors(Vec<RecordedError>),
    /// The plugin is called.
    Call(Called),
}

/// An error of an import, as recordings have it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct RecordedError {
    pub(super) index: Option<usize>,
    pub(super) code: String,
    pub(super) text: String,
    pub(super) status: RecordedStatus,
}

/// What the API server answered beside its message.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RecordedStatus {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) causes: Vec<String>,
}

/// A call of the plugin.
#[derive(Deserialize)]
pub(super) struct Called {
    pub(super) function: String,
    pub(super) object: Value,
    pub(super) attempt: u32,
    pub(super) config: Value,
    pub(super) now: String,
}

impl Process {
    /// Starts the command, and agrees on the protocol.
    ///
    /// # Errors
    /// There is none, or it is of another version.
    pub(super) fn start() -> Result<Self, FakeError> {
        let program = env::var("WINDLASS").unwrap_or_else(|_| "windlass".to_owned());
        let mut command = Command::new(&program);
        command.arg("fake");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let lacks = |why: &dyn fmt::Display| {
            FakeError(format!(
                "cannot start `{program} fake`, which plays the cluster: {why}. Put the command `windlass` into a folder of PATH, or name it: WINDLASS=/path/to/windlass"
            ))
        };
        let mut child = command.spawn().map_err(|error| lacks(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lacks(&"it has no standard streams"));
        };
        let mut process = Self {
            child,
            input,
            output: BufReader::new(output),
            program,
        };
        process.done(&json!({ "protocol": PROTOCOL }))?;
        Ok(process)
    }

    /// Says `message`, and waits for the answer.
    ///
    /// # Errors
    /// The process has ended.
    pub(super) fn exchange(&mut self, message: &Value) -> Result<Reply, FakeError> {
        let ended = |why: &dyn fmt::Display| {
            FakeError(format!(
                "`{} fake` gives no answer: {why}. Is it a windlass of the version of this SDK?",
                self.program
            ))
        };
        let sent = writeln!(self.input, "{message}").and_then(|()| self.input.flush());
        sent.map_err(|error| ended(&error))?;
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(ended(&"it has ended")),
            Ok(_) => serde_json::from_str(&line).map_err(|error| ended(&error)),
            Err(error) => Err(ended(&error)),
        }
    }

    /// Says `message`, which leads to no call, and waits until it is done.
    ///
    /// # Errors
    /// It cannot be done.
    pub(super) fn done(&mut self, message: &Value) -> Result<Value, FakeError> {
        match self.exchange(message)? {
            Reply::Ok(value) => Ok(value),
            Reply::Error(why) => Err(FakeError(why)),
            Reply::Errors(_) | Reply::Call(_) => Err(FakeError(format!(
                "`{} fake` answers what was not asked",
                self.program
            ))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
