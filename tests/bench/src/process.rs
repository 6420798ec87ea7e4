//! What a process uses, as the kernel counts it (proc(5)).

use anyhow::{Context, Result};
use procfs::process::Process;

/// Memory of a process, in MiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// The pages that are in memory.
    pub(crate) rss: f64,
    /// The same, with those that others map as well counted in shares.
    pub(crate) pss: f64,
}

/// What a process holds now.
///
/// # Errors
/// It has ended.
pub(crate) fn memory(process: u32) -> Result<Memory> {
    let rollup = of(process)?.smaps_rollup()?;
    let map = rollup.memory_map_rollup.0.into_iter().next();
    let map = map.context("a process has memory")?.extension.map;
    let bytes = |name: &str| map.get(name).copied().context(format!("no {name}"));
    Ok(Memory {
        rss: mebibytes(bytes("Rss")?),
        pss: mebibytes(bytes("Pss")?),
    })
}

/// The most pages that it ever had in memory, in MiB.
///
/// # Errors
/// It has ended.
pub(crate) fn peak(process: u32) -> Result<f64> {
    let kibibytes = of(process)?.status()?.vmhwm.context("no VmHWM")?;
    Ok(mebibytes(kibibytes * 1024))
}

/// The CPU time that it has used, in seconds: in user and in kernel mode, of all threads, also of those that
/// have ended.
///
/// # Errors
/// It has ended.
pub(crate) fn cpu(process: u32) -> Result<f64> {
    let stat = of(process)?.stat()?;
    Ok((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
}

fn of(process: u32) -> Result<Process> {
    Ok(Process::new(i32::try_from(process)?)?)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Lets the kernel count a process's peak again.
///
/// # Errors
/// It has ended.
pub(crate) fn forget_peak(process: u32) -> Result<()> {
    std::fs::write(format!("/proc/{process}/clear_refs"), "5").context("cannot reset the peak")
}
