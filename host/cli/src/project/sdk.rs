//! The SDKs, which this program carries and puts into projects: nothing of ours need be published.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rust_embed::{EmbeddedFile, RustEmbed};
use sha2::{Digest, Sha256};

use super::workspace::Members;
use windlass_base::seams::Rng;

/// Where a project keeps what is put there.
pub(super) const PRIVATE: &str = ".windlass";
/// The digest of the SDK that was put there.
const STAMP: &str = ".digest";

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/rust"]
#[exclude = "target/*"]
struct RustSdk;

#[derive(RustEmbed)]
#[folder = "../../guest-sdk/js"]
#[exclude = "node_modules/*"]
#[exclude = "test/*"]
struct JavaScriptSdk;

#[derive(RustEmbed)]
#[folder = "../../wit"]
#[exclude = "released/*"]
struct Wit;

/// A language with an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sdk {
    /// For Rust.
    Rust,
    /// For JavaScript.
    JavaScript,
}

impl Sdk {
    const ALL: [Self; 2] = [Self::Rust, Self::JavaScript];

    /// Its folder in a project, and what a manifest says that uses it.
    fn path(self) -> &'static str {
        match self {
            Self::Rust => ".windlass/sdk/rust",
            Self::JavaScript => ".windlass/sdk/js",
        }
    }

    /// The file of a project that names it.
    pub(super) fn manifest(self) -> &'static str {
        match self {
            Self::Rust => "Cargo.toml",
            Self::JavaScript => "package.json",
        }
    }

    fn files(self) -> Vec<(PathBuf, EmbeddedFile)> {
        match self {
            Self::Rust => all::<RustSdk>(),
            Self::JavaScript => all::<JavaScriptSdk>(),
        }
    }

    /// The SDK that the project in `folder` uses, if any, and the folder that has it: the project's, or one above it that
    /// several projects share.
    pub(super) fn of(folder: &Path) -> Option<(Self, PathBuf)> {
        Self::ALL.into_iter().find_map(|sdk| {
            let home = sdk.home(folder);
            home.map(|home| (sdk, home))
        })
    }

    fn home(self, folder: &Path) -> Option<PathBuf> {
        let text = fs::read_to_string(folder.join(self.manifest())).ok()?;
        if let Some(up) = steps_up(&text, self.path()) {
            return Some(match up {
                "" => folder.to_owned(),
                up => folder.join(up.trim_end_matches('/')),
            });
        }
        // `windlass-sdk = { workspace = true }`: the workspace names the path.
        let inherits = self == Self::Rust && text.contains("windlass-sdk");
        let folder = std::path::absolute(folder).ok().filter(|_| inherits)?;
        let mut above = folder.ancestors().skip(1);
        above.find_map(|root| {
            let text = fs::read_to_string(root.join(self.manifest())).ok()?;
            let is_workspace = Members::of(self, &text).is_some();
            let here = is_workspace && steps_up(&text, self.path()) == Some("");
            here.then(|| root.to_owned())
        })
    }

    /// Puts it into the project in `folder`, unless it is there as this program has it.
    pub(super) fn put(self, folder: &Path, rng: &Rng) -> anyhow::Result<()> {
        let contract = (Path::new(PRIVATE).join("wit"), all::<Wit>());
        let own = (PathBuf::from(self.path()), self.files());
        for (path, files) in [contract, own] {
            let path = folder.join(path);
            put(&path, &files, rng)
                .with_context(|| format!("cannot put the SDK into {}", path.display()))?;
        }
        Ok(())
    }
}

/// The steps up that stand before `path` in a manifest: `../` in `file:../.windlass/sdk/js`.
fn steps_up<'a>(text: &'a str, path: &str) -> Option<&'a str> {
    let (before, _) = text.split_once(path)?;
    let rest = before.trim_end_matches("../");
    before.get(rest.len()..)
}

/// Every file of an embedded folder, by its path in it.
pub(super) fn all<E: RustEmbed>() -> Vec<(PathBuf, EmbeddedFile)> {
    let named = |path: std::borrow::Cow<'static, str>| {
        let file = E::get(&path)?;
        Some((PathBuf::from(&*path), file))
    };
    E::iter().filter_map(named).collect()
}

fn put(folder: &Path, files: &[(PathBuf, EmbeddedFile)], rng: &Rng) -> io::Result<()> {
    let digest = digest(files);
    if is_there(folder, &digest) {
        return Ok(());
    }
    // Whole or not at all, under the name by which it is used.
    let draft = folder.with_extension(format!("{:016x}", rng.number()));
    let written = write(&draft, files)
        .and_then(|()| fs::write(draft.join(STAMP), &digest))
        .and_then(|()| replace(folder, &draft, &digest));
    if written.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    written
}

/// Whether `folder` has what has this digest.
fn is_there(folder: &Path, digest: &str) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|held| held == digest)
}

/// Puts `draft` into the place of `folder`. Several builds in one workspace may do so at the same time: of those that put
/// the same there, the first one is enough, and its folder may be in use already.
fn replace(folder: &Path, draft: &Path, digest: &str) -> io::Result<()> {
    match fs::rename(draft, folder) {
        Err(error) if is_occupied(&error) => {}
        renamed => return renamed,
    }
    if is_there(folder, digest) {
        return fs::remove_dir_all(draft);
    }
    // What is there is older.
    let removed = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    match removed.and_then(|()| fs::rename(draft, folder)) {
        Err(_) if is_there(folder, digest) => fs::remove_dir_all(draft),
        replaced => replaced,
    }
}

