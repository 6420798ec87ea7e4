//! Builds the host's program for tests.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::{is_built, workspace};

/// The program `windlass`, built once for each test binary.
///
/// # Errors
/// It does not build.
pub fn host_binary() -> Result<PathBuf> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    program("windlass", &BUILT)
}

/// `windlass` with the allocator of a release, for tests of memory; built once for each test binary.
///
/// # Errors
/// It does not build.
pub fn jemalloc_host_binary() -> Result<PathBuf> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    program("windlass-jemalloc", &BUILT)
}

/// A program of the workspace in the folder of this test binary.
fn program(name: &str, built: &OnceLock<bool>) -> Result<PathBuf> {
    // Programs lie in `<target>/<profile>`, test binaries one below.
    let own = std::env::current_exe()?;
    let mut above = own
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.ends_with("deps"));
    let folder = above
        .next()
        .context("a test binary lies in a target folder")?;
    let path = folder.join(name);
    if is_built() && path.is_file() {
        return Ok(path);
    }
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(name) => name,
    };
    if !built.get_or_init(|| build(name, profile)) {
        bail!("{name} does not build: see above");
    }
    Ok(path)
}

/// Builds a program of the workspace. `false` if that fails; the compiler has said why.
fn build(name: &str, profile: &str) -> bool {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Tests are built with the features of the whole workspace, and so is the host: nothing is built twice.
    cargo.args(["build", "--quiet", "--workspace", "--bin", name]);
    cargo.args(["--profile", profile]);
    if profile != "dev" {
        cargo.args(["--features", "windlass/jemalloc"]);
    }
    cargo.current_dir(workspace());
    // Cargo sets variables about a test's package. Crates that read them would be built again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    cargo.status().is_ok_and(|status| status.success())
}
