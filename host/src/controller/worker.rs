//! Takes a key, makes a pass, settles it: forever, and with one record for each.

mod heat;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::Instrument;

use super::backoff::{Backoff, Revision};
use super::count::count;
use super::finalizer::Step;
use super::hot::{Churn, HotLoops, Rivals};
use super::object_state::Hold;
use super::pass_run::PassRun;
use super::queue::Priority;
use super::reconcile::{Done, Pass, Reconciler};
use super::record::Records;
use super::report;
use super::retry::{Next, SHORTEST_REQUEUE, delay_until, next};
use super::slowdown::{self, Pace, Slowdown};
use super::work::{WorkItem, WorkQueue};
use crate::manifest::Limits;
use crate::metrics::{PluginMetrics, PluginStage};
use crate::object::Key;
use crate::plugin::cluster::Primary;
use crate::plugin::{Description, Plugin};
use crate::seams::Seams;
use crate::spans;
use crate::view::{Enqueue, WakeReason};

/// How much longer than its backoff a key may wait: spreads what would happen at once.
const SPREAD: f64 = 0.1;

/// After a pass that used so much CPU time, its key waits [`PACE`] times as long. So a key whose passes are expensive uses
/// a fifth of a core, and changes that come close together are one pass.
const PACED: Duration = Duration::from_millis(5);
const PACE: u32 = 4;

/// What the workers of one plugin share.
pub(super) struct Worker {
    reconciler: Arc<Reconciler>,
    queue: Arc<WorkQueue>,
    backoff: Mutex<Backoff<Key>>,
    hot: Mutex<HotLoops<Field, Instant>>,
    rivals: Mutex<Rivals<(String, Key), Key, Instant>>,
    churn: Mutex<Objects>,
    slowdown: Mutex<Slowdown>,
    /// The objects that somebody has paused.
    paused: Mutex<BTreeSet<Key>>,
    /// Whether it has been said that this version asks for passes too soon.
    hurried: AtomicBool,
    records: Records,
    meters: Arc<PluginMetrics>,
    seams: Seams,
}

/// A field of an object, its kind, name and path, and the generation of the primary: what changes because the
/// primary did is not a loop.
type Field = (String, Key, String, Option<i64>);

/// Objects that were made, by kind and name; who makes and deletes them: a key, by kind.
type Objects = Churn<(String, Key), (String, Key), Instant>;

impl Worker {
    pub(super) fn new(
        reconciler: Arc<Reconciler>,
        queue: Arc<WorkQueue>,
        (records, meters): (Records, Arc<PluginMetrics>),
        seams: Seams,
    ) -> Self {
        Self {
            reconciler,
            queue,
            backoff: Mutex::default(),
            hot: Mutex::default(),
            rivals: Mutex::default(),
            churn: Mutex::default(),
            slowdown: Mutex::default(),
            paused: Mutex::default(),
            hurried: AtomicBool::new(false),
            records,
            meters,
            seams,
        }
    }

    /// From the next pass on, `plugin` is called, and it gets a first try at every object.
    pub(super) fn swap(&self, plugin: Arc<Plugin>) {
        self.weigh_events(&plugin);
        self.reconciler.swap(plugin);
        *self.backoff.lock() = Backoff::default();
        *self.hot.lock() = HotLoops::default();
        *self.churn.lock() = Churn::default();
        *self.slowdown.lock() = Slowdown::default();
        self.queue.slow_down(None);
        self.hurried.store(false, Ordering::Relaxed);
        self.reconciler
            .cluster()
            .view
            .rerun_all(&WakeReason::Swapped);
    }

    /// Gives the Events of the plugin the weight of this version, which takes over.
    pub(super) fn weigh_events(&self, plugin: &Plugin) {
        let (cluster, weight) = (self.reconciler.cluster(), plugin.limits().weight);
        cluster
            .events
            .knows(&cluster.plugin, weight, &cluster.throttled);
    }

    /// Who makes the passes.
    pub(super) fn reconciler(&self) -> &Reconciler {
        &self.reconciler
    }

    /// What the version that runs says of itself.
    pub(super) fn description(&self) -> Description {
        self.reconciler.plugin().description.clone()
    }

    /// How much the version that runs may use.
    pub(super) fn limits(&self) -> Limits {
        *self.reconciler.plugin().limits()
    }

    /// How often `key` has failed in a row in this edition of its object.
    pub(super) fn failures(&self, key: &Key, edition: Revision) -> u32 {
        self.backoff.lock().attempt(key, edition)
    }

    /// Makes passes until the queue is closed.
    pub(super) async fn run(&self) {
        while let Some(taken) = self.queue.take().await {
            // Handed back also when the pass panics: the key is not lost with it.
            let _done = HandBack {
                queue: &self.queue,
                taken: &taken,
            };
            // In a box: a plugin has many workers that wait.
            Box::pin(self.turn(&taken)).await;
        }
    }

    /// Makes a pass over the key that was taken, and does what follows from it.
    async fn turn(&self, taken: &WorkItem) {
        let key: &Key = &taken.key;
        self.reconciler.catch_up(key).await;
        let Some(object) = self.reconciler.find(key) else {
            self.forget(key); // deleted since it was queued
            return;
        };
        let edition = Revision::of(&object.metadata);
        let attempt = self.backoff.lock().attempt(key, edition);
        let (began, started) = (self.seams.clock.wall(), self.seams.clock.now());
        let cluster = self.reconciler.cluster();
        let primary = self.reconciler.primary(&object.metadata);
        let step = self.reconciler.step(&object);
        let span = spans::pass(
            &cluster.plugin,
            &primary,
            &primary.uid,
            step.label(),
            attempt,
        );
        let pass = self.reconciler.pass(&object, attempt);
        let pass = pass.instrument(span.clone()).await;
        let took = self.seams.clock.now() - started;
        self.finish(&PassRun {
            taken,
            metadata: &object.metadata,
            pass,
            span,
            primary,
            attempt,
            began,
            took,
        });
    }