/// Whether a folder with files is where another was to be renamed to.
fn is_occupied(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
    )
}

/// Writes files below `folder`.
pub(super) fn write(folder: &Path, files: &[(PathBuf, EmbeddedFile)]) -> io::Result<()> {
    for (path, file) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &file.data)?;
    }
    Ok(())
}

fn digest(files: &[(PathBuf, EmbeddedFile)]) -> String {
    let mut hash = Sha256::new();
    for (path, file) in files {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(file.metadata.sha256_hash());
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_build_has_put_there_meanwhile_is_used() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sdk");
        let draft = home.path().join("sdk.draft");
        let made = |folder: &Path, stamp: &str| {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(STAMP), stamp).unwrap();
            fs::write(folder.join(format!("{stamp}.rs")), "").unwrap();
        };
        made(&draft, "new");
        // The other build is between this one's look and its renaming.
        made(&folder, "new");
        fs::write(folder.join("theirs"), "").unwrap();
        replace(&folder, &draft, "new").unwrap();
        assert!(folder.join("theirs").exists(), "it may be in use");
        assert!(!draft.exists());
        // What is older is replaced.
        made(&draft, "newer");
        replace(&folder, &draft, "newer").unwrap();
        assert!(!folder.join("theirs").exists() && folder.join("newer.rs").exists());
        // Without a draft nothing can be put there.
        fs::write(folder.join(STAMP), "old").unwrap();
        assert!(replace(&folder, &draft, "newer").is_err());
        assert!(folder.join("newer.rs").exists());
    }

    #[test]
    fn builds_at_the_same_time_put_one_sdk_there() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sdk");
        let files = all::<Wit>();
        std::thread::scope(|scope| {
            for seed in 0..8 {
                let (folder, files) = (&folder, &files);
                scope.spawn(move || put(folder, files, &Rng::seeded(seed)).unwrap());
            }
        });
        assert!(is_there(&folder, &digest(&files)));
        assert_eq!(
            fs::read_dir(home.path()).unwrap().count(),
            1,
            "no draft is left"
        );
    }

    #[test]
    fn what_is_carried_is_what_the_repository_has() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (folder, files) in [
            ("guest-sdk/rust", all::<RustSdk>()),
            ("guest-sdk/js", all::<JavaScriptSdk>()),
            ("wit", all::<Wit>()),
        ] {
            assert!(!files.is_empty());
            for (path, file) in files {
                let path = root.join(folder).join(path);
                assert_eq!(fs::read(&path).unwrap(), &*file.data, "{}", path.display());
            }
        }
        let names: Vec<_> = Sdk::JavaScript
            .files()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert!(
            names.contains(&"build/windlass-build.js".into()),
            "{names:?}"
        );
        let foreign = |path: &PathBuf| path.starts_with("node_modules") || path.starts_with("test");
        assert!(!names.iter().any(foreign), "{names:?}");
    }

    #[test]
    fn the_members_of_a_workspace_share_an_sdk() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let member = root.join("plugins/a");
        fs::create_dir_all(&member).unwrap();
        let put = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
        let workspace = "[workspace]\nmembers = [\"plugins/*\"]\n[workspace.dependencies]\nwindlass-sdk = { path = \".windlass/sdk/rust\" }\n";
        put(root.join("Cargo.toml"), workspace);
        for (dependency, home) in [
            ("{ path = \".windlass/sdk/rust\" }", member.clone()),
            (
                "{ path = \"../../.windlass/sdk/rust\" }",
                member.join("../.."),
            ),
            ("{ workspace = true }", root.to_owned()),
        ] {
            put(
                member.join("Cargo.toml"),
                &format!("[dependencies]\nwindlass-sdk = {dependency}\n"),
            );
            assert_eq!(Sdk::of(&member), Some((Sdk::Rust, home)), "{dependency}");
        }
    }

    #[test]
    fn a_project_gets_the_sdk_that_it_names_and_an_old_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Sdk::of(folder.path()), None);
        let manifest = r#"windlass-sdk = { path = ".windlass/sdk/rust" }"#;
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let (sdk, home) = Sdk::of(folder.path()).unwrap();
        assert_eq!((sdk, &*home), (Sdk::Rust, folder.path()));
        let rng = Rng::seeded(1);
        sdk.put(folder.path(), &rng).unwrap();
        let sdk_folder = folder.path().join(sdk.path());
        let library = sdk_folder.join("src/lib.rs");
        assert!(library.exists() && folder.path().join(".windlass/wit/world.wit").exists());
        let before = fs::metadata(&library).unwrap().modified().unwrap();
        sdk.put(folder.path(), &rng).unwrap();
        let after = fs::metadata(&library).unwrap().modified().unwrap();
        assert_eq!(before, after, "what is there is left alone");
        fs::write(sdk_folder.join(STAMP), "old").unwrap();
        fs::write(sdk_folder.join("src/gone.rs"), "").unwrap();
        sdk.put(folder.path(), &rng).unwrap();
        assert!(!sdk_folder.join("src/gone.rs").exists());
    }
}
