//! Records of passes: the newest of each plugin, for anyone who wants to know what it did and why.
//!
//! - What is kept is bounded by number and by size; the oldest goes first.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::failing::{Failing, FailureSummary, FailureTracker};
use super::finalizer::Step;
use super::reconcile::{Done, PassError};
use super::wake_reasons::WakeReasons;
use crate::metrics::FailureKind;
use windlass_kube::api::Resource;
use windlass_kube::object::Key;
use windlass_sandbox::CallFailure;
use windlass_view::{Journal, Saw, Wrote};

/// So many passes of one plugin are kept.
const PASSES: usize = 512;
/// So many bytes, as estimated.
const BYTES: usize = 1 << 20;

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// Nothing is to do until something changes.
    Rest,
    /// It is to run again at once.
    Again,
    /// It is to run again after a time.
    After,
    /// It failed.
    Failed(FailureKind),
}

impl PassOutcome {
    /// A failure that only a change can fix.
    pub const TERMINAL: Self = Self::Failed(FailureKind::Call(CallFailure::Terminal));
    /// The host stopped it.
    pub const STOPPED: Self = Self::Failed(FailureKind::Call(CallFailure::Stopped));

    pub(super) fn of(outcome: &Result<Done, PassError>) -> Self {
        match outcome {
            Ok(Done::Rest) => Self::Rest,
            Ok(Done::Again) => Self::Again,
            Ok(Done::After(_)) => Self::After,
            Err(error) => Self::Failed(error.kind()),
        }
    }

    /// Names it in logs and answers.
    pub fn label(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Again => "again",
            Self::After => "after",
            Self::Failed(kind) => kind.label(),
        }
    }
}

/// An object that a plugin reconciles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrimaryKey {
    /// Its kind.
    pub resource: Arc<Resource>,
    /// Its namespace and name.
    pub key: Key,
}

/// `Greeting team-a/ada`
impl fmt::Display for PrimaryKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.resource.kind, self.key)
    }
}

/// One pass.
#[derive(Clone, Debug)]
pub struct Record {
    /// The primary.
    pub primary: PrimaryKey,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// Why it ran.
    pub reasons: WakeReasons,
    /// Whether it had to wait for keys that need it more.
    pub low: bool,
    /// What it needed.
    pub step: Step,
    /// How often it had failed before.
    pub attempt: u32,
    /// When it began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// CPU time of the guest.
    pub cpu: Duration,
    /// The guest's memory at its peak, in bytes.
    pub memory: usize,
    /// Requests to the API server.
    pub requests: u32,
    /// What it read from the store, and what it wrote.
    pub journal: Journal,
    /// How it ended.
    pub outcome: PassOutcome,
    /// What went wrong, in words.
    pub error: Option<String>,
    /// What the guest wrote to standard output and error, if its call failed.
    pub output: String,
    /// The file that its recording is in, if it failed and there is one.
    pub recording: Option<PathBuf>,
    /// Whether the plugin observes: what its journal has as written would have been.
    pub observes: bool,
    /// The endless loop that it is a turn of, in words, if it is in one.
    pub hot_loop: Option<String>,
    /// The trace that it was sent as, if it was: 32 hexadecimal digits.
    pub trace: Option<String>,
    /// When it runs next, if nothing happens before.
    pub next: Option<Duration>,
}

