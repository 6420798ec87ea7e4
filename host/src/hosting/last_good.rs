//! The last good version of each plugin, kept over a restart of the host: `--state-dir`.
//!
//! ```text
//! DIR/plugins/greeter/<document digest>-<component digest>/plugin.yaml   the file that holds the document
//!                                                          component.wasm, file (where it lay) or object (its name)
//! DIR/plugins/greeter/last-good -> <document digest>-<component digest>
//! DIR/plugins/greeter/previous -> the last one of another component, if there was one
//! DIR/plugins/greeter/on-trial -> the one that took the place of the last good one, and is not known to be good
//! DIR/plugins/greeter/rolled-back -> the last one that failed its trial, and why: the file rolled-back in it
//! ```
//! - A version is written beside the one before it; the link is what makes it the last good one. A
//!   host killed at any moment leaves a whole version behind.
//! - What does not have the digests that its name says is not run.

mod rolled_back;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_code_cache::{CacheError, private_folder};

use windlass_base::digest::{Digest, digest};
use windlass_policy::manifest::{self, ManifestError, Origin};
use windlass_policy::source::{Candidate, Component};

const LINK: &str = "last-good";
const PREVIOUS: &str = "previous";
const ON_TRIAL: &str = "on-trial";
const DOCUMENT: &str = "plugin.yaml";
const COMPONENT: &str = "component.wasm";
const ROLLED_BACK: &str = "rolled-back";
const LINKS: [&str; 4] = [LINK, PREVIOUS, ON_TRIAL, ROLLED_BACK];
const FILE: &str = "file";
const OBJECT: &str = "object";

/// Why a version that was kept cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// A file of it cannot be read.
    #[error("{}: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It does not have the digests that its name says.
    #[error("{}: it was changed since it was kept", .0.display())]
    Changed(PathBuf),
    /// Its document is not one that this host takes.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// Its file holds no document of the plugin.
    #[error("{}: holds no document of {plugin}", at.display())]
    NoDocument {
        /// Where it is kept.
        at: PathBuf,
        /// The plugin.
        plugin: String,
    },
}

/// As what a version is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptAs {
    /// It runs again after a restart of the host.
    LastGood,
    /// The one before it does, until [`LastGood::promote`].
    OnTrial,
}

/// A folder of last good versions.
#[derive(Clone, Debug)]
pub struct LastGood {
    folder: PathBuf,
}

impl LastGood {
    /// Opens the folder for this in `state_dir`, and makes both if they are absent.
    ///
    /// # Errors
    /// It cannot be made, or others could write to it: they could plant a plugin there.
    pub fn open(state_dir: &Path) -> Result<Self, CacheError> {
        let folder = state_dir.join("plugins");
        private_folder(&folder)?;
        Ok(Self { folder })
    }

    /// Keeps a version as the last good one, and of the others of this plugin only the last one of another component.
    ///
    /// # Errors
    /// It cannot be written; the version before it is still kept.
    pub fn keep(&self, candidate: &Candidate, component: &[u8]) -> io::Result<()> {
        self.keep_as(candidate, component, KeptAs::LastGood)
    }

    /// Keeps a version; of the others of this plugin only the last good one, and the last one of another component.
    ///
    /// # Errors
    /// It cannot be written; the version before it is still kept.
    pub(super) fn keep_as(
        &self,
        candidate: &Candidate,
        component: &[u8],
        kept: KeptAs,
    ) -> io::Result<()> {
        let found = digest(component);
        let put = |file: &Path| write(file, component);
        self.put(candidate, (&found, put), kept)
    }

    /// As [`LastGood::keep_as`], for a version of a component that is kept already: it is not written again.
    ///
    /// # Errors
    /// As [`LastGood::keep_as`]. Nothing is kept of the component.
    pub(super) fn keep_again(&self, candidate: &Candidate, kept: KeptAs) -> io::Result<()> {
        let absent = || io::Error::other("the component is not known");
        let wanted = candidate.component.digest().ok_or_else(absent)?;
        let plugin = self.folder.join(&candidate.document.name);
        let links = LINKS.into_iter().map(|link| plugin.join(link));
        let mut named = links.filter(|link| component_of(link) == Some(wanted));
        let link = named.next();
        let link = link.ok_or_else(|| io::Error::other("nothing is kept of the component"))?;
        let held = link.join(COMPONENT);
        let put = |file: &Path| {
            // What is kept is never changed: both versions may have the same file.
            fs::hard_link(&held, file).or_else(|_| fs::copy(&held, file).map(drop))
        };
        self.put(candidate, (&wanted, put), kept)
    }

