//! What the host remembers of crashes: its own and those of other hosts, and who was at work in them.
//!
//! ```text
//! DIR/crashes/in-flight      which components are at work now; "running" or "clean"
//!             history.json   the last crashes, and the components that killed the compiler
//! ```
//! - A process that finds "running" follows one that crashed: what was at work there is suspect.
//! - Hosts tell each other by an annotation on each plugin's Lease.
//! - Without a folder a host remembers only what others publish, and only for as long as it lives.

mod in_flight;
mod killed;
mod published;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use windlass_code_cache::private_folder;

pub use in_flight::{Activity, AtWork, During, InFlight};
pub use killed::{Blame, Killed};
pub use published::ANNOTATION;
pub use verdict::{PROBATION, Sentence, WINDOW};

use killed::Kills;
use verdict::judge;
use windlass_base::digest::Digest;
use windlass_base::seams::{Clock, Seams, Task, watch};

/// So many crashes are remembered.
const MOST: usize = 64;

/// The clocks of two hosts differ by less.
const SKEW: SignedDuration = SignedDuration::from_mins(10);

/// How long a slot stands for a component that is not at work any more, and not twice as long.
const LOOK: Duration = Duration::from_millis(100);

/// A crash of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Which process it was: no two have the same.
    pub run: String,
    /// When it was known to live last.
    pub at: Timestamp,
    /// The components that were at work.
    pub suspects: BTreeSet<Digest>,
}

/// What a host remembers. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Crashes(Arc<CrashesInner>);

