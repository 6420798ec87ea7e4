//! Where the Makefile puts what it builds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// The release build of the host.
///
/// # Errors
/// It is not built.
pub(crate) fn host() -> Result<PathBuf> {
    program("target/release/windlass")
}

/// A program, by its path in the workspace.
///
/// # Errors
/// It is not built.
pub(crate) fn program(path: &str) -> Result<PathBuf> {
    let program = workspace().join(path);
    ensure!(program.exists(), "{path} is not built: run `make bench`");
    Ok(program)
}

/// The component of a guest.
///
/// # Errors
/// It is not built.
pub(crate) fn component(package: &str) -> Result<Vec<u8>> {
    let file = format!("{}.wasm", package.replace('-', "_"));
    read(&format!("target/guests/wasm32-wasip2/guest/{file}"))
}

/// The component of the holder with these features, separated by commas.
///
/// # Errors
/// It is not built.
pub(crate) fn holder(features: &str) -> Result<Vec<u8>> {
    read(&format!("target/bench/holder-{features}.wasm"))
}

/// The component of the hello plugin in a language.
///
/// # Errors
/// It is not built.
pub(crate) fn hello(language: &str) -> Result<Vec<u8>> {
    read(&format!("target/guests/languages/{language}.wasm"))
}

fn read(path: &str) -> Result<Vec<u8>> {
    fs::read(workspace().join(path))
        .with_context(|| format!("{path} is not built: run `make bench`"))
}
