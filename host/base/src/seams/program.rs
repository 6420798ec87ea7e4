//! Runs programs that a kubeconfig names.

use std::io;
use std::process::{Output, Stdio};

use tokio::process::Command;

use super::Spawn;

/// A program, and what it is given.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// A path, or a name that is looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What its environment has beside this program's.
    pub environment: Vec<(String, String)>,
    /// Whether it may ask the user: it gets standard input and standard error.
    pub interactive: bool,
}

impl Spawn {
    /// Runs a program to its end. It is killed when this future is dropped.
    ///
    /// # Errors
    /// The operating system refused to start it.
    pub async fn program(&self, program: &Program) -> io::Result<Output> {
        #[expect(clippy::disallowed_methods, reason = "this is the seam")]
        let mut command = Command::new(&program.command);
        command.args(&program.arguments).kill_on_drop(true);
        let environment = program.environment.iter();
        command.envs(environment.map(|(name, value)| (name, value)));
        if program.interactive {
            command.stdin(Stdio::inherit()).stderr(Stdio::inherit())
        } else {
            command.stdin(Stdio::null()).stderr(Stdio::piped())
        };
        command.stdout(Stdio::piped());
        command.spawn()?.wait_with_output().await
    }
}
