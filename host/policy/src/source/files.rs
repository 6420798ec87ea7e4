//! Which content of a file counts: the last one that was whole.
//!
//! - A writer that closes its file, or moves it into place, says that it is whole.
//! - A file that changes without a word (a missed notice, a network file system) counts as whole when
//!   it has stood still for a while.
//! - A file that leads elsewhere than before (the links of a mounted ConfigMap) was whole before it
//!   was linked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use windlass_base::seams::Notice;

/// How long a file stands still before it counts as whole, if nobody says that it is.
pub(super) const STILL: Duration = Duration::from_secs(2);

/// Finished files that nobody has asked for yet, at most.
const REMEMBERED: usize = 10_000;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Where the name leads.
    target: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata: Metadata = fs::metadata(path)?;
        Ok(Self {
            target: fs::canonicalize(path)?,
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// The state of a file: there with a stamp, or why not.
type FileState = Result<Stamp, io::ErrorKind>;

/// What is known of some files, each with a `T` made from its content.
pub(super) struct FileCache<T> {
    taken: BTreeMap<PathBuf, (FileState, T)>,
    /// Files that have changed, and since when they stand still.
    moving: BTreeMap<PathBuf, (FileState, Instant)>,
    /// Files that their writers have finished since they were looked at.
    whole: BTreeSet<PathBuf>,
}

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        Self {
            taken: BTreeMap::new(),
            moving: BTreeMap::new(),
            whole: BTreeSet::new(),
        }
    }
}

impl<T> FileCache<T> {
    /// Somebody noticed something about a file.
    pub(super) fn notice(&mut self, path: &Path, notice: Notice) {
        match notice {
            // Also of a file that no document names yet.
            Notice::Whole if self.whole.len() < REMEMBERED => self.whole.insert(path.to_owned()),
            Notice::Whole => false,
            Notice::Growing => self.whole.remove(path),
            Notice::Touched => false,
        };
    }

    /// What is known of `path` now; `read` is asked if it has changed and is whole. `None`: it has
    /// not been whole yet.
    pub(super) fn look(
        &mut self,
        path: &Path,
        now: Instant,
        read: impl Fn(&Path) -> T,
    ) -> Option<&T> {
        let state = Stamp::of(path).map_err(|error| error.kind());
        let known = self.taken.get(path).map(|(known, _)| known);
        if known != Some(&state) {
            let is_whole = self.is_whole(path, known, &state, now);
            // Judged again after it was read: a file may grow while it is.
            let read = is_whole.then(|| read(path));
            let after = Stamp::of(path).map_err(|error| error.kind());
            if let Some(read) = read
                && after == state
            {
                self.moving.remove(path);
                self.taken.insert(path.to_owned(), (state, read));
            } else {
                let since = self.moving.get(path).filter(|(held, _)| *held == after);
                let since = since.map_or(now, |(_, since)| *since);
                self.moving.insert(path.to_owned(), (after, since));
            }
        } else {
            self.moving.remove(path);
        }
        self.whole.remove(path);
        if let Ok(stamp) = &self.taken.get(path)?.0 {
            self.whole.remove(&stamp.target);
        }
        self.taken.get(path).map(|(_, content)| content)
    }

    /// The files that were there when they were looked at.
    pub(super) fn present(&self) -> impl Iterator<Item = &PathBuf> {
        let present = |entry: &(&PathBuf, &(FileState, T))| entry.1.0.is_ok();
        self.taken.iter().filter(present).map(|(path, _)| path)
    }