    /// Forgets an object that is there no more.
    fn forget(&self, key: &Key) {
        self.backoff.lock().forget(key);
        self.reconciler.cluster().view.forgets(key);
        self.records.forget(key);
        self.pauses(key, false);
        self.count_failing();
    }

    /// Queues the key again as the pass asks for, and reports and records the pass.
    fn finish(&self, run: &PassRun<'_>) {
        let (key, pass, primary): (&Key, _, _) = (&run.taken.key, &run.pass, &run.primary);
        let cluster = self.reconciler.cluster();
        let journal = cluster.view.ends(key);
        let next = next(&pass.outcome, pass.traffic.slow_down);
        if let Some(delay) = pass.traffic.slow_down {
            self.queue.pause(delay);
        }
        let delay = self.settle(run.taken, Revision::of(run.metadata), next);
        let delay = match pass.traffic.wake_at.filter(|_| pass.outcome.is_ok()) {
            Some(time) => Some(self.wake_at(run.taken, time, delay)),
            None => delay,
        };
        self.pauses(key, pass.step == Step::Paused);
        if pass.cpu >= PACED {
            self.queue.hold(key, pass.cpu * PACE, Hold::Pace);
        }
        self.pace(primary, pass);
        if let Ok(Done::After(asked)) = &pass.outcome
            && u128::from(*asked) < SHORTEST_REQUEUE.as_millis()
            && !self.hurried.swap(true, Ordering::Relaxed)
        {
            report::too_soon(cluster, primary, *asked);
        }
        let hot_loop = self.cool(run, &journal);
        let record = run.record(journal, hot_loop, delay);
        report::span(&run.span, &record);
        count(&self.meters, pass, &record);
        let error = pass.outcome.as_ref().err();
        let last = error.and_then(|_| self.records.last_failure(key));
        report::pass(cluster, primary, pass, &record, last.as_deref());
        self.records.push(record);
        self.count_failing();
    }

    /// Counts the objects that are paused.
    fn pauses(&self, key: &Key, is_paused: bool) {
        let mut paused = self.paused.lock();
        let changed = if is_paused {
            paused.insert(key.clone())
        } else {
            paused.remove(key)
        };
        if changed {
            let count = u64::try_from(paused.len()).unwrap_or(u64::MAX);
            self.meters.paused.set(count);
        }
    }

    fn count_failing(&self) {
        let failing = self.records.failing_keys();
        self.meters
            .failing
            .set(u64::try_from(failing).unwrap_or(u64::MAX));
    }

    /// Queues the key as `next` says; answers when it runs again by itself, if it does.
    fn settle(&self, taken: &WorkItem, edition: Revision, next: Next) -> Option<Duration> {
        let (key, priority): (&Key, _) = (&taken.key, taken.priority);
        if next != Next::Backoff && !matches!(next, Next::SlowDown(_)) {
            self.backoff.lock().forget(key);
        }
        let add_after = |delay, why| self.queue.add_after(key.clone(), delay, why, priority);
        match next {
            Next::Rest => None,
            Next::Again => {
                self.queue.add(Enqueue {
                    key: key.clone(),
                    why: WakeReason::Settled,
                    low: priority == Priority::Low,
                });
                None
            }
            Next::After(delay) => {
                let fraction = self.seams.rng.fraction();
                let requeue = self.queue.requeue(key.clone(), delay, fraction, priority);
                Some(requeue)
            }
            Next::Backoff => {
                let delay = self.backoff.lock().failed(key, edition, taken.cause);
                let delay = self.seams.rng.spread(delay, SPREAD);
                add_after(delay, WakeReason::Failed);
                Some(delay)
            }
            Next::SlowDown(delay) => {
                add_after(delay, WakeReason::SlowedDown);
                Some(delay)
            }
        }
    }

    /// Queues the key for the time that the plugin has asked for; answers when it runs again by itself, which is after
    /// `other` at the latest.
    fn wake_at(&self, taken: &WorkItem, time: Timestamp, other: Option<Duration>) -> Duration {
        let delay = delay_until(time, self.seams.clock.wall());
        let (key, priority) = (taken.key.clone(), taken.priority);
        self.queue
            .add_after(key, delay, WakeReason::Requeued, priority);
        other.map_or(delay, |other| other.min(delay))
    }

    /// Slows the plugin down while most of its calls trap or time out, and says so.
    fn pace(&self, primary: &Primary, pass: &Pass) {
        let Some(is_bad) = slowdown::is_bad(pass.step, &pass.outcome) else {
            return;
        };
        let pace = self.slowdown.lock().ended(is_bad, self.seams.clock.now());
        match pace {
            Pace::Same => {}
            Pace::Slow {
                delay,
                bad,
                of,
                is_new,
            } => {
                self.queue.slow_down(Some(delay));
                let why = format!(
                    "{bad} of the plugin's last {of} calls trapped or timed out, so it gets one call after {} s",
                    delay.as_secs()
                );
                report::slowed_down(self.reconciler.cluster(), primary, &why, is_new);
                self.meters.reached(PluginStage::SlowedDown(why));
            }
            Pace::Free => {
                self.queue.slow_down(None);
                report::free(self.reconciler.cluster());
                self.meters.reached(PluginStage::Running);
            }
        }
    }
}

/// Hands a key back to the queue when the pass over it has ended, however it did.
struct HandBack<'a> {
    queue: &'a WorkQueue,
    taken: &'a WorkItem,
}

impl Drop for HandBack<'_> {
    fn drop(&mut self) {
        self.queue.done(self.taken);
    }
}
