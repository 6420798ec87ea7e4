//! The name of an entry: a hash of the compiler and the flags, and one of the dependencies.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::{Error, workspace};

/// The name of an entry.
#[derive(Debug)]
pub(super) struct Key {
    /// Stands for the compiler and the flags.
    means: u64,
    /// Stands for the dependencies.
    dependencies: u64,
}

impl Key {
    /// The name of this checkout's entry.
    pub(super) fn name(&self) -> String {
        format!("{}{:016x}", self.prefix(), self.dependencies)
    }

    /// How the names of all entries begin that are of the same compiler and flags.
    pub(super) fn prefix(&self) -> String {
        format!("{:016x}-", self.means)
    }
}

/// The name of this checkout's entry.
///
/// # Errors
/// The compiler does not answer, or a file of the workspace cannot be read.
pub(super) fn key() -> Result<Key, Error> {
    let compiler = Command::new("rustc")
        .current_dir(workspace())
        .arg("-vV")
        .output()?;
    if !compiler.status.success() {
        return Err("rustc -vV has failed".into());
    }
    let mut text = String::from_utf8(compiler.stdout)?;
    let manifest = read("Cargo.toml")?;
    let profiles = manifest
        .find("\n[profile.")
        .map_or("", |at| &manifest[at..]);
    text.push_str(&without_comments(profiles));
    text.push_str(&without_comments(&read(".cargo/config.toml")?));
    // Cargo's home is in the paths of sources, which debug information and panics name.
    let settings = std::env::vars().filter(|(name, _)| {
        let flags = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_"];
        flags.iter().any(|flag| name.starts_with(flag))
            || ["CARGO_HOME", "CARGO_INCREMENTAL", "HOME", "RUSTFLAGS"].contains(&name.as_str())
    });
    let settings: BTreeSet<_> = settings.collect();
    for (name, value) in settings {
        text.push_str(&format!("\n{name}={value}"));
    }
    Ok(Key {
        means: fnv(text.as_bytes()),
        dependencies: fnv(registry_packages(&read("Cargo.lock")?).as_bytes()),
    })
}

/// The names of the packages in the workspace.
///
/// # Errors
/// The lock file cannot be read.
pub(super) fn members() -> Result<BTreeSet<String>, Error> {
    let lock = read("Cargo.lock")?;
    let members = packages(&lock).filter(|package| !package.contains("\nsource = "));
    let name = |package: &str| {
        Some(
            package
                .split_once("name = \"")?
                .1
                .split_once('"')?
                .0
                .to_owned(),
        )
    };
    Ok(members.filter_map(name).collect())
}

/// The lines of a TOML file that are not comments.
fn without_comments(toml: &str) -> String {
    let lines = toml
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The part of a lock file that is about packages of a registry.
fn registry_packages(lock: &str) -> String {
    packages(lock)
        .filter(|package| package.contains("\nsource = "))
        .collect()
}

fn packages(lock: &str) -> impl Iterator<Item = &str> {
    lock.split("[[package]]").skip(1)
}

fn read(file: &str) -> Result<String, Error> {
    let path = workspace().join(file);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The 64-bit FNV-1a hash, which is the same with each compiler.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{fnv, registry_packages, without_comments};

    #[test]
    fn a_change_of_the_workspace_alone_leaves_the_dependencies_as_they_were() {
        let http = "\nname = \"http\"\nversion = \"1.0.0\"\nsource = \"registry\"\n";
        let own = "\nname = \"windlass\"\nversion = \"0.1.0\"\ndependencies = [\n \"http\",\n]\n";
        let lock =
            |packages: &[&str]| format!("version = 4\n[[package]]{}", packages.join("[[package]]"));
        let before = registry_packages(&lock(&[http, own]));
        assert_eq!(before, registry_packages(&lock(&[http])));
        assert_ne!(
            before,
            registry_packages(&lock(&[&http.replace("1.0.0", "1.0.1"), own]))
        );
    }

    #[test]
    fn a_comment_changes_nothing() {
        let plain = "[profile.dev]\ndebug = 0";
        let commented = "[profile.dev]\n# No debug information.\n  # None at all.\ndebug = 0";
        assert_eq!(without_comments(commented), without_comments(plain));
        assert_ne!(
            without_comments(plain),
            without_comments("[profile.dev]\ndebug = 1")
        );
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // http://www.isthe.com/chongo/tech/comp/fnv/: the vector of "foobar".
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