#[derive(Debug, Default)]
struct CrashesInner {
    file: Option<PathBuf>,
    /// Whether others are told, and listened to.
    shares: bool,
    in_flight: InFlight,
    kept: Mutex<CrashState>,
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct CrashState {
    /// The oldest first.
    crashes: Vec<Crash>,
    kills: Kills,
    sentences: BTreeMap<Digest, Sentence>,
}

/// A process that lives.
pub struct Alive {
    in_flight: InFlight,
    clock: Clock,
    _task: Task,
}

impl Drop for Alive {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.in_flight.close(self.clock.wall());
        }
    }
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CrashFile {
    crashes: Vec<CrashEntry>,
    compiler_kills: Kills,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CrashEntry {
    run: String,
    at: String,
    suspects: Vec<String>,
}

impl Crashes {
    /// What a host that shares it with others remembers in `state_dir`, if it has such a folder. `in_flight` records
    /// there from now on. If the process before this one crashed, that is remembered and logged.
    ///
    /// # Errors
    /// The folder cannot be used, or another host uses it.
    pub fn open(
        state_dir: Option<&Path>,
        in_flight: &InFlight,
        seams: &Seams,
    ) -> anyhow::Result<Self> {
        let Some(state_dir) = state_dir else {
            return Ok(Self::in_memory());
        };
        let folder = state_dir.join("crashes");
        private_folder(&folder)?;
        let file = folder.join("history.json");
        let mut kept = CrashState::read(&file);
        let now = seams.clock.wall();
        let run = format!("{:016x}", seams.rng.number());
        let keep = |crash: Crash| {
            log_crash(&crash);
            kept.add(crash);
            // A full disk must not keep the host from starting.
            if let Err(error) = kept.write(&file) {
                cannot_keep(&error);
            }
        };
        in_flight.record(&folder.join("in-flight"), &run, now, keep)?;
        Ok(Self(Arc::new(CrashesInner {
            file: Some(file),
            shares: true,
            in_flight: in_flight.clone(),
            kept: Mutex::new(kept),
            news: watch::Sender::new(()),
        })))
    }

    /// What a host remembers that shares it with others and has no folder.
    pub fn in_memory() -> Self {
        Self(Arc::new(CrashesInner {
            shares: true,
            ..CrashesInner::default()
        }))
    }

    /// Keeps the file true, and notes that the process lives. When the answer is dropped, the process has ended, and that is
    /// no crash unless it panics.
    pub fn keep_alive(&self, seams: &Seams) -> Alive {
        let (in_flight, clock) = (self.0.in_flight.clone(), seams.clock);
        let looks = in_flight.clone();
        let task = seams.spawn.task(async move {
            loop {
                looks.begun().await;
                clock.sleep(LOOK).await;
                while looks.look(clock.wall()) {
                    clock.sleep(LOOK).await;
                }
            }
        });
        Alive {
            in_flight,
            clock,
            _task: task,
        }
    }

    /// Whether other hosts are told, and listened to.
    pub fn are_shared(&self) -> bool {
        self.0.shares
    }

    /// Notices that something else is quarantined than before.
    pub fn news(&self) -> watch::Receiver<()> {
        self.0.news.subscribe()
    }

    /// Why `digest` may not run `now`, if it may not.
    pub fn quarantine(&self, digest: &Digest, now: Timestamp) -> Option<Sentence> {
        let kept = self.0.kept.lock();
        let sentence = kept.sentences.get(digest);
        sentence.copied().filter(|sentence| sentence.holds(now))
    }

    /// What other hosts are to know of `digests`, in an annotation that says `published` so far; none if there is
    /// nothing to say, or nothing new.
    pub fn publish(&self, digests: &BTreeSet<Digest>, published: &str) -> Option<String> {
        let kept = self.0.kept.lock();
        published::text(&kept.crashes, digests, published)
    }

    /// Takes in what another host has published.
    pub fn listen(&self, published: &str, now: Timestamp) {
        let latest = now.saturating_add(SKEW).unwrap_or(Timestamp::MAX);
        let mut crashes = published::read(published);
        crashes.retain(|crash| crash.at <= latest);
        let mut kept = self.0.kept.lock();
        let mut news = false;
        for crash in crashes {
            news |= kept.add(crash);
        }
        if news {
            self.save(&kept);
            drop(kept);
            self.0.news.send_replace(());
        }
    }

    /// The component `digest` has killed the compiler `now`, in this way. `with` names the host, the compiler and the
    /// memory: what is known holds for those.
    pub fn killed_the_compiler(
        &self,
        with: &str,
        digest: Digest,
        kill: (&str, Blame),
        now: Timestamp,
    ) {
        let mut kept = self.0.kept.lock();
        kept.kills.add(with, digest, kill, now);
        self.save(&kept);
    }

    /// What is remembered of a component that is not to be compiled `now`.
    pub fn has_killed_the_compiler(
        &self,
        with: &str,
        digest: &Digest,
        now: Timestamp,
    ) -> Option<Killed> {
        self.0.kept.lock().kills.refused(with, digest, now)
    }

    fn save(&self, kept: &CrashState) {
        if let Some(file) = &self.0.file
            && let Err(error) = kept.write(file)
        {
            cannot_keep(&error);
        }
    }
}

fn cannot_keep(error: &std::io::Error) {
    tracing::warn!(
        "cannot keep in the state folder who is to blame for crashes: {error}; after a restart it is not known"
    );
}

impl CrashState {
    /// A damaged file is as none: the culprit will show it again.
    fn read(file: &Path) -> Self {
        let text = fs::read(file).unwrap_or_default();
        let history: CrashFile = serde_json::from_slice(&text).unwrap_or_default();
        let mut kept = Self {
            kills: history.compiler_kills,
            ..Self::default()
        };
        for entry in history.crashes {
            let digests = entry.suspects.iter();
            let suspects = digests.filter_map(|hex| Digest::of_hex(hex)).collect();
            if let Ok(at) = entry.at.parse() {
                let run = entry.run;
                kept.add(Crash { run, at, suspects });
            }
        }
        kept
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let entry = |crash: &Crash| CrashEntry {
            run: crash.run.clone(),
            at: crash.at.to_string(),
            suspects: crash.suspects.iter().map(Digest::hex).collect(),
        };
        let history = CrashFile {
            crashes: self.crashes.iter().map(entry).collect(),
            compiler_kills: self.kills.clone(),
        };
        let text = serde_json::to_vec_pretty(&history)?;
        let draft = file.with_extension("draft");
        fs::write(&draft, text)?;
        fs::File::open(&draft)?.sync_all()?;
        fs::rename(&draft, file)
    }

    /// Remembers a crash, or more suspects of a known one; answers whether that is new.
    fn add(&mut self, crash: Crash) -> bool {
        let mut known = self.crashes.iter_mut();
        match known.find(|known| known.run == crash.run) {
            Some(known) if crash.suspects.is_subset(&known.suspects) => return false,
            Some(known) => known.suspects.extend(crash.suspects),
            None => self.crashes.push(crash),
        }
        self.crashes
            .sort_by(|a, b| (a.at, &a.run).cmp(&(b.at, &b.run)));
        let over = self.crashes.len().saturating_sub(MOST);
        self.crashes.drain(..over);
        self.sentences = judge(&self.crashes);
        true
    }
}

fn log_crash(crash: &Crash) {
    let suspects: Vec<String> = crash.suspects.iter().map(ToString::to_string).collect();
    let at = format!("{:.0}", crash.at);
    if suspects.is_empty() {
        tracing::error!(
            at,
            "the host before this one crashed; no plugin was at work"
        )
    } else {
        let suspects = suspects.join(", ");
        tracing::error!(
            at,
            suspects,
            "the host before this one crashed; one of the components that were at work may be to blame"
        );
    }
}

#[cfg(test)]
mod tests;
