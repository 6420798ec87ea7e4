//! The queue that a plugin's workers share: [`Queue`] with a lock, a clock and somebody to wake.

mod payload;
mod requests;
#[cfg(test)]
mod tests;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::early::{COUNTED, TOGETHER, early};
use super::object_state::{Delayed, Hold, QueuePosition};
use super::queue::{self, Cause, Handle, Priority, Queue};
use super::wake_reasons::WakeReasons;
use crate::metrics::{Backlog, PluginMetrics, QueueDepth};
use payload::KeyPayload;
use requests::Requests;
use trial::{Ticket, Trial};
use windlass_base::seams::Clock;
use windlass_kube::object::Key;
use windlass_view::{Enqueue, KeyQueue, WakeReason};

/// A key of the queue: an object of one of the plugin's primary kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct QueueKey {
    /// Which of them, in the order in which the plugin names them.
    pub(super) kind: u16,
    /// The object.
    pub(super) key: Key,
}

/// Where the view of one primary kind puts the keys that are to run.
#[derive(Debug)]
pub(super) struct KindQueue {
    pub(super) queue: Arc<WorkQueue>,
    pub(super) kind: u16,
}

/// A queue that can be waited for. Before it is opened it takes nothing in: a host that stands by for months
/// would collect the keys of what has come and gone.
#[derive(Debug)]
pub(super) struct WorkQueue {
    clock: Clock,
    changed: Notify,
    state: Mutex<WorkState>,
    meters: Arc<PluginMetrics>,
}

#[derive(Debug, Default)]
struct WorkState {
    queue: Queue<QueueKey, Instant, KeyPayload>,
    /// When each key that runs was handed out: as many as there are workers at most.
    started: Vec<(Handle, Instant)>,
    stage: QueueStage,
    /// Nothing is handed out before this: the API server asked the plugin to slow down.
    paused_until: Option<Instant>,
    /// The plugin is slowed down: nothing is handed out before this, and then one key at a time.
    slowed_until: Option<Instant>,
    /// How often users have asked for each key.
    requests: Requests,
    /// The version that runs, as far as it is on trial.
    trial: Trial,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum QueueStage {
    /// Nothing is taken in yet.
    #[default]
    Asleep,
    /// Keys come and go.
    Open,
    /// Nothing is handed out any more.
    Closed,
}

/// A key whose turn it is.
#[derive(Debug)]
pub(super) struct WorkItem {
    pub(super) key: QueueKey,
    pub(super) cause: Cause,
    pub(super) priority: Priority,
    pub(super) reasons: WakeReasons,
    handle: Handle,
    /// That its pass is one of a trial.
    trial: Option<Ticket>,
}

enum NextWork<T> {
    Run(WorkItem, T),
    Closed,
    WaitUntil(Option<Instant>),
}

impl KeyQueue for KindQueue {
    fn enqueue(&self, wakeup: Enqueue) {
        self.queue.add(self.kind, wakeup);
    }
}

impl WorkQueue {
    /// An empty queue, which is yet to be opened; `meters` counts what goes through it.
    pub(super) fn new(clock: Clock, meters: Arc<PluginMetrics>) -> Self {
        Self {
            clock,
            changed: Notify::new(),
            state: Mutex::default(),
            meters,
        }
    }

    /// Takes keys in from now on, and hands them out.
    pub(super) fn open(&self) {
        self.state.lock().stage = QueueStage::Open;
        self.changed.notify_one();
    }

