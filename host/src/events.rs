//! Kubernetes Events (`events.k8s.io/v1`), recorded off the hot path.
//!
//! - Publishing never waits: what exceeds the queue is dropped and counted.
//! - Repetitions become one series: the first is created, the second and every doubling after it
//!   update the count. The key of a series leaves the note out, as client-go's does.

mod writer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::api::Api;
use crate::seams::{Clock, Seams, Task};
use crate::view::Key;
use writer::Writer;

/// Events that wait to be sent.
const WAITING: usize = 1000;

/// Events that a plugin may publish at once, and each second after that: one plugin's flood does not
/// push out the others'.
const BURST: f64 = 100.0;
const REFILL: f64 = 5.0;

/// How long a host that ends waits for its last Events to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Its name. The Events of a cluster-scoped object are in `default`.
    pub key: Key,
    /// Its UID, if it is known.
    pub uid: Option<String>,
}

/// How an Event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Good to know.
    Normal,
    /// Somebody should look.
    Warning,
}

/// One thing worth telling.
#[derive(Clone, Debug)]
pub struct Note {
    /// Which plugin it comes from.
    pub plugin: Arc<str>,
    /// What it is about.
    pub regarding: About,
    /// What else plays a part.
    pub related: Option<About>,
    /// How it is shown.
    pub severity: Severity,
    /// Why, in CamelCase.
    pub reason: String,
    /// What was done, in CamelCase.
    pub action: String,
    /// A sentence.
    pub note: String,
}

/// Where Events go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    letters: mpsc::Sender<Letter>,
    clock: Clock,
    budgets: Arc<Mutex<HashMap<Arc<str>, Budget>>>,
    dropped: Arc<AtomicU64>,
}

/// What the sending task is handed.
#[derive(Debug)]
enum Letter {
    Note(Box<Note>),
    /// Somebody wants to know when all before it is sent.
    Flush(oneshot::Sender<()>),
}

/// How many Events may be published now.
#[derive(Clone, Copy, Debug)]
struct Budget {
    left: f64,
    at: Instant,
    burst: f64,
    refill: f64,
}

impl Budget {
    /// So many at once, and so many each second after that.
    fn full(burst: f64, refill: f64, at: Instant) -> Self {
        Self {
            left: burst,
            at,
            burst,
            refill,
        }
    }

    /// Takes one, if there is one by `now`.
    fn take(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() * self.refill;
        self.left = (self.left + earned).min(self.burst);
        self.at = now;
        let granted = self.left >= 1.0;
        self.left -= if granted { 1.0 } else { 0.0 };
        granted
    }
}

impl Recorder {
    /// Starts the task that sends Events as `instance`.
    pub fn start(api: Api, seams: &Seams, instance: &str) -> (Self, Task) {
        let (letters, mut waiting) = mpsc::channel(WAITING);
        let mut writer = Writer::new(api, seams.clone(), instance);
        let task = seams.spawn.task(async move {
            while let Some(letter) = waiting.recv().await {
                match letter {
                    Letter::Note(note) => writer.write(*note).await,
                    Letter::Flush(done) => drop(done.send(())),
                }
            }
        });
        let (clock, budgets) = (seams.clock, Arc::default());
        (
            Self {
                letters,
                clock,
                budgets,
                dropped: Arc::default(),
            },
            task,
        )
    }

    /// Records an Event, if there is room.
    pub fn publish(&self, note: Note) {
        let now = self.clock.now();
        let granted = {
            let mut budgets = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
            let full = Budget::full(BURST, REFILL, now);
            budgets.entry(note.plugin.clone()).or_insert(full).take(now)
        };
        let plugin = note.plugin.clone();
        let sent = granted && self.letters.try_send(Letter::Note(Box::new(note))).is_ok();
        if !sent
            && self
                .dropped
                .fetch_add(1, Ordering::Relaxed)
                .is_power_of_two()
        {
            let plugin = &*plugin;
            tracing::warn!(
                plugin,
                "more Events than the host sends for one plugin: some are dropped"
            );
        }
    }

    /// Waits until what was published so far is sent, but no longer than a host that ends can wait.
    pub async fn flush(&self) {
        let flushed = async {
            let (done, all_sent) = oneshot::channel();
            if self.letters.send(Letter::Flush(done)).await.is_ok() {
                let _ = all_sent.await;
            }
        };
        self.clock.within(LAST_WORDS, flushed).await;
    }
}

#[cfg(test)]
mod tests;