#[cfg(any(test, feature = "testing"))]
impl PrimaryKey {
    /// A Greeting of that name.
    pub fn greeting(namespace: Option<&str>, name: &str) -> Self {
        let resource = Resource {
            group: "examples.windlass.dev".into(),
            version: "v1".into(),
            kind: "Greeting".into(),
            plural: "greetings".into(),
            namespaced: true,
        };
        Self {
            resource: Arc::new(resource),
            key: Key::new(namespace, name),
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Record {
    /// A pass over the Greeting `n/ada` at version 7 that did nothing, and rests.
    pub fn settled() -> Self {
        Self {
            primary: PrimaryKey::greeting(Some("n"), "ada"),
            uid: "u".into(),
            version: "7".into(),
            reasons: WakeReasons::default(),
            low: false,
            step: Step::Reconcile,
            attempt: 0,
            began: Timestamp::UNIX_EPOCH,
            took: Duration::from_millis(3),
            cpu: Duration::from_millis(1),
            memory: 0,
            requests: 0,
            journal: Journal::default(),
            outcome: PassOutcome::Rest,
            error: None,
            output: String::new(),
            recording: None,
            observes: false,
            hot_loop: None,
            trace: None,
            next: None,
        }
    }
}

impl Record {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        let option = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let reads = self.journal.reads.iter().map(Saw::bytes);
        let writes = self.journal.writes.iter().map(Wrote::bytes);
        let failed = self.journal.failed.iter().map(String::len);
        size_of::<Self>()
            + self.primary.key.name.len()
            + self.output.len()
            + self
                .recording
                .as_ref()
                .map_or(0, |path| path.as_os_str().len())
            + option(&self.error)
            + option(&self.hot_loop)
            + option(&self.trace)
            + self.journal.denied.iter().map(String::len).sum::<usize>()
            + self.journal.sent.iter().map(String::len).sum::<usize>()
            + self
                .journal
                .conflicts
                .iter()
                .map(String::len)
                .sum::<usize>()
            + failed.sum::<usize>()
            + reads.sum::<usize>()
            + writes.sum::<usize>()
    }
}

/// The records of each plugin that a host runs, by its name. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Archive(Arc<Mutex<BTreeMap<String, Records>>>);

impl Archive {
    /// Those of `plugin`, in whatever version; a new ring if it has none.
    pub fn of(&self, plugin: &str) -> Records {
        let mut all = self.0.lock();
        all.entry(plugin.to_owned()).or_default().clone()
    }

    /// The records of `plugin` that are kept, the oldest first.
    pub fn all_of(&self, plugin: &str) -> Vec<Arc<Record>> {
        let all = self.0.lock();
        let records = all.get(plugin).cloned();
        drop(all);
        records.map_or_else(Vec::new, |records| records.all())
    }

    /// The plugin has ended.
    pub fn forget(&self, plugin: &str) {
        let mut all = self.0.lock();
        all.remove(plugin);
    }
}

/// The newest records of a plugin. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Records(Arc<Mutex<Ring>>);

#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<(Arc<Record>, usize)>,
    bytes: usize,
    failing: FailureTracker,
    /// Who is told of each.
    follower: Option<mpsc::Sender<Arc<Record>>>,
}

impl Records {
    /// Keeps one more.
    pub(super) fn push(&self, record: Record) {
        let bytes = record.bytes();
        let record = Arc::new(record);
        let mut ring = self.0.lock();
        if let Some(follower) = &ring.follower {
            // Who is slow misses some: a pass waits for nobody.
            let _ = follower.try_send(record.clone());
        }
        ring.failing.ended(&record, bytes);
        ring.records.push_back((record, bytes));
        ring.bytes += bytes;
        while ring.records.len() > PASSES || ring.bytes > BYTES && ring.records.len() > 1 {
            let oldest = ring.records.pop_front();
            ring.bytes -= oldest.map_or(0, |(_, bytes)| bytes);
        }
    }

    /// Each pass from now on, until somebody else follows. So many wait for a slow follower.
    pub fn follow(&self, most: usize) -> mpsc::Receiver<Arc<Record>> {
        let (sender, receiver) = mpsc::channel(most);
        let mut ring = self.0.lock();
        ring.follower = Some(sender);
        receiver
    }

    /// Those that are kept, the oldest first.
    pub fn all(&self) -> Vec<Arc<Record>> {
        let ring = self.0.lock();
        let records = ring.records.iter();
        records.map(|(record, _)| record.clone()).collect()
    }

