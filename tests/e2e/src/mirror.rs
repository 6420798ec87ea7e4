//! Mirrors a config folder to the cluster: a Plugin object for each document, and ConfigMaps with the components.
//!
//! - What a host finds is the folder as it was when the host started. Later changes follow by themselves.
//! - A change counts when two looks in a row see the same files, so half a file is not mirrored.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use tempfile::TempDir;
use windlass_base::digest::digest;

use crate::mirrored::Mirrored;
use crate::server::Server;

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A folder and its objects. The objects stay when it ends.
pub(crate) struct Mirror {
    folder: PathBuf,
    namespace: String,
    label: String,
    empty: TempDir,
    /// Has the thread mirror the folder now, and answer. It ends when nobody can ask any more.
    ask: Mutex<Option<Sender<Sender<Result<()>>>>>,
    thread: Option<JoinHandle<()>>,
}

static MIRRORS: Mutex<Vec<Weak<Mirror>>> = Mutex::new(Vec::new());

impl Mirror {
    /// The mirror of `folder` for hosts in `namespace`, which is up to date now.
    ///
    /// # Errors
    /// The cluster does not take what is in the folder.
    pub(crate) fn of(folder: &Path, namespace: &str) -> Result<Arc<Self>> {
        let known = {
            let mut mirrors = MIRRORS.lock();
            mirrors.retain(|mirror| mirror.strong_count() > 0);
            let known: Vec<_> = mirrors.iter().filter_map(Weak::upgrade).collect();
            known
        };
        let mut known = known.into_iter();
        let known = known.find(|it| it.folder == folder && it.namespace == namespace);
        let mirror = match known {
            Some(mirror) => mirror,
            None => {
                let mirror = Arc::new(Self::start(folder, namespace)?);
                MIRRORS.lock().push(Arc::downgrade(&mirror));
                mirror
            }
        };
        mirror.refresh()?;
        Ok(mirror)
    }

    /// A config folder with nothing in it.
    pub(crate) fn empty(&self) -> &Path {
        self.empty.path()
    }

    /// Selects the objects of this folder.
    pub(crate) fn selector(&self) -> String {
        format!("folder={}", self.label)
    }

    fn start(folder: &Path, namespace: &str) -> Result<Self> {
        let label = digest(folder.as_os_str().as_encoded_bytes()).hex();
        let label = label.get(..16).context("a digest is longer")?.to_owned();
        let (ask, asked) = mpsc::channel();
        let server = Server::current()?;
        let mut mirrored = Mirrored::new(server, folder, namespace, &label);
        let folder = folder.to_owned();
        let path = folder.clone();
        let thread = std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            match runtime.enable_all().build() {
                Ok(runtime) => follow(&path, &asked, || runtime.block_on(mirrored.update())),
                Err(error) => eprintln!("nothing is mirrored: {error}"),
            }
        });
        Ok(Self {
            folder,
            namespace: namespace.to_owned(),
            label,
            empty: tempfile::tempdir()?,
            ask: Mutex::new(Some(ask)),
            thread: Some(thread),
        })
    }

    fn refresh(&self) -> Result<()> {
        let (answer, answered) = mpsc::channel();
        let ask = self.ask.lock().clone();
        ask.context("it has ended")?.send(answer)?;
        answered.recv()?
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.ask.lock().take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Calls `update` when the folder has changed or somebody asks, until nobody can ask any more.
fn follow(
    folder: &Path,
    asked: &Receiver<Sender<Result<()>>>,
    mut update: impl FnMut() -> Result<()>,
) {
    let mut last = None;
    let mut done = None;
    loop {
        match asked.recv_timeout(LOOK) {
            Ok(answer) => {
                last = look(folder);
                let _ = answer.send(update());
                done.clone_from(&last);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let now = look(folder);
                if now.is_some() && now == last && now != done {
                    if let Err(error) = update() {
                        eprintln!("{} is not mirrored: {error:#}", folder.display());
                    }
                    done.clone_from(&now);
                }
                last = now;
            }
        }
    }
}

/// Each file with its size and the time of its last change.
type Files = Vec<(PathBuf, u64, SystemTime)>;

/// The files of a folder that is there.
fn look(folder: &Path) -> Option<Files> {
    let mut files = Files::new();
    for entry in folder.read_dir().ok()? {
        let path = entry.ok()?.path();
        let metadata = path.metadata().ok()?;
        files.push((path, metadata.len(), metadata.modified().ok()?));
    }
    files.sort();
    Some(files)
}
