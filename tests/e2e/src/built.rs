//! Builds the host's program, as the tests find it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

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
        // The whole workspace's features and the Makefile's programs, as the tests were built with: nothing is built twice.
        cargo.args(["build", "--quiet", "--workspace"]);
        cargo.args(["--bin", "windlass", "--bin", "demo"]);
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
