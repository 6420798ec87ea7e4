//! Child processes that cannot outlive the process that started them.
//!
//! - Dropping a [`Guarded`] kills it, so a panic does too.
//! - If this process dies without dropping anything (SIGKILL, `exit`, a `static`), the kernel closes
//!   the pipe to the child's stdin; a shell that waits for just that kills the child and removes its
//!   folder. This holds on every Unix and, unlike a parent-death signal, for whichever thread started
//!   the child.
//! - Each child leads a process group of its own: Ctrl-C reaches it only through us.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal};

/// Replaces itself with the command `$2..`; a second shell in the background waits for the end of
/// stdin, which is the end of the launcher, then kills the command and removes the folder `$1`.
const GUARD: &str = r#"
folder=$1; shift
exec 3<&0
{
  cat <&3
  kill -KILL $$
  for attempt in 1 2 3 4 5; do rm -rf "$folder" && break; sleep 0.2; done
} >/dev/null 2>&1 &
exec 3<&-
exec "$@" </dev/null
"#;

/// A running child with its output in a file.
#[derive(Debug)]
pub struct Guarded {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Guarded {
    /// Starts `program` with its output in `<folder>/<name>.log`. If this process dies, the child
    /// does and `folder` is removed.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(program: &Path, arguments: &[OsString], folder: &Path) -> anyhow::Result<Self> {
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let log = folder.join(format!("{name}.log"));
        let output =
            File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let child = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(folder)
            .arg(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { name, log, child })
    }

    /// The process id, which is also the id of its process group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn exited(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it wrote so far.
    pub fn log(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The last lines it wrote, for messages.
    pub fn last_words(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .get(lines.len().saturating_sub(15)..)
            .unwrap_or_default()
            .join("\n")
    }
}

impl Guarded {
    /// Ends it at once, and waits until it has.
    pub(crate) fn kill(&mut self) {
        // The group holds the waiting shell as well, so its id is ours even if the child is gone.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}
