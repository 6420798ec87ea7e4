//! What a config folder holds: its documents, read and judged together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::Instant;

use super::candidate::{Candidate, Component, blame};
use super::component::read_file;
use super::files::FileCache;
use super::wanted::{Problem, Wanted};
use crate::manifest::{self, Origin, PluginDocument};
use windlass_base::digest::{Digest, digest};
use windlass_base::seams::Notice;

/// A larger document is refused unread.
const LARGEST_DOCUMENT: u64 = 1 << 20;

/// The content of a file with documents.
#[derive(Clone)]
struct Documents {
    text: Arc<str>,
    plugins: Result<Vec<PluginDocument>, String>,
}

/// Reads a folder again and again, and of its files what has changed.
pub(super) struct FolderReader {
    folder: PathBuf,
    documents: FileCache<Documents>,
    components: FileCache<Result<Digest, String>>,
}

/// Reads every `*.yaml` and `*.yml` file in `folder`, as it is now.
///
/// # Errors
/// The folder cannot be read.
pub fn read_folder(folder: &Path, now: Instant) -> io::Result<Wanted> {
    let mut reader = FolderReader::new(folder);
    reader.first_look(now)
}

impl FolderReader {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            documents: FileCache::default(),
            components: FileCache::default(),
        }
    }

    /// Somebody noticed something about a file.
    pub(super) fn notice(&mut self, path: &Path, notice: Notice) {
        self.documents.notice(path, notice);
        self.components.notice(path, notice);
    }

    /// When to look again, though nobody has noticed anything.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let next = [self.documents.next(now), self.components.next(now)];
        next.into_iter().flatten().min()
    }

    /// The folders in which something could happen.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let targets = self.documents.targets().chain(self.components.targets());
        let named = self.components.present().map(PathBuf::as_path);
        let parents = targets
            .chain(named)
            .filter_map(Path::parent)
            .map(Path::to_owned);
        parents.chain([self.folder.clone()]).collect()
    }

    /// Takes everything as it is: nobody has noticed anything yet.
    pub(super) fn first_look(&mut self, now: Instant) -> io::Result<Wanted> {
        self.documents.trust(yaml_files(&self.folder)?.into_iter());
        let documents = self.read_documents(now)?;
        let plugins = documents.values().filter_map(|it| it.plugins.as_ref().ok());
        let named = plugins.flatten().filter_map(|plugin| plugin.source.file());
        let named = named.map(Path::to_owned);
        self.components.trust(named);
        Ok(self.judge(documents, now))
    }

    /// What the folder holds now.
    pub(super) fn look(&mut self, now: Instant) -> io::Result<Wanted> {
        let documents = self.read_documents(now)?;
        Ok(self.judge(documents, now))
    }

    fn read_documents(&mut self, now: Instant) -> io::Result<BTreeMap<PathBuf, Documents>> {
        let mut files = yaml_files(&self.folder)?;
        files.extend(self.documents.present().cloned());
        let mut documents = BTreeMap::new();
        for file in &files {
            if let Some(read) = self.documents.look(file, now, read_document) {
                documents.insert(file.clone(), read.clone());
            }
        }
        self.documents.retain(&files);
        // One that is gone for good has been looked at a last time.
        let present: BTreeSet<&PathBuf> = self.documents.present().collect();
        let broken_link = |file: &PathBuf| fs::symlink_metadata(file).is_ok();
        documents.retain(|file, _| present.contains(file) || broken_link(file));
        Ok(documents)
    }

    fn judge(&mut self, documents: BTreeMap<PathBuf, Documents>, now: Instant) -> Wanted {
        let mut problems = Vec::new();
        let mut by_name: BTreeMap<String, Vec<(PluginDocument, Arc<str>)>> = BTreeMap::new();
        for (file, Documents { text, plugins }) in documents {
            match plugins {
                Ok(plugins) => plugins.into_iter().for_each(|plugin| {
                    let same = by_name.entry(plugin.name.clone()).or_default();
                    same.push((plugin, text.clone()));
                }),
                Err(text) => problems.push(Problem {
                    origins: vec![Origin::File(file)],
                    plugin: None,
                    document: None,
                    text,
                }),
            }
        }
        let (mut plugins, mut coming) = (Vec::new(), Vec::new());
        let mut components = BTreeSet::new();
        for (name, mut same) in by_name {
            if same.len() > 1 {
                problems.push(declared_twice(&name, &same));
                continue;
            }
            let Some((document, text)) = same.pop() else {
                continue;
            };
            let Some(file) = document.source.file() else {
                plugins.push(Candidate::listed(document, text, Component::Remote));
                continue;
            };
            components.insert(file.to_owned());
            let component = self.components.look(file, now, component_digest);
            match component.cloned() {
                Some(Ok(digest)) => {
                    plugins.push(Candidate::listed(document, text, Component::Known(digest)));
                }
                Some(Err(why)) => {
                    let component = Component::Unreadable(blame(&document, &why));
                    plugins.push(Candidate::listed(document, text, component));
                }
                None => coming.push(name),
            }
        }
        // A broken document names no component. It will when it is fixed.
        if problems.is_empty() {
            self.components.retain(&components);
        }
        let mut wanted = Wanted {
            plugins,
            problems,
            coming,
            objects_unknown: false,
        };
        wanted.refuse_shared_finalizers();
        wanted
    }
}

fn declared_twice(name: &str, same: &[(PluginDocument, Arc<str>)]) -> Problem {
    let origins: Vec<Origin> = same
        .iter()
        .map(|(plugin, _)| plugin.origin.clone())
        .collect();
    let places = origins.iter().map(ToString::to_string);
    let places = places.collect::<Vec<_>>().join(", ");
    Problem {
        plugin: Some(name.to_owned()),
        document: None,
        origins,
        text: format!(
            "plugin {name} is declared more than once ({places}): none of them is taken; rename or remove all but one"
        ),
    }
}

fn yaml_files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A mounted ConfigMap has hidden folders beside its files.
        let hidden = path
            .file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        // A link that leads nowhere is an error, not nothing.
        if yaml && !hidden && !path.is_dir() {
            files.insert(path);
        }
    }
    Ok(files)
}

fn read_document(file: &Path) -> Documents {
    let read = || -> io::Result<String> {
        let metadata = fs::metadata(file)?;
        super::text::is_file(&metadata)?;
        let size = metadata.len();
        if size > LARGEST_DOCUMENT {
            let problem = format!("it has {size} bytes; at most 1 MiB are taken");
            return Err(io::Error::other(problem));
        }
        let mut text = String::new();
        fs::File::open(file)?
            .take(LARGEST_DOCUMENT)
            .read_to_string(&mut text)?;
        Ok(text)
    };
    match read() {
        Ok(text) => Documents {
            plugins: manifest::parse(&Origin::File(file.to_owned()), &text)
                .map_err(|error| error.to_string()),
            text: text.into(),
        },
        Err(error) => Documents {
            text: "".into(),
            plugins: Err(format!("{}: cannot be read: {error}", file.display())),
        },
    }
}

fn component_digest(file: &Path) -> Result<Digest, String> {
    read_file(file).map(|bytes| digest(&bytes))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests;