    /// Marks a key of a kind as needing work now, or after what needs it more.
    pub(super) fn add(&self, kind: u16, wakeup: Enqueue) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if state.stage == QueueStage::Asleep {
            return;
        }
        let Enqueue { key, why, low } = wakeup;
        let key = QueueKey { kind, key };
        if why == WakeReason::Asked
            && let Some(wait) = state.requests.wait(&key, now)
        {
            drop(state);
            return self.add_after(key, wait, why, Priority::Normal);
        }
        let payload = if low {
            state.queue.add_low(key)
        } else {
            state.queue.add(key)
        };
        if let Some(payload) = payload {
            self.waits(payload, now);
            payload.reasons.note(why);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Marks `key` as needing work after `delay`.
    pub(super) fn add_after(
        &self,
        key: QueueKey,
        delay: Duration,
        why: WakeReason,
        priority: Priority,
    ) {
        let due = self.clock.now() + delay;
        self.meters.retries.inc();
        let mut state = self.state.lock();
        if let Some(payload) = state.queue.add_at(key, due, priority) {
            self.waits(payload, due);
            payload.delayed = Some(why);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Marks `key` as needing work after what it `asked` for at the latest: earlier if many others are due then.
    /// `fraction` says how much earlier. Answers when it runs.
    pub(super) fn requeue(
        &self,
        key: QueueKey,
        asked: Duration,
        fraction: f64,
        priority: Priority,
    ) -> Duration {
        let due = self.clock.now() + asked;
        let from = due.checked_sub(TOGETHER).unwrap_or(due);
        let together = self.state.lock().queue.due_between(from, due, COUNTED);
        let delay = early(asked, together, fraction);
        self.add_after(key, delay, WakeReason::Requeued, priority);
        delay
    }

    /// Does not hand `key` out for `delay`, even if it is added again.
    pub(super) fn hold(&self, key: &QueueKey, delay: Duration, hold: Hold) {
        let until = self.clock.now() + delay;
        self.state.lock().queue.hold(key.clone(), until, hold);
    }

    /// Hands nothing out for `delay`.
    pub(super) fn pause(&self, delay: Duration) {
        let until = self.clock.now() + delay;
        let mut state = self.state.lock();
        state.paused_until = state.paused_until.max(Some(until));
    }

    /// Hands nothing out for `delay`, and one key at a time after that; or keys as before.
    pub(super) fn slow_down(&self, delay: Option<Duration>) {
        let until = delay.map(|delay| self.clock.now() + delay);
        self.state.lock().slowed_until = until;
        self.changed.notify_one();
    }

    /// Waits for a key, and says why it runs; `None` once the queue is closed.
    #[cfg(any(test, feature = "benchmarks"))]
    pub(super) async fn take(&self) -> Option<WorkItem> {
        let taken = self.take_with(|| ()).await;
        taken.map(|(taken, ())| taken)
    }

    /// Waits for a key, and says why it runs; `None` once the queue is closed. Answers also what `begin` does at the moment
    /// at which the key is handed out.
    pub(super) async fn take_with<T>(&self, begin: impl Fn() -> T) -> Option<(WorkItem, T)> {
        loop {
            let changed = self.changed.notified();
            match self.turn(&begin) {
                NextWork::Run(taken, begun) => return Some((taken, begun)),
                NextWork::Closed => return None,
                NextWork::WaitUntil(Some(due)) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = self.clock.sleep_until(due) => {}
                    }
                }
                NextWork::WaitUntil(None) => changed.await,
            }
        }
    }

    /// Hands a key back.
    pub(super) fn done(&self, taken: &WorkItem) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.queue.hand_back(taken.handle);
        let mut started = state.started.iter();
        let place = started.position(|(handle, _)| *handle == taken.handle);
        if let Some(place) = place {
            let (_, started) = state.started.swap_remove(place);
            self.meters.worked.observe((now - started).as_secs_f64());
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Hands out no more keys. What runs is not touched.
    pub(super) fn close(&self) {
        self.state.lock().stage = QueueStage::Closed;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Where `key` is, and how long the whole queue is still held back, if it is.
    pub(super) fn place(&self, key: &QueueKey) -> (QueuePosition, Option<Duration>) {
        let now = self.clock.now();
        let state = self.state.lock();
        let handle = state.queue.find(key);
        let payload = handle.and_then(|handle| state.queue.note(handle));
        let started = state.started.iter().find(|(one, _)| Some(*one) == handle);
        let since = |time: Option<Instant>| {
            time.map_or(Duration::ZERO, |time| now.saturating_duration_since(time))
        };
        let place = handle.map_or(queue::KeyPosition::Nowhere, |handle| {
            state.queue.place(handle)
        });
        let place = match place {
            queue::KeyPosition::Nowhere => QueuePosition::Nowhere,
            queue::KeyPosition::Waiting { low } => QueuePosition::Waiting {
                low,
                since: since(payload.and_then(|payload| payload.since)),
            },
            queue::KeyPosition::Delayed { due, hold } => QueuePosition::Delayed(Delayed {
                left: due.saturating_duration_since(now),
                why: payload.and_then(|payload| payload.delayed.clone()),
                hold,
            }),
            queue::KeyPosition::Running { again } => QueuePosition::Running {
                since: since(started.map(|(_, started)| *started)),
                again,
            },
        };
        let paused = state
            .paused_until
            .map(|until| until.saturating_duration_since(now));
        (place, paused.filter(|left| !left.is_zero()))
    }

    /// The keys of a kind that are to run already, and that `hold` holds back.
    pub(super) fn held(&self, kind: u16, hold: Hold) -> Vec<Key> {
        let state = self.state.lock();
        let held = state.queue.held();
        held.filter(|(key, why)| key.kind == kind && *why == hold)
            .map(|(key, _)| key.key.clone())
            .collect()
    }

    /// How many keys wait and how many run.
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.queue.depth(), state.queue.running())
    }

    fn turn<T>(&self, begin: &impl Fn() -> T) -> NextWork<T> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        match state.stage {
            QueueStage::Asleep => return NextWork::WaitUntil(None),
            QueueStage::Open => {}
            QueueStage::Closed => {
                // Another worker may wait for the same news.
                self.changed.notify_one();
                return NextWork::Closed;
            }
        }
        if state.paused_until.is_some_and(|until| until > now) {
            return NextWork::WaitUntil(state.paused_until);
        }
        match state.slowed_until {
            Some(until) if until > now => return NextWork::WaitUntil(Some(until)),
            // Its worker hands it back, and tells those who wait.
            Some(_) if state.queue.running() > 0 => return NextWork::WaitUntil(None),
            Some(_) | None => {}
        }
        if state.trial.is_exhausted() {
            return NextWork::WaitUntil(None);
        }
        match state.queue.take(now) {
            Some(taken) => {
                let trial = state.trial.begins();
                if state.queue.depth() > 0 {
                    self.changed.notify_one();
                }
                if let Some(since) = taken.note.since {
                    let waited = now.saturating_duration_since(since);
                    self.meters.queued.observe(waited.as_secs_f64());
                }
                state.started.push((taken.handle, now));
                let item = WorkItem {
                    reasons: taken.note.reasons,
                    key: taken.key,
                    cause: taken.cause,
                    priority: taken.priority,
                    handle: taken.handle,
                    trial,
                };
                NextWork::Run(item, begin())
            }
            None => NextWork::WaitUntil(state.queue.next_due()),
        }
    }

    /// The key waits for a worker from then on, if it does not already.
    fn waits(&self, payload: &mut KeyPayload, from: Instant) {
        if payload.since.is_none() {
            self.meters.adds.inc();
        }
        let since = payload.since.map_or(from, |since| since.min(from));
        payload.since = Some(since);
    }
}

impl Backlog for WorkQueue {
    fn waiting(&self) -> QueueDepth {
        let now = self.clock.now();
        let state = self.state.lock();
        let queue = &state.queue;
        let waits = queue
            .heads()
            .filter_map(|payload| payload.since)
            .map(|since| now.saturating_duration_since(since));
        let work = state.started.iter().map(|(_, started)| now - *started);
        QueueDepth {
            normal: queue.depth() - queue.low(),
            low: queue.low(),
            delayed: queue.delayed(),
            oldest: waits.max().unwrap_or_default(),
            running: queue.running(),
            unfinished: work.clone().sum(),
            longest: work.max().unwrap_or_default(),
        }
    }
}
