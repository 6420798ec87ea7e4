//! Notices of changed files, from the operating system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Spawn;

/// What is noticed about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Somebody writes to it.
    Growing,
    /// Its writer has finished, or it was moved, linked or removed.
    Whole,
    /// Its owner, mode or times have changed: perhaps in the middle of a copy.
    Touched,
}

/// Notices about the files in some folders, not in the folders below them.
pub struct Notices {
    watcher: RecommendedWatcher,
    folders: BTreeSet<PathBuf>,
    events: UnboundedReceiver<(PathBuf, Notice)>,
}

impl Notices {
    /// The next notice.
    pub async fn next(&mut self) -> (PathBuf, Notice) {
        match self.events.recv().await {
            Some(notice) => notice,
            // The watcher lives as long as this.
            None => std::future::pending().await,
        }
    }

    /// A notice that is there already.
    pub fn waiting(&mut self) -> Option<(PathBuf, Notice)> {
        self.events.try_recv().ok()
    }

    /// Watches these folders and no others. A folder that was removed and made again is watched
    /// again; one that cannot be watched is left out.
    pub fn watch(&mut self, folders: &BTreeSet<PathBuf>) {
        for gone in self.folders.difference(folders) {
            let _ = self.watcher.unwatch(gone);
        }
        self.folders.retain(|folder| folders.contains(folder));
        for folder in folders {
            if !self.folders.contains(folder)
                && self
                    .watcher
                    .watch(folder, RecursiveMode::NonRecursive)
                    .is_ok()
            {
                self.folders.insert(folder.clone());
            }
        }
    }

    /// Forgets that `folder` is watched: it was removed, and its watch with it.
    pub fn lost(&mut self, folder: &Path) {
        if self.folders.remove(folder) {
            let _ = self.watcher.unwatch(folder);
        }
    }
}

impl Spawn {
    /// Notices of changed files. A simulation has none.
    ///
    /// # Errors
    /// The operating system refused: too many watches, mostly.
    pub fn notices(&self) -> std::io::Result<Option<Notices>> {
        if !self.has_threads() {
            return Ok(None);
        }
        let (sender, events) = unbounded_channel();
        let heard = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if let Some(notice) = notice(event.kind) {
                for path in event.paths {
                    let _ = sender.send((path, notice));
                }
            }
        };
        let watcher = notify::recommended_watcher(heard).map_err(std::io::Error::other)?;
        Ok(Some(Notices {
            watcher,
            folders: BTreeSet::new(),
            events,
        }))
    }
}

fn notice(kind: EventKind) -> Option<Notice> {
    match kind {
        EventKind::Create(CreateKind::File)
        | EventKind::Modify(ModifyKind::Data(DataChange::Any)) => Some(Notice::Growing),
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Notice::Touched),
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Any
        | EventKind::Other => Some(Notice::Whole),
        EventKind::Access(_) => None,
    }
}