    /// Keeps a version, whose component `put` puts into a file.
    fn put(
        &self,
        candidate: &Candidate,
        (component, put): (&Digest, impl FnOnce(&Path) -> io::Result<()>),
        kept: KeptAs,
    ) -> io::Result<()> {
        let plugin = self.folder.join(&candidate.document.name);
        let (place, at) = place(&candidate.document.origin);
        let name = version_name((place, &at), &candidate.text, component);
        let version = plugin.join(&name);
        if !version.is_dir() {
            let draft = plugin.join(format!("{name}.draft"));
            // Left by a host that was killed here.
            let _ = fs::remove_dir_all(&draft);
            fs::create_dir_all(&draft)?;
            write(&draft.join(DOCUMENT), candidate.text.as_bytes())?;
            put(&draft.join(COMPONENT))?;
            write(&draft.join(place), at.as_bytes())?;
            fs::rename(&draft, &version)?;
        }
        tracing::debug!(
            plugin = candidate.document.name,
            reached = "written",
            "keeping"
        );
        match kept {
            KeptAs::LastGood => make_last_good(&plugin, Path::new(&name)),
            KeptAs::OnTrial => {
                point(&plugin, ON_TRIAL, Path::new(&name))?;
                tidy(&plugin)
            }
        }
    }

