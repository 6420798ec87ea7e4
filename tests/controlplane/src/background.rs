//! One control plane per user that outlives the command that started it.
//!
//! - [`serve`] holds a lock on a file for as long as it runs, so "is there one" is a fact of the
//!   kernel and not of a process id that someone else may have by now.
//! - [`up`] and [`down`] take turns.
//! - Whatever ends [`serve`] ends its servers.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::assets::{Assets, cache_folder};
use crate::controlplane::ControlPlane;

/// How long the end of a control plane may take.
const DOWN_DEADLINE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// What [`serve`] leaves for others to find.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    serve: i32,
    kubeconfig: PathBuf,
    folder: PathBuf,
}

/// Starts a control plane in the background unless there is one, and returns its kubeconfig for an
/// administrator. `program` is what runs [`serve`] when called with the argument `serve`.
///
/// # Errors
/// If it does not start; the message has what it said.
pub fn up(program: &Path) -> anyhow::Result<PathBuf> {
    Assets::find()?;
    let cache = cache_folder()?;
    let _turn = turn(&cache)?;
    if held(&serve_lock(&cache)?)? {
        return Ok(state(&cache)?.kubeconfig);
    }
    let log = cache.join("up.log");
    let mut child = Command::new(program)
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("serve has no stdout")?).read_line(&mut line)?;
    if line.trim().is_empty() {
        child.wait()?;
        bail!(
            "the control plane did not start: {}",
            std::fs::read_to_string(&log)?.trim()
        );
    }
    Ok(PathBuf::from(line.trim()))
}

/// Ends the control plane in the background. `false` if there was none.
///
/// # Errors
/// If it does not end within 20 s.
pub fn down() -> anyhow::Result<bool> {
    let cache = cache_folder()?;
    let _turn = turn(&cache)?;
    let lock = serve_lock(&cache)?;
    if !held(&lock)? {
        return Ok(false);
    }
    let state = state(&cache)?;
    let serve = Pid::from_raw(state.serve).context("the control plane has no process id")?;
    rustix::process::kill_process(serve, Signal::TERM)?;
    let started = Instant::now();
    while held(&lock)? || state.folder.exists() {
        if started.elapsed() > DOWN_DEADLINE {
            bail!("the control plane (process {}) did not end", state.serve);
        }
        std::thread::sleep(PAUSE);
    }
    std::fs::remove_file(state_file(&cache))?;
    Ok(true)
}

/// Runs a control plane until this process is told to end; prints its kubeconfig when it is ready.
///
/// # Errors
/// If there is one already, it does not start, or nobody reads where it is.
pub fn serve() -> anyhow::Result<()> {
    let cache = cache_folder()?;
    let lock = serve_lock(&cache)?;
    if held(&lock)? {
        bail!("a control plane runs already");
    }
    lock.lock()?;
    let control_plane = ControlPlane::start()?;
    let state = State {
        serve: rustix::process::getpid().as_raw_nonzero().get(),
        kubeconfig: control_plane.kubeconfig_admin(),
        folder: control_plane.folder().to_owned(),
    };
    std::fs::write(state_file(&cache), serde_json::to_vec(&state)?)?;
    writeln!(std::io::stdout(), "{}", state.kubeconfig.display())?;
    loop {
        std::thread::park();
    }
}

/// Waits until no other `up` or `down` is at work.
fn turn(cache: &Path) -> anyhow::Result<File> {
    let file = File::create(cache.join("turn.lock"))?;
    file.lock()?;
    Ok(file)
}

fn serve_lock(cache: &Path) -> anyhow::Result<File> {
    Ok(File::create(cache.join("serve.lock"))?)
}

fn held(lock: &File) -> anyhow::Result<bool> {
    match lock.try_lock() {
        Ok(()) => {
            lock.unlock()?;
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn state_file(cache: &Path) -> PathBuf {
    cache.join("up.json")
}

fn state(cache: &Path) -> anyhow::Result<State> {
    let file = state_file(cache);
    let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_slice(&bytes)?)
}
