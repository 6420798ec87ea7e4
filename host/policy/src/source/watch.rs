//! Watches a config folder, and hands out what it holds whenever that has changed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;

use super::folder::FolderReader;
use super::wanted::Wanted;
use windlass_base::seams::{Notices, Seams};
use windlass_base::text::LogOnce;

/// How often the folder is looked at without a notice: a folder that was removed and made again, or
/// lies on another machine, gives none.
const LOOK: Duration = Duration::from_secs(2);

/// How long notices are gathered: one copy of a file makes several, and a document often comes with its component.
const GATHER: Duration = Duration::from_millis(1);

/// A watched config folder.
pub struct FolderWatch(Where);

enum Where {
    Files(Box<Files>),
    /// There is none.
    Nowhere,
    /// Somebody says what it holds: a simulation has no files.
    Hand(mpsc::Receiver<Wanted>),
}

/// A folder in the file system.
struct Files {
    folder: PathBuf,
    reader: Option<FolderReader>,
    notices: Option<Notices>,
    seams: Seams,
    held: Wanted,
    /// What was said last about the folder itself.
    said: LogOnce<String>,
}

impl FolderWatch {
    /// Begins to watch `folder`; answers also what it holds.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn start(folder: &Path, seams: &Seams) -> io::Result<(Self, Wanted)> {
        let mut notices = seams.spawn.notices().unwrap_or_else(|error| {
            tracing::warn!(
                "cannot watch files, and looks at them every {} s instead: {error}; raise fs.inotify.max_user_instances or max_user_watches",
                LOOK.as_secs()
            );
            None
        });
        // Before the first look, so that nothing falls between.
        if let Some(notices) = &mut notices {
            notices.watch(&[folder.to_owned()].into());
        }
        let mut reader = FolderReader::new(folder);
        let held = reader.first_look(seams.clock.now())?;
        let files = Files {
            folder: folder.to_owned(),
            reader: Some(reader),
            notices,
            seams: seams.clone(),
            held: held.clone(),
            said: LogOnce::default(),
        };
        Ok((Self(Where::Files(Box::new(files))), held))
    }

    /// No folder.
    pub fn nothing() -> Self {
        Self(Where::Nowhere)
    }

    /// A folder that holds what `hand` sends.
    pub fn by_hand(hand: mpsc::Receiver<Wanted>) -> Self {
        Self(Where::Hand(hand))
    }

    /// Waits until the folder holds something else, and answers what. A folder that cannot be read
    /// holds what it held last.
    pub async fn next(&mut self) -> Wanted {
        match &mut self.0 {
            Where::Files(files) => files.next().await,
            Where::Nowhere => std::future::pending().await,
            Where::Hand(hand) => match hand.recv().await {
                Some(folder) => folder,
                None => std::future::pending().await,
            },
        }
    }
}

impl Files {
    async fn next(&mut self) -> Wanted {
        loop {
            match self.look().await {
                Ok(folder) => {
                    self.said.clear();
                    if folder != self.held {
                        self.held = folder.clone();
                        return folder;
                    }
                }
                Err(error) => self.complain(&error),
            }
            self.wait().await;
        }
    }

    async fn look(&mut self) -> io::Result<Wanted> {
        let known = self.reader.take();
        let folder = self.folder.clone();
        let now = self.seams.clock.now();
        let look = move || match known {
            Some(mut reader) => {
                let looked = reader.look(now);
                (reader, looked)
            }
            // The last look was lost: everything is as it is.
            None => {
                let mut reader = FolderReader::new(&folder);
                let looked = reader.first_look(now);
                (reader, looked)
            }
        };
        let looked = self.seams.spawn.blocking(look).await;
        let (reader, looked) = looked.map_err(io::Error::other)?;
        if let Some(notices) = &mut self.notices {
            if looked.is_err() {
                notices.lost(&self.folder);
            }
            notices.watch(&reader.folders());
        }
        self.reader = Some(reader);
        looked
    }

    /// Waits for a notice, for a file that will have stood still, or for a while.
    async fn wait(&mut self) {
        let now = self.seams.clock.now();
        let next = self.reader.as_ref().and_then(|reader| reader.next(now));
        let until = next.unwrap_or(now + LOOK).min(now + LOOK);
        let Some(notices) = &mut self.notices else {
            return self.seams.clock.sleep_until(until).await;
        };
        let (path, notice) = tokio::select! {
            biased;
            noticed = notices.next() => noticed,
            () = self.seams.clock.sleep_until(until) => return,
        };
        self.seams.clock.sleep(GATHER).await;
        let Some(reader) = &mut self.reader else {
            return;
        };
        reader.notice(&path, notice);
        while let Some((path, notice)) = notices.waiting() {
            reader.notice(&path, notice);
        }
    }

    fn complain(&mut self, error: &io::Error) {
        let problem = error.to_string();
        if self.said.is_new(problem.clone()) {
            let folder = self.folder.display();
            tracing::error!(
                "cannot read the config folder {folder}: {problem}; the plugins that run are kept until it can be read again"
            );
        }
    }
}
