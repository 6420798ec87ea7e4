//! What a target is made from: the files that are watched, by their content.
//!
//! - The patterns of `spec.build.watch` name them; what .gitignore names, and what is made, is never among
//!   them. A file that was touched and is the same is not a change: a build that writes its own sources comes
//!   to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use windlass_base::digest::{Digest, digest};
use windlass_base::seams::{Clock, Notices};
use windlass_policy::source::{NOT_A_FILE, is_file};

/// How long notices are gathered: an editor makes several of one save.
const GATHER: Duration = Duration::from_millis(50);
/// How often files are looked at without a notice.
const LOOK: Duration = Duration::from_secs(2);
/// A larger file is watched by its size and time alone.
const LARGEST: u64 = 64 << 20;

/// What belongs to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// The folder.
    folder: PathBuf,
    /// The files that the component is made from, as patterns of .gitignore's kind.
    patterns: Vec<String>,
    /// Files that are not: the component, and what is made by every build.
    except: BTreeSet<PathBuf>,
    /// A file that is watched wherever it is, and whatever .gitignore says.
    component: Option<PathBuf>,
}

/// What the files hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// What the component is made from.
    pub(crate) sources: BTreeMap<PathBuf, Digest>,
    /// Documents and objects: the YAML files of the folder itself.
    pub(crate) documents: BTreeMap<PathBuf, Digest>,
    /// The folders that hold any of them, or could.
    pub(crate) folders: BTreeSet<PathBuf>,
}

impl Inputs {
    /// Of a project in `folder`, whose component is at `output`.
    pub(crate) fn new(folder: &Path, patterns: &[String], output: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            patterns: patterns.to_vec(),
            except: [output.to_owned()].into(),
            component: None,
        }
    }

    /// Of a component in `folder` that is made elsewhere: the file itself.
    pub(crate) fn of_component(folder: &Path, file: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            patterns: Vec::new(),
            except: BTreeSet::new(),
            component: Some(file.to_owned()),
        }
    }

    /// Does not look at `file` any more.
    pub(crate) fn leave_out(&mut self, file: &Path) {
        self.except.insert(file.to_owned());
    }

    /// Reads them all.
    ///
    /// # Errors
    /// A pattern is none, or the folder cannot be read.
    pub(crate) fn look(&self) -> io::Result<Held> {
        let matcher = self.matcher().map_err(io::Error::other)?;
        let mut held = Held::default();
        if let Some(component) = &self.component {
            held.folders.extend(component.parent().map(Path::to_owned));
            if let Ok(digest) = content(component) {
                held.sources.insert(component.clone(), digest);
            }
        }
        let mut walk = WalkBuilder::new(&self.folder);
        // The rules of .gitignore hold though the project is in no repository yet.
        walk.require_git(false).follow_links(false);
        if self.patterns.is_empty() {
            // Whatever else lies there is none of ours: it may be somebody's home.
            walk.max_depth(Some(1));
        }
        for entry in walk.build() {
            // What has gone meanwhile was none.
            let Ok(entry) = entry else { continue };
            let Some(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.into_path();
            if !kind.is_dir() {
                self.look_at(path, &matcher, &mut held);
            } else if path == self.folder || !self.patterns.is_empty() {
                held.folders.insert(path);
            }
        }
        if held.folders.is_empty() {
            return Err(io::Error::other("the folder is gone"));
        }
        Ok(held)
    }

    /// Reads a file, if it belongs to the target.
    fn look_at(&self, path: PathBuf, matcher: &Gitignore, held: &mut Held) {
        if self.except.contains(&path) {
            return;
        }
        let relative = path.strip_prefix(&self.folder).unwrap_or(&path);
        let is_document = relative.components().count() == 1
            && relative
                .extension()
                .is_some_and(|end| end == "yaml" || end == "yml");
        let is_source = matcher
            .matched_path_or_any_parents(relative, false)
            .is_ignore();
        if !is_document && !is_source {
            return;
        }
        let digest = match content(&path) {
            Ok(digest) => digest,
            // Who reads it is told so.
            Err(error) if is_document && error.kind() == io::ErrorKind::InvalidInput => {
                digest(NOT_A_FILE.as_bytes())
            }
            Err(_) => return,
        };
        if is_source {
            held.sources.insert(path.clone(), digest);
        }
        if is_document {
            held.documents.insert(path, digest);
        }
    }

    fn matcher(&self) -> Result<Gitignore, ignore::Error> {
        let mut builder = GitignoreBuilder::new("");
        for pattern in &self.patterns {
            builder.add_line(None, pattern)?;
        }
        builder.build()
    }
}

