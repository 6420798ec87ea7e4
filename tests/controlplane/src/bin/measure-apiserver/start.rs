//! From the start of a process to ready, and what a server holds that nobody has asked for anything.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use windlass_controlplane::ControlPlane;
use windlass_controlplane::table::{memory, row, spread};

use crate::process::Process;

const STARTS: usize = 20;

/// How long a server is left alone until it counts as idle.
const IDLE: Duration = Duration::from_secs(3);

pub(crate) async fn measure() -> Result<()> {
    for (label, more) in [("", [].as_slice()), (", with RBAC", &["--rbac"])] {
        let mut times = Vec::new();
        for _ in 0..STARTS {
            let began = Instant::now();
            let process = Process::start(more)?;
            process.ready().await?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        spread(&format!("embedded{label}: start to ready"), times, "ms");
        let process = Process::start(more)?;
        process.ready().await?;
        tokio::time::sleep(IDLE).await;
        row(&format!("embedded{label}: idle"), memory(process.id()?)?);
    }
    Ok(())
}

/// Starts a real control plane.
pub(crate) fn real() -> Result<ControlPlane> {
    let began = Instant::now();
    let real = crate::real_control_plane()?;
    let took = began.elapsed().as_secs_f64();
    row("real: start to ready", format!("{took:.1} s"));
    for process in real.process_ids() {
        let name = fs::read_to_string(format!("/proc/{process}/comm"))?;
        row(&format!("real: idle {}", name.trim()), memory(process)?);
    }
    Ok(real)
}
