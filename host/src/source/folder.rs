//! What a config folder holds: its documents, read and judged together.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::Instant;

use super::component::read_file;
use super::files::FileCache;
use crate::digest::{Digest, digest};
use crate::manifest::{self, PluginDocument};
use crate::seams::Notice;

/// A larger document is refused unread.
const LARGEST_DOCUMENT: u64 = 1 << 20;

/// A plugin as somebody wants it: its document, and the component that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The document.
    pub document: PluginDocument,
    /// The text of the file that holds the document, and perhaps others.
    pub text: Arc<str>,
    /// The digest of the component, or why there is none.
    pub component: Result<Digest, String>,
    /// The component itself, where it lies in no file.
    in_memory: Option<Arc<[u8]>>,
}

impl Candidate {
    /// A plugin whose component is at hand, whatever file its document names.
    pub fn new(document: PluginDocument, text: Arc<str>, component: Arc<[u8]>) -> Self {
        Self {
            component: Ok(digest(&component)),
            in_memory: Some(component),
            document,
            text,
        }
    }

    /// A plugin whose component lies where its document says.
    pub(crate) fn of_files(
        document: PluginDocument,
        text: Arc<str>,
        component: Result<Digest, String>,
    ) -> Self {
        Self {
            document,
            text,
            component,
            in_memory: None,
        }
    }

    /// Reads the component.
    ///
    /// # Errors
    /// Why it cannot be read, naming document and file.
    pub fn read_component(&self) -> Result<Cow<'_, [u8]>, String> {
        match &self.in_memory {
            Some(component) => Ok(Cow::Borrowed(component)),
            None => read_component(&self.document).map(Cow::Owned),
        }
    }
}

/// What is wrong with a file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The files that are wrong, together or alone.
    pub files: Vec<PathBuf>,
    /// The plugin, where its name is known.
    pub plugin: Option<String>,
    text: String,
}

/// A sentence that names the file, and says what to do.
impl fmt::Display for FileProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// What a config folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folder {
    /// The plugins that can be started, by name.
    pub plugins: Vec<Candidate>,
    /// What is wrong with the others.
    pub problems: Vec<FileProblem>,
    /// Plugins whose components are being written, and were not there before.
    pub coming: Vec<String>,
}

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
pub fn read_folder(folder: &Path, now: Instant) -> io::Result<Folder> {
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
    pub(super) fn first_look(&mut self, now: Instant) -> io::Result<Folder> {
        self.documents.trust(yaml_files(&self.folder)?.into_iter());
        let documents = self.read_documents(now)?;
        let plugins = documents.values().filter_map(|it| it.plugins.as_ref().ok());
        let named = plugins.flatten().map(|plugin| plugin.component.clone());
        self.components.trust(named);
        Ok(self.judge(documents, now))
    }

    /// What the folder holds now.
    pub(super) fn look(&mut self, now: Instant) -> io::Result<Folder> {
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

    fn judge(&mut self, documents: BTreeMap<PathBuf, Documents>, now: Instant) -> Folder {
        let mut problems = Vec::new();
        let mut by_name: BTreeMap<String, Vec<(PluginDocument, Arc<str>)>> = BTreeMap::new();
        for (file, Documents { text, plugins }) in documents {
            match plugins {
                Ok(plugins) => plugins.into_iter().for_each(|plugin| {
                    let same = by_name.entry(plugin.name.clone()).or_default();
                    same.push((plugin, text.clone()));
                }),
                Err(text) => problems.push(FileProblem {
                    files: vec![file],
                    plugin: None,
                    text,
                }),
            }
        }
        let shared = shared_finalizers(&by_name);
        let (mut plugins, mut coming) = (Vec::new(), Vec::new());
        let mut components = BTreeSet::new();
        for (name, mut same) in by_name {
            if same.len() > 1 {
                problems.push(declared_twice(&name, &same));
                continue;
            }
            if let Some(problem) = shared.get(&name) {
                problems.push(problem.clone());
                continue;
            }
            let Some((document, text)) = same.pop() else {
                continue;
            };
            components.insert(document.component.clone());
            let component = self
                .components
                .look(&document.component, now, component_digest);
            match component.cloned() {
                Some(component) => {
                    let component = component.map_err(|why| blame(&document, &why));
                    plugins.push(Candidate::of_files(document, text, component));
                }
                None => coming.push(name),
            }
        }
        // A broken document names no component. It will when it is fixed.
        if problems.is_empty() {
            self.components.retain(&components);
        }
        Folder {
            plugins,
            problems,
            coming,
        }
    }
}

/// The plugins that name the same finalizer as another, each with what is wrong: each would take off what the other waits
/// for.
fn shared_finalizers(
    by_name: &BTreeMap<String, Vec<(PluginDocument, Arc<str>)>>,
) -> BTreeMap<String, FileProblem> {
    let mut users: BTreeMap<&str, Vec<(&String, &PluginDocument)>> = BTreeMap::new();
    for (name, same) in by_name {
        if let [(document, _)] = &same[..]
            && let Some(finalizer) = &document.finalizer
        {
            users.entry(finalizer).or_default().push((name, document));
        }
    }
    let shared = users.into_iter().filter(|(_, users)| users.len() > 1);
    let problems = shared.flat_map(|(finalizer, users)| {
        let names = users.iter().map(|(name, _)| name.as_str());
        let text = format!(
            "spec.finalizer: the plugins {} name {finalizer}: none of them is taken, since each would remove it for the others; let one of them name it",
            names.collect::<Vec<_>>().join(" and ")
        );
        users.into_iter().map(move |(name, document)| {
            let problem = FileProblem {
                plugin: Some(name.clone()),
                files: vec![document.file.clone()],
                text: format!("{}: {text}", document.file.display()),
            };
            (name.clone(), problem)
        })
    });
    problems.collect()
}

fn declared_twice(name: &str, same: &[(PluginDocument, Arc<str>)]) -> FileProblem {
    let files: Vec<PathBuf> = same.iter().map(|(plugin, _)| plugin.file.clone()).collect();
    let places = files.iter().map(|file| file.display().to_string());
    let places = places.collect::<Vec<_>>().join(", ");
    FileProblem {
        plugin: Some(name.to_owned()),
        files,
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
            plugins: manifest::parse(file, &text).map_err(|error| error.to_string()),
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

/// Reads the component of `plugin`.
///
/// # Errors
/// Why it cannot be read, naming document and file.
pub fn read_component(plugin: &PluginDocument) -> Result<Vec<u8>, String> {
    read_file(&plugin.component).map_err(|why| blame(plugin, &why))
}

fn blame(plugin: &PluginDocument, why: &str) -> String {
    let (document, file) = (plugin.file.display(), plugin.component.display());
    format!("{document}: spec.source.file: {file}: {why}")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests;