fn content(path: &Path) -> io::Result<Digest> {
    let about = fs::metadata(path)?;
    is_file(&about)?;
    if about.len() > LARGEST {
        let text = format!("{} {:?}", about.len(), about.modified()?);
        return Ok(digest(text.as_bytes()));
    }
    Ok(digest(&fs::read(path)?))
}

/// Waits until a file may have changed.
pub(crate) async fn saved(clock: Clock, notices: &mut Option<Notices>) {
    let Some(notices) = notices else {
        return clock.sleep(LOOK).await;
    };
    tokio::select! {
        biased;
        _ = notices.next() => {}
        () = clock.sleep(LOOK) => {}
    }
    clock.sleep(GATHER).await;
    while notices.waiting().is_some() {}
}

impl Held {
    /// The files of `one` that are not as they are in `other`, or are in one of them only; by name.
    pub(crate) fn changed(
        one: &BTreeMap<PathBuf, Digest>,
        other: &BTreeMap<PathBuf, Digest>,
    ) -> Vec<PathBuf> {
        let all: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
        let differ = |path: &&&PathBuf| one.get(**path) != other.get(**path);
        all.iter()
            .filter(differ)
            .map(|path| (*path).clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &BTreeMap<PathBuf, Digest>, folder: &Path) -> Vec<String> {
        let relative = files.keys().map(|path| path.strip_prefix(folder).unwrap());
        relative.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_named_is_watched_and_what_is_made_or_ignored_is_not() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        for file in [
            "src/lib.rs",
            "src/deep/ünï code.rs",
            "src/made.rs",
            "src/out.wasm",
            "Cargo.toml",
            "notes.md",
            "target/x.rs",
            ".windlass/sdk/src/lib.rs",
            "plugin.yaml",
            "tests/fixture.yaml",
        ] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        fs::write(folder.join(".gitignore"), "/target\nmade.rs\n").unwrap();
        let patterns = ["src/**", "Cargo.toml"].map(str::to_owned);
        let mut inputs = Inputs::new(folder, &patterns, &folder.join("src/out.wasm"));
        let held = inputs.look().unwrap();
        let want = ["Cargo.toml", "src/deep/ünï code.rs", "src/lib.rs"];
        assert_eq!(names(&held.sources, folder), want);
        assert_eq!(names(&held.documents, folder), ["plugin.yaml"]);
        assert!(!held.folders.contains(&folder.join("target")));
        inputs.leave_out(&folder.join("src/lib.rs"));
        assert_eq!(names(&inputs.look().unwrap().sources, folder), want[..2]);
    }

    #[test]
    fn of_a_component_alone_its_own_folder_is_watched_and_none_below() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(home.path().join("x.wasm"), "1").unwrap();
        fs::write(deep.join("plugin.yaml"), "2").unwrap();
        let inputs = Inputs::of_component(home.path(), &home.path().join("x.wasm"));
        let held = inputs.look().unwrap();
        assert_eq!(names(&held.sources, home.path()), ["x.wasm"]);
        assert_eq!(held.folders, [home.path().to_owned()].into());
        assert!(held.documents.is_empty());
    }

    #[test]
    fn a_named_pipe_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        for file in ["objects.yaml", "lib.rs"] {
            let path = home.path().join(file);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                0,
            )
            .unwrap();
        }
        let inputs = Inputs::new(home.path(), &["*.rs".to_owned()], Path::new("out"));
        let held = inputs.look().unwrap();
        assert_eq!(names(&held.documents, home.path()), ["objects.yaml"]);
        assert!(held.sources.is_empty());
        let error =
            windlass_policy::source::text_of(&home.path().join("objects.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "it is not a file");
    }

    #[test]
    fn a_touched_file_is_no_change() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.rs");
        let inputs = Inputs::new(home.path(), &["*.rs".to_owned()], Path::new("out"));
        let look = |text: &str| {
            fs::write(&file, text).unwrap();
            inputs.look().unwrap().sources
        };
        let (first, same, other) = (look("1"), look("1"), look("2"));
        assert_eq!(Held::changed(&first, &same), Vec::<PathBuf>::new());
        let changed = vec![file];
        assert_eq!(Held::changed(&first, &other), changed);
        assert_eq!(Held::changed(&first, &BTreeMap::new()), changed);
    }
}
