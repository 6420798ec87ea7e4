//! `windlass new`: a project that works, to be changed into somebody's own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::sdk::{Sdk, all};
use crate::args::{Language, New};
use crate::manifest::is_dns_label;
use crate::screen::{Tone, go_on, say};
use crate::seams::{Rng, Seams};

/// What the template's plugin is called, in all of its files.
const ITS_NAME: &str = "greeter";

#[derive(RustEmbed)]
#[folder = "../guest-sdk/template/any"]
struct Any;

#[derive(RustEmbed)]
#[folder = "../guest-sdk/template/rust"]
struct Rust;

#[derive(RustEmbed)]
#[folder = "../guest-sdk/template/js"]
struct JavaScript;

/// Makes a project in a new folder below this one.
///
/// # Errors
/// The name is none, the folder is there, or cannot be made.
pub fn new(flags: &New, seams: &Seams) -> anyhow::Result<()> {
    let folder = Path::new(&flags.name);
    make(folder, &flags.name, flags.lang, &seams.rng)?;
    let (language, source) = match flags.lang {
        Language::Rust => ("Rust", "src/lib.rs"),
        Language::Js => ("JavaScript", "src/plugin.js"),
    };
    let name = &flags.name;
    let number = files(flags.lang, name).len();
    say(
        Tone::Good,
        "Created",
        &format!("{name}/ ({language}, {number} files)"),
    )?;
    let manifest = match flags.lang {
        Language::Rust => "Cargo.toml",
        Language::Js => "package.json",
    };
    for (file, what) in [
        (source, "your controller"),
        ("greeting.crd.yaml", "the kind that it reconciles"),
        ("example.yaml", "one object to try"),
        ("tests/ada.yaml", "what must come of it"),
        ("plugin.yaml", "name, grants, how it is built"),
        (manifest, "name, version, dependencies"),
    ] {
        go_on(&format!("{file:<19} {what}"))?;
    }
    say(Tone::Good, "Next", &format!("cd {name} && windlass dev"))?;
    Ok(())
}

/// What cargo, npm and Kubernetes all take.
///
/// # Errors
/// What is wrong with it.
pub fn plugin_name(name: &str) -> Result<String, String> {
    if is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Ok(name.to_owned());
    }
    Err("not a plugin's name: write at most 63 of a-z, 0-9 and `-`, with a letter first and a letter or digit last, such as greeter".to_owned())
}

/// Writes the project beside its place, and moves it there whole.
fn make(folder: &Path, name: &str, language: Language, rng: &Rng) -> anyhow::Result<()> {
    let shown = folder.display();
    if folder.symlink_metadata().is_ok() {
        bail!("{shown} is there already: choose another name, or remove it");
    }
    let draft = folder.with_file_name(format!(".{name}.{:016x}", rng.number()));
    let made = write(&draft, name, language, rng).and_then(|()| Ok(fs::rename(&draft, folder)?));
    if made.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    made.with_context(|| format!("cannot make the folder {shown}"))
}

fn write(draft: &Path, name: &str, language: Language, rng: &Rng) -> anyhow::Result<()> {
    for (path, text) in files(language, name) {
        let path = draft.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    let sdk = match language {
        Language::Rust => Sdk::Rust,
        Language::Js => Sdk::JavaScript,
    };
    sdk.put(draft, rng)
}

/// The template's files, with the name in the place of its own.
fn files(language: Language, name: &str) -> Vec<(PathBuf, String)> {
    let mut files = all::<Any>();
    files.extend(match language {
        Language::Rust => all::<Rust>(),
        Language::Js => all::<JavaScript>(),
    });
    let named = |file: &EmbeddedFile| String::from_utf8_lossy(&file.data).replace(ITS_NAME, name);
    let files = files.iter();
    files
        .map(|(path, file)| (path.clone(), named(file)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    #[test]
    fn names_are_what_all_tools_take() {
        for name in ["greeter", "my-plugin", "a1", "fn", "test"] {
            assert_eq!(plugin_name(name), Ok(name.to_owned()));
        }
        for name in [
            "",
            "Greeter",
            "1a",
            "a_b",
            "a-",
            "ünïcode",
            "a b",
            "../a",
            "a.b",
        ] {
            let error = plugin_name(name).unwrap_err();
            assert!(error.contains("such as greeter"), "{error}");
        }
        assert!(plugin_name(&"a".repeat(64)).is_err());
    }

    #[test]
    fn a_project_is_small_and_carries_its_name() {
        for language in [Language::Rust, Language::Js] {
            let files = files(language, "scaler");
            assert!(files.len() <= 9, "{files:?}");
            for (path, text) in &files {
                assert!(!text.contains(ITS_NAME), "{}", path.display());
            }
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("scaler");
            make(&folder, "scaler", language, &Rng::seeded(1)).unwrap();
            let project = Project::open(&folder).unwrap();
            assert_eq!(project.document.name, "scaler");
            assert!(project.how().is_some());
            let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
            assert_eq!(left.len(), 1, "{left:?}");
        }
    }

    #[test]
    fn what_is_there_is_left_alone_and_a_failure_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("taken");
        fs::create_dir(&folder).unwrap();
        let make = |folder: &Path| make(folder, "taken", Language::Rust, &Rng::seeded(1));
        let error = make(&folder).unwrap_err().to_string();
        assert!(error.contains("is there already"), "{error}");
        // A file is nothing that a folder can be made in, whoever asks.
        fs::write(home.path().join("file"), "").unwrap();
        let error = format!("{:#}", make(&home.path().join("file/taken")).unwrap_err());
        assert!(error.starts_with("cannot make the folder"), "{error}");
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}
