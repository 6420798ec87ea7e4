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
    let folder = workspace().join("target/guests/wasm32-wasip2/guest");
    read(&folder.join(file))
}

/// The component of the holder with these features, separated by commas.
///
/// # Errors
/// It is not built.
pub(crate) fn holder(features: &str) -> Result<Vec<u8>> {
    read(&workspace().join(format!("target/bench/holder-{features}.wasm")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path)
        .with_context(|| format!("{} is not built: run `make bench-peers`", path.display()))
}
