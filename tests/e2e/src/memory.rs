//! How much memory a host uses, and a host that has only so much of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

use crate::Host;

/// The mount points of memory cgroups, version 2 and version 1, with the file of the limit.
const CGROUPS: [(&str, &str, &str); 2] = [
    (
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/cgroup.controllers",
        "memory.max",
    ),
    (
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup/memory/cgroup.procs",
        "memory.limit_in_bytes",
    ),
];

/// Enters the cgroup `$1`, which is seen at `$2` as in a container, and becomes the rest.
const ENTER: &str = r#"
echo $$ > "$1/cgroup.procs"
mount --bind "$1" "$2"
shift 2
exec "$@"
"#;

/// Shows the file `$1` as `/proc/meminfo`, and becomes the rest.
const PRETEND: &str = r#"
mount --bind "$1" /proc/meminfo
shift
exec "$@"
"#;

/// What a process uses, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    /// Resident now.
    pub now: u64,
    /// The most that was ever resident.
    pub peak: u64,
}

impl MemoryUse {
    /// What the host uses.
    ///
    /// # Errors
    /// The process has ended.
    pub fn by(host: &Host) -> Result<Self> {
        let file = format!("/proc/{}/status", host.id());
        let text = fs::read_to_string(&file).context("the host has ended")?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib << 10)
        };
        match (field("VmRSS:"), field("VmHWM:")) {
            (Some(now), Some(peak)) => Ok(Self { now, peak }),
            _ => bail!("{file} tells no memory: the host has ended"),
        }
    }
}

/// A limit on the memory of a process.
#[derive(Debug)]
pub enum MemoryLimit {
    /// A memory cgroup: the kernel kills what exceeds the limit. The process sees the limit.
    Cgroup(PathBuf, &'static str),
    /// Nothing enforces the limit. The process sees it as the memory of the machine.
    Pretended(tempfile::NamedTempFile),
}

impl MemoryLimit {
    /// A cgroup if this machine lets us make one; otherwise a limit that is only seen.
    ///
    /// # Errors
    /// The file system said no.
    pub fn of(bytes: u64) -> Result<Self> {
        for (root, exists, limit) in CGROUPS {
            if Path::new(exists).exists()
                && let Ok(folder) = cgroup(Path::new(root), limit, bytes)
            {
                return Ok(Self::Cgroup(folder, root));
            }
        }
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), format!("MemTotal: {} kB\n", bytes >> 10))?;
        eprintln!("no memory cgroup can be made here: nothing enforces the limit of {bytes} bytes");
        Ok(Self::Pretended(file))
    }

    /// The command that runs `inner` under the limit. It keeps its process id.
    pub fn wrap(&self, inner: &Command) -> Command {
        let mut command = Command::new("unshare");
        match self {
            Self::Cgroup(folder, root) => {
                command.args(["--mount", "sh", "-euc", ENTER, "sh"]);
                command.arg(folder).arg(root);
            }
            Self::Pretended(file) => {
                command.args(["--map-root-user", "--mount", "sh", "-euc", PRETEND, "sh"]);
                command.arg(file.path());
            }
        }
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }
}

/// Makes a memory cgroup.
fn cgroup(root: &Path, limit: &str, bytes: u64) -> Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = root.join(format!("windlass-{}-{number}", std::process::id()));
    fs::create_dir(&folder)?;
    let limited = fs::write(folder.join(limit), bytes.to_string());
    if let Err(error) = limited {
        let _ = fs::remove_dir(&folder);
        return Err(error.into());
    }
    Ok(folder)
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Self::Cgroup(folder, _) = self {
            // Empty once its processes are dead: the host is dropped before.
            let _ = fs::remove_dir(folder);
        }
    }
}