    /// Where the files really lie.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Path> {
        let stamps = self
            .taken
            .values()
            .filter_map(|(state, _)| state.as_ref().ok());
        stamps.map(|stamp| stamp.target.as_path())
    }

    fn is_whole(
        &self,
        path: &Path,
        known: Option<&FileState>,
        state: &FileState,
        now: Instant,
    ) -> bool {
        let target = |state: &FileState| state.as_ref().ok().map(|stamp| stamp.target.clone());
        let known = known.and_then(target);
        let still = self
            .moving
            .get(path)
            .is_some_and(|(held, since)| held == state && now >= *since + STILL);
        let Ok(stamp) = state else {
            // Editors and `mv` take a file away for a moment; what was never there is not missed.
            return known.is_none() || still;
        };
        let said = self.whole.contains(path) || self.whole.contains(&stamp.target);
        let linked = match known {
            Some(known) => known != stamp.target,
            None => fs::symlink_metadata(path).is_ok_and(|entry| entry.is_symlink()),
        };
        said || linked || still
    }

    /// Forgets all files but `paths`.
    pub(super) fn retain(&mut self, paths: &BTreeSet<PathBuf>) {
        self.taken.retain(|path, _| paths.contains(path));
        self.moving.retain(|path, _| paths.contains(path));
    }

    /// When the next file will have stood still for long enough.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        // What is overdue was not looked at since: no document names it now.
        let due = self.moving.values().map(|(_, since)| *since + STILL);
        due.filter(|due| *due > now).min()
    }

    /// Takes every file as it is from now on, moving or not: at the start nobody has noticed anything.
    pub(super) fn trust(&mut self, paths: impl Iterator<Item = PathBuf>) {
        self.whole.extend(paths);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|_| "absent".into())
    }

    #[test]
    fn a_file_counts_when_its_writer_has_finished_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        let now = Instant::now();
        let mut files = FileCache::default();
        fs::write(&path, "half").unwrap();
        assert_eq!(
            files.look(&path, now, text),
            None,
            "nobody says that it is whole"
        );
        files.notice(&path, Notice::Whole);
        assert_eq!(files.look(&path, now, text), Some(&"half".into()));
        fs::write(&path, "more of it").unwrap();
        files.notice(&path, Notice::Growing);
        assert_eq!(
            files.look(&path, now, text),
            Some(&"half".into()),
            "what was whole stands"
        );
        files.notice(&path, Notice::Whole);
        assert_eq!(files.look(&path, now, text), Some(&"more of it".into()));
    }

    #[test]
    fn a_file_that_nobody_speaks_of_counts_when_it_stands_still() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        let start = Instant::now();
        let mut files = FileCache::default();
        fs::write(&path, "half").unwrap();
        assert_eq!(files.look(&path, start, text), None);
        assert_eq!(files.next(start), Some(start + STILL));
        assert_eq!(files.next(start + STILL), None);
        fs::write(&path, "whole").unwrap();
        assert_eq!(
            files.look(&path, start + STILL, text),
            None,
            "it has moved since"
        );
        let later = start + STILL * 2;
        assert_eq!(files.look(&path, later, text), Some(&"whole".into()));
        assert_eq!(files.next(start), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(
            files.look(&path, later, text),
            Some(&"whole".into()),
            "perhaps for a moment"
        );
        assert_eq!(
            files.look(&path, later + STILL, text),
            Some(&"absent".into())
        );
    }

    #[test]
    fn a_link_that_leads_elsewhere_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for (target, content) in [(&one, "old"), (&two, "new")] {
            fs::create_dir(target).unwrap();
            fs::write(target.join("a.yaml"), content).unwrap();
        }
        let data = folder.path().join("..data");
        std::os::unix::fs::symlink("one", &data).unwrap();
        let path = folder.path().join("a.yaml");
        std::os::unix::fs::symlink("..data/a.yaml", &path).unwrap();
        let now = Instant::now();
        let mut files = FileCache::default();
        assert_eq!(files.look(&path, now, text), Some(&"old".into()));
        let draft = folder.path().join("..data_tmp");
        std::os::unix::fs::symlink("two", &draft).unwrap();
        fs::rename(&draft, &data).unwrap();
        assert_eq!(files.look(&path, now, text), Some(&"new".into()));
    }
}
