//! Where `make bench-peers` puts what it builds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// The component of a guest.
///
/// # Errors
/// It is not built.
pub(crate) fn component(package: &str) -> Result<Vec<u8>> {
    let file = format!("{}.wasm", package.replace('-', "_"));
    let path = workspace()
        .join("target/guests/wasm32-wasip2/guest")
        .join(file);
    fs::read(&path)
        .with_context(|| format!("{} is not built: run `make bench-peers`", path.display()))
}
