//! What the crates index has, asked through cargo.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// The version of a crate in a lock file.
pub(crate) fn locked(lock: &str, name: &str) -> Option<String> {
    let head = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != head);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    Some(version.trim_end_matches('"').to_owned())
}

/// The newest published version with the major version of `locked`.
///
/// # Errors
/// The index cannot be reached. This is an error and not a warning: an audit that did not look must not pass.
pub(crate) fn published(name: &str, locked: &str) -> Result<String> {
    let (major, _) = locked.split_once('.').context("no version in Cargo.lock")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut info = Command::new(cargo);
    // In a workspace, cargo would answer with the version in its lock file.
    info.current_dir(std::env::temp_dir());
    info.args([
        "info",
        "--quiet",
        "--color",
        "never",
        &format!("{name}@{major}"),
    ]);
    let output = info.output().context("cannot start cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "cannot ask the crates index for {name} {major}, so it is not known whether a newer patch release is \
             published: `make audit` needs the network: {}",
            said.trim().replace('\n', "; ")
        );
    }
    let said = String::from_utf8_lossy(&output.stdout);
    version(&said).with_context(|| format!("cargo does not say which {name} is published: {said}"))
}

/// The version in what `cargo info` says: "version: 48.0.8 (latest 50.0.1)".
fn version(said: &str) -> Option<String> {
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("version: "))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// What is wrong if another version than the newest is locked.
pub(crate) fn behind(name: &str, locked: &str, newest: &str) -> Option<String> {
    let (old, new) = (numbers(locked), numbers(newest));
    if old.is_some() && new.is_some() && old >= new {
        return None;
    }
    Some(format!(
        "{name} {newest} is published, and Cargo.lock has {locked}: run `cargo update wasmtime wasmtime-wasi`, add its \
         advisories to tests/audit/advisories.yaml, and run `make check test`"
    ))
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_patch_release_is_seen() {
        for (locked, newest, is_behind) in [
            ("48.0.8", "48.0.8", false),
            ("48.0.8", "48.0.9", true),
            ("48.0.9", "48.0.10", true),
            ("48.0.10", "48.0.9", false),
            ("48.0.8", "48.0.9-rc", true),
        ] {
            let said = behind("wasmtime", locked, newest);
            assert_eq!(said.is_some(), is_behind, "{locked} {newest}");
        }
    }

    #[test]
    fn versions_are_read() {
        let lock = "[[package]]\nname = \"wasmtime-wasi\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"wasmtime\"\nversion = \"48.0.8\"\nsource = \"registry\"\n";
        assert_eq!(locked(lock, "wasmtime").as_deref(), Some("48.0.8"));
        assert_eq!(locked(lock, "wasm"), None);
        let said =
            "wasmtime\nHigh-level API\nversion: 48.0.9 (latest 50.0.1)\nlicense: Apache-2.0\n";
        assert_eq!(version(said).as_deref(), Some("48.0.9"));
        assert_eq!(version("nothing"), None);
    }
}
