//! The relay guest in many versions: components that differ, its document, and how both are put in place.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use windlass_harness::guest;

use crate::Plugins;

/// The first word of what the relay writes, as the guest's data holds it: its length, and it.
const BEGIN: &[u8] = b"\x06begin ";

/// The relay's component, different in its bytes for each `variant`: a section that nobody reads.
///
/// # Errors
/// It does not build.
pub fn component(variant: u32) -> Result<Vec<u8>> {
    let mut bytes = fs::read(guest("relay")?)?;
    let name = b"variant";
    let content = variant.to_le_bytes();
    bytes.push(0);
    bytes.push(u8::try_from(1 + name.len() + content.len())?);
    bytes.push(u8::try_from(name.len())?);
    bytes.extend(name);
    bytes.extend(content);
    Ok(bytes)
}

/// The relay's component, different in its data for each `number` below 10,000: where the others
/// write `begin `, number 42 writes `b0042 `.
///
/// # Errors
/// It does not build, or the word is not there once.
pub fn patched(number: u32) -> Result<Vec<u8>> {
    let mut bytes = fs::read(guest("relay")?)?;
    let word = format!("\u{6}b{number:04} ");
    ensure!(word.len() == BEGIN.len(), "{number} is too large");
    let windows = bytes.windows(BEGIN.len()).enumerate();
    let places = windows.filter_map(|(place, window)| (window == BEGIN).then_some(place));
    let places: Vec<usize> = places.collect();
    let [place] = places[..] else {
        bail!("the relay holds its first word {} times", places.len());
    };
    bytes.splice(place..place + BEGIN.len(), word.bytes());
    Ok(bytes)
}

/// A file that is written, and not yet where it belongs.
pub struct Draft {
    path: PathBuf,
    name: String,
}

impl Draft {
    /// Writes `name` into `folder`, under another name.
    ///
    /// # Errors
    /// The file system said no.
    pub fn write(folder: &Path, name: &str, content: &[u8]) -> Result<Self> {
        let path = folder.join(format!(".{name}.draft"));
        fs::write(&path, content)?;
        let name = name.to_owned();
        Ok(Self { path, name })
    }

    /// Moves it into `folder`, on the same file system.
    ///
    /// # Errors
    /// The file system said no.
    pub fn put(self, folder: &Path) -> Result<()> {
        Ok(fs::rename(self.path, folder.join(self.name))?)
    }
}

/// Puts a file where it belongs as `mv` does: whole, from one moment to the next.
///
/// # Errors
/// The file system said no.
pub fn put(folder: &Path, name: &str, content: &[u8]) -> Result<()> {
    Draft::write(folder, name, content)?.put(folder)
}

/// The document of a relay called `name`, whose component is `name.wasm`: a version, and what is wrong
/// with it.
pub fn relay(plugins: &Plugins, name: &str, version: &str, fault: &str) -> Value {
    json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": { "name": name },
        "spec": {
            "source": { "file": format!("{name}.wasm") },
            "config": { "version": version, "fault": fault },
            "limits": { "cpu": "100ms" },
            "grants": [
                plugins.grant("examples.windlass.dev", &["greetings"], &["get", "list", "watch", "patch"]),
                plugins.grant("examples.windlass.dev", &["greetings/status"], &["patch"]),
                plugins.grant("", &["configmaps"], &["get", "list", "watch"]),
            ],
        },
    })
}