    /// Makes the version of `plugin` that is on trial the last good one, if there is one.
    ///
    /// # Errors
    /// The file system said no; the version before it is still the last good one.
    pub(super) fn promote(&self, plugin: &str) -> io::Result<()> {
        let plugin = self.folder.join(plugin);
        match fs::read_link(plugin.join(ON_TRIAL)) {
            Ok(name) => make_last_good(&plugin, &name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The component with this digest, if a version of `plugin` is kept that has it.
    pub(super) fn component(&self, plugin: &str, wanted: &Digest) -> Option<Vec<u8>> {
        let folder = self.folder.join(plugin);
        let links = LINKS.into_iter().map(|link| folder.join(link));
        let mut named = links.filter(|link| component_of(link).as_ref() == Some(wanted));
        named.find_map(|link| {
            let component = fs::read(link.join(COMPONENT)).ok()?;
            (digest(&component) == *wanted).then_some(component)
        })
    }

    /// The names of all plugins that have a last good version, with the origins of their documents.
    pub fn plugins(&self) -> Vec<(String, Origin)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut plugins: Vec<(String, Origin)> = names
            .filter_map(|name| {
                let origin = origin(&self.folder.join(&name).join(LINK)).ok()?;
                Some((name, origin))
            })
            .collect();
        plugins.sort();
        plugins
    }

    /// The last good version of `plugin`, with its component, if there is one.
    ///
    /// # Errors
    /// Why what is kept cannot be used.
    pub fn load(&self, plugin: &str) -> Result<Option<(Candidate, Vec<u8>)>, KeptError> {
        self.load_from(plugin, LINK)
    }

    /// The last good version of another component than [`LastGood::load`] has, if there is one.
    ///
    /// # Errors
    /// Why what is kept cannot be used.
    pub fn load_previous(&self, plugin: &str) -> Result<Option<(Candidate, Vec<u8>)>, KeptError> {
        self.load_from(plugin, PREVIOUS)
    }

    /// The components of the versions that are kept of `plugin`.
    pub fn components(&self, plugin: &str) -> BTreeSet<Digest> {
        let links = LINKS.into_iter();
        links
            .filter_map(|link| component_of(&self.folder.join(plugin).join(link)))
            .collect()
    }

    fn load_from(
        &self,
        plugin: &str,
        link: &str,
    ) -> Result<Option<(Candidate, Vec<u8>)>, KeptError> {
        let link = self.folder.join(plugin).join(link);
        let Ok(name) = fs::read_link(&link) else {
            return Ok(None);
        };
        let read = |file: &str| {
            let file = link.join(file);
            fs::read(&file).map_err(|error| KeptError::Unreadable { file, error })
        };
        let component = read(COMPONENT)?;
        let text = String::from_utf8_lossy(&read(DOCUMENT)?).into_owned();
        let origin = origin(&link)?;
        let (kind, at) = place(&origin);
        if Path::new(&version_name((kind, &at), &text, &digest(&component))) != name {
            return Err(KeptError::Changed(link));
        }
        let documents = manifest::parse(&origin, &text)?;
        let document = documents
            .into_iter()
            .find(|document| document.name == plugin);
        let Some(document) = document else {
            let plugin = plugin.to_owned();
            return Err(KeptError::NoDocument { at: link, plugin });
        };
        let candidate = Candidate::listed(
            document,
            Arc::from(text),
            Component::Known(digest(&component)),
        );
        Ok(Some((candidate, component)))
    }

    /// Forgets a plugin that was taken out of the config folder.
    ///
    /// # Errors
    /// The file system said no.
    pub fn forget(&self, plugin: &str) -> io::Result<()> {
        let folder = self.folder.join(plugin);
        // First the link: half of a version is none.
        match fs::remove_file(folder.join(LINK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Makes the version `name` the last good one of the plugin in this folder.
fn make_last_good(plugin: &Path, name: &Path) -> io::Result<()> {
    let before = fs::read_link(plugin.join(LINK)).ok();
    let component = |name: &Path| Some(name.to_str()?.split_once('-')?.1.to_owned());
    if let Some(other) = before.filter(|before| component(before) != component(name)) {
        point(plugin, PREVIOUS, &other)?;
    }
    point(plugin, LINK, name)?;
    let _ = fs::remove_file(plugin.join(ON_TRIAL));
    rolled_back::forget_of(plugin, name);
    tidy(plugin)
}

/// Removes all versions in this folder of a plugin that no link leads to.
fn tidy(plugin: &Path) -> io::Result<()> {
    File::open(plugin)?.sync_all()?;
    let links = LINKS.into_iter();
    let kept: Vec<PathBuf> = links
        .filter_map(|link| fs::read_link(plugin.join(link)).ok())
        .collect();
    for entry in fs::read_dir(plugin)?.flatten() {
        let name = entry.file_name();
        let is_link = LINKS.iter().any(|link| name == *link);
        if !is_link && !kept.iter().any(|kept| *kept == *name) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// The digest of the component of the version that `link` leads to.
fn component_of(link: &Path) -> Option<Digest> {
    let name = fs::read_link(link).ok()?;
    Digest::of_hex(name.to_str()?.split_once('-')?.1)
}

/// Makes the link `name` in `folder` point to `target`, whatever it pointed to.
fn point(folder: &Path, name: &str, target: &Path) -> io::Result<()> {
    let draft = folder.join(format!("{name}.draft"));
    let _ = fs::remove_file(&draft);
    std::os::unix::fs::symlink(target, &draft)?;
    fs::rename(&draft, folder.join(name))
}

/// The file that says where a document stood, and what it says.
fn place(origin: &Origin) -> (&'static str, Cow<'_, str>) {
    match origin {
        Origin::File(file) => (FILE, file.to_string_lossy()),
        Origin::Object(name) => (OBJECT, name.into()),
    }
}

/// Where the document of the version in `folder` stood.
fn origin(folder: &Path) -> Result<Origin, KeptError> {
    let read = |place: &str| {
        let file = folder.join(place);
        fs::read_to_string(&file).map_err(|error| KeptError::Unreadable { file, error })
    };
    match read(OBJECT) {
        Ok(name) => Ok(Origin::Object(name)),
        Err(_) => Ok(Origin::File(read(FILE)?.into())),
    }
}

/// The name of a version. Versions of files are named as they always were.
fn version_name((place, at): (&str, &str), text: &str, component: &Digest) -> String {
    let mut document = format!("{at}\0{text}");
    if place == OBJECT {
        document.push_str("\0object");
    }
    format!("{}-{}", digest(document.as_bytes()).hex(), component.hex())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
