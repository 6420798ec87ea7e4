//! Builds guests into components, once per process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use parking_lot::Mutex;

use crate::{is_built, javascript, workspace};

/// What was built so far.
static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

/// Where guests are built, apart from everything else: another profile, another target.
pub fn target() -> PathBuf {
    workspace().join("target/guests")
}

/// The component of the guest `package`, a crate or an npm package. The first time in a process, its
/// tool looks whether it is up to date; a lock keeps processes apart.
///
/// # Errors
/// It cannot be built. What the compiler had to say is on standard error, as it came.
pub fn guest(package: &str) -> anyhow::Result<PathBuf> {
    let mut built = BUILT.lock();
    let built = built.get_or_insert_default();
    if let Some(path) = built.get(package) {
        return Ok(path.clone());
    }
    let path = match javascript::folder(package) {
        Some(folder) => javascript::build(&folder)?,
        None => build(package)?,
    };
    built.insert(package.to_owned(), path.clone());
    Ok(path)
}

fn build(package: &str) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = target();
    let file = format!("{}.wasm", package.replace('-', "_"));
    let path = target.join("wasm32-wasip2/guest").join(file);
    if is_built() && path.is_file() {
        return Ok(path);
    }
    let output = Command::new(&cargo)
        .current_dir(workspace())
        .args(["build", "--profile", "guest", "--target", "wasm32-wasip2"])
        .args(["-p", package, "--target-dir"])
        .arg(&target)
        // Flags of the tests' own build (coverage, a CPU) are not for wasm. Those in the user's
        // configuration files stay.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .with_context(|| format!("cannot start {}", cargo.display()))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("guest {package} does not build ({})", output.status);
    }
    if !path.is_file() {
        bail!("{} was not built: is {package} a cdylib?", path.display());
    }
    Ok(path)
}
