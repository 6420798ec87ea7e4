//! Builds the host's program for tests.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The host's program, built once for each test binary.
///
/// # Errors
/// It does not build.
pub fn host_binary() -> Result<PathBuf> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    // Programs lie in `<target>/<profile>`, test binaries one below.
    let own = std::env::current_exe()?;
    let mut above = own
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.ends_with("deps"));
    let folder = above
        .next()
        .context("a test binary lies in a target folder")?;
    let built = BUILT.get_or_init(|| {
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            None | Some("debug") => "dev",
            Some(name) => name,
        };
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Tests are built with the features of the whole workspace, and so is the host: nothing is built twice.
        cargo.args(["build", "--quiet", "--workspace", "--bin", "windlass"]);
        cargo.args(["--profile", profile]);
        cargo.current_dir(workspace());
        // What cargo says to a test about its package would make crates that look at it build again.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                cargo.env_remove(&*name);
            }
        }
        cargo.status().is_ok_and(|status| status.success())
    });
    if !built {
        bail!("the host does not build: see above");
    }
    Ok(folder.join("windlass"))
}