    /// The newest passes over this primary, the newest first. The last one is known also long after, if it failed.
    pub fn of(&self, primary: &PrimaryKey, most: usize) -> Vec<Arc<Record>> {
        let ring = self.0.lock();
        let records = ring.records.iter().rev();
        let found = records
            .filter(|(record, _)| record.primary == *primary)
            .take(most);
        let found: Vec<_> = found.map(|(record, _)| record.clone()).collect();
        if found.is_empty() {
            ring.failing
                .get(primary)
                .and_then(|it| it.record)
                .into_iter()
                .collect()
        } else {
            found
        }
    }

    /// The primary is gone.
    pub(super) fn forget(&self, primary: &PrimaryKey) {
        let mut ring = self.0.lock();
        ring.failing.forget(primary);
    }

    /// Nothing is known any more of what fails: another host may run the plugin now, or another version with other
    /// objects.
    pub(super) fn forget_failing(&self) {
        let mut ring = self.0.lock();
        ring.failing = FailureTracker::default();
    }

    /// How many keys fail now.
    pub(super) fn failing_keys(&self) -> usize {
        let ring = self.0.lock();
        ring.failing.count()
    }

    /// How many keys fail now, and which should be looked at.
    pub fn trouble(&self) -> FailureSummary {
        let ring = self.0.lock();
        ring.failing.trouble()
    }

    /// The keys that fail now, the newest first.
    pub fn failing(&self, most: usize) -> Vec<Failing> {
        let ring = self.0.lock();
        ring.failing.newest(most)
    }

    /// The last pass over this primary, if it failed and is kept.
    pub(super) fn last_failure(&self, primary: &PrimaryKey) -> Option<Arc<Record>> {
        let ring = self.0.lock();
        ring.failing.get(primary)?.record
    }

    /// The newest pass over this primary.
    pub fn last(&self, primary: &PrimaryKey) -> Option<Arc<Record>> {
        let ring = self.0.lock();
        let mut records = ring.records.iter().rev();
        let found = records.find(|(record, _)| record.primary == *primary);
        found.map(|(record, _)| record.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, error: Option<String>) -> Record {
        Record {
            primary: PrimaryKey::greeting(None, name),
            error,
            ..Record::settled()
        }
    }

    #[test]
    fn the_newest_are_kept_within_number_and_size() {
        let records = Records::default();
        for number in 0..1000 {
            records.push(record(&number.to_string(), None));
        }
        let names: Vec<String> = records
            .all()
            .iter()
            .map(|r| r.primary.key.name.to_string())
            .collect();
        assert_eq!((names.len(), names[0].as_str()), (PASSES, "488"));
        for number in 0..100 {
            records.push(record(&number.to_string(), Some("x".repeat(BYTES / 10))));
        }
        assert!(records.all().len() < 10);
        records.push(record("large", Some("x".repeat(2 * BYTES))));
        assert_eq!(records.all().len(), 1, "the newest is always kept");
    }

    #[test]
    fn who_follows_is_told_of_each_pass_and_waited_for_by_none() {
        let records = Records::default();
        records.push(record("before", None));
        let mut follower = records.follow(2);
        for name in ["a", "b", "missed"] {
            records.push(record(name, None));
        }
        let mut next = || Some(follower.try_recv().ok()?.primary.key.name.clone());
        assert_eq!(
            [next(), next(), next()],
            [Some("a".into()), Some("b".into()), None]
        );
        assert_eq!(records.all().len(), 4);
    }

    #[test]
    fn the_last_pass_over_an_object_is_found() {
        let records = Records::default();
        for (name, error) in [("a", "old"), ("b", "other"), ("a", "new")] {
            records.push(record(name, Some(error.into())));
        }
        let last = |name: &str| {
            let primary = PrimaryKey::greeting(None, name);
            records
                .last(&primary)
                .and_then(|record| record.error.clone())
        };
        assert_eq!((last("a"), last("c")), (Some("new".into()), None));
    }
}
