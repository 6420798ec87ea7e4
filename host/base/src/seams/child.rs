//! Runs this program again, as a child that gets bytes and answers with a file.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{Clock, Spawn};
use std::time::Duration;

/// How much a child can say on standard error.
const ERRORS: u64 = 64 << 10;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed, since it took too long.
    Late,
}

impl Spawn {
    /// Runs this program with `arguments`, in an empty environment: `input` is its standard input,
    /// `output` its standard output. Answers how it ended and what it said on standard error. It is
    /// killed after `deadline`, or when this future is dropped.
    ///
    /// # Errors
    /// The operating system refused to start it.
    pub async fn child(
        &self,
        arguments: &[&str],
        input: &[u8],
        output: File,
        deadline: Duration,
        clock: Clock,
    ) -> io::Result<(ChildExit, String)> {
        // The program that runs, even when the file was replaced or removed since.
        #[expect(clippy::disallowed_methods, reason = "this is the seam")]
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).env_clear().kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(output);
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A child that ends early says why itself.
                let _ = stdin.write_all(input).await;
            }
        };
        let listen = async move {
            let mut said = Vec::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(ERRORS).read_to_end(&mut said).await;
            }
            String::from_utf8_lossy(&said).into_owned()
        };
        let run = async {
            let ((), said) = futures::future::join(feed, listen).await;
            (child.wait().await, said)
        };
        let Some((status, said)) = clock.within(deadline, run).await else {
            return Ok((ChildExit::Late, String::new()));
        };
        let status = status?;
        let ended = match (status.code(), status.signal()) {
            (Some(code), _) => ChildExit::Code(code),
            (None, signal) => ChildExit::Signal(signal.unwrap_or_default()),
        };
        Ok((ended, said))
    }
}
