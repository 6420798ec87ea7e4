//! Runs command lines of the user's own, as the user would.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::{ChildExit, Spawn};

/// A group of processes that ends with this.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
}

impl Spawn {
    /// Runs a command line in `folder`, and waits for its end, however long that takes. What it says goes to
    /// standard error as it is; it reads nothing. It ends when this future is dropped, with all that it
    /// has started.
    ///
    /// # Errors
    /// The operating system refused to start it.
    pub async fn shell(&self, line: &str, folder: &Path) -> io::Result<ChildExit> {
        #[expect(clippy::disallowed_methods, reason = "this is the seam")]
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder);
        // Standard output is for data.
        let errors = io::stderr().as_fd().try_clone_to_owned()?;
        command.stdin(Stdio::null()).stdout(Stdio::from(errors));
        // A group of its own: a signal from the keyboard is for this program to pass on.
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let mut group = Group(id.and_then(Pid::from_raw));
        let status = child.wait().await?;
        group.0 = None;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => ChildExit::Code(code),
            (None, signal) => ChildExit::Signal(signal.unwrap_or_default()),
        })
    }
}
