//! `make measure`, of the embedded API server: what it costs in time and memory, beside a real one.
//!
//! Figures are of this machine and this run. `measure-apiserver writes watchers` measures these parts
//! alone; `WINDLASS_APISERVER` is another command than that of the release build, such as
//! `measure-apiserver serve`, which serves without the rest of the host.

mod objects;
mod process;
mod serve;
mod start;
mod watchers;
mod writes;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use windlass_controlplane::ControlPlane;
use windlass_controlplane::table::row;

const PARTS: [&str; 4] = ["start", "writes", "objects", "watchers"];

/// No more than what an embedded server runs of its own.
const CONTROLLERS: &str =
    "serviceaccount-controller,namespace-controller,garbage-collector-controller";

#[tokio::main]
async fn main() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = asked.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", "--port", "0", "--kubeconfig-out", file, rest @ ..] => {
            serve::serve(&PathBuf::from(file), rest.contains(&"--rbac")).await
        }
        ["fill", count] => objects::fill(count.parse()?).await,
        ["watch", count] => watchers::watch(count.parse()?).await,
        parts => measure(parts).await,
    }
}

async fn measure(parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(PARTS.contains(part), "{part} is none of {PARTS:?}");
    }
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    row("processors", std::thread::available_parallelism()?);
    row("load average before", load()?);
    if wanted("start") {
        start::measure().await?;
    }
    if wanted("start") || wanted("writes") {
        let real = start::real()?;
        if wanted("writes") {
            writes::measure(&real).await?;
        }
    }
    if wanted("objects") {
        objects::measure().await?;
    }
    if wanted("watchers") {
        watchers::measure().await?;
    }
    row("load average after", load()?);
    Ok(())
}

/// How many processes wanted a processor in the last 1, 5 and 15 minutes.
fn load() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let words: Vec<&str> = text.split(' ').take(3).collect();
    Ok(words.join(" "))
}

/// Runs this program with other arguments, and returns what it prints.
async fn child(arguments: &[&str]) -> Result<String> {
    let program = std::env::current_exe()?;
    let output = tokio::process::Command::new(program)
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()
        .await?;
    ensure!(output.status.success(), "{arguments:?} failed");
    let text = String::from_utf8(output.stdout).context("its output is not text")?;
    Ok(text.trim().to_owned())
}

fn real_control_plane() -> Result<ControlPlane> {
    ControlPlane::start_with_controllers(CONTROLLERS)
}
