//! Takes a key, makes a pass, settles it: forever, and with one record for each.

mod heat;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use tracing::Instrument;

use super::Observing;
use super::backoff::{Backoff, Revision};
use super::count::count;
use super::finalizer::Step;
use super::hot::{Churn, HotLoops, Rivals};
use super::last_ends::object_hash;
use super::object_state::Hold;
use super::observe::Observer;
use super::pass_run::PassRun;
use super::queue::Priority;
use super::reconcile::{Done, Pass, PassVersion, Reconciler};
use super::record::{PrimaryKey, Records};
use super::report;
use super::retry::{Next, SHORTEST_REQUEUE, delay_until, next};
use super::slowdown::{self, Pace, Slowdown};
use super::tally::{self, CalledVersion};
use super::work::{QueueKey, WorkItem, WorkQueue};
use crate::metrics::{Backlog, PluginMetrics, PluginStage};
use windlass_base::seams::Seams;
use windlass_base::spans;
use windlass_base::text::counted;
use windlass_kube::object::Key;
use windlass_policy::manifest::Limits;
use windlass_sandbox::cluster::{ClusterAccess, Primary};
use windlass_sandbox::{Description, Hints, Plugin};
use windlass_view::{Enqueue, WakeReason};

/// How much longer than its backoff a key may wait: spreads what would happen at once.
const SPREAD: f64 = 0.1;

/// After a pass that used so much CPU time, its key waits [`PACE`] times as long. So a key whose passes are expensive uses
/// a fifth of a core, and changes that come close together are one pass.
const PACED: Duration = Duration::from_millis(5);
const PACE: u32 = 4;

/// What the workers of one plugin share.
pub(super) struct Worker {
    /// The version that runs. Swapped between two passes, under the lock of the queue: a pass keeps the one that ran when
    /// its key was taken.
    running: RwLock<CalledVersion>,
    /// What passes keep for the next ones.
    hints: Hints,
    /// For each of its kinds, in the order in which it names them.
    reconcilers: Vec<Reconciler>,
    queue: Arc<WorkQueue>,
    backoff: Mutex<Backoff<QueueKey>>,
    hot: Mutex<HotLoops<Field, Instant>>,
    rivals: Mutex<Rivals<(String, Key), PrimaryKey, Instant>>,
    churn: Mutex<Objects>,
    slowdown: Mutex<Slowdown>,
    /// The objects that somebody has paused.
    paused: Mutex<BTreeSet<QueueKey>>,
    /// Whether it has been said that this version asks for passes too soon.
    hurried: AtomicBool,
    records: Records,
    meters: Arc<PluginMetrics>,
    /// Of a plugin that observes.
    observer: Option<Observer>,
    seams: Seams,
}

/// A field of an object, its kind, name and path, and the generation of the primary: what changes because the
/// primary did is not a loop.
type Field = (String, Key, String, Option<i64>);

/// Objects that were made, by kind and name, and who makes and deletes them.
type Objects = Churn<(String, Key), PrimaryKey, Instant>;

impl Worker {
    pub(super) fn new(
        (running, hints): (CalledVersion, Hints),
        reconcilers: Vec<Reconciler>,
        queue: Arc<WorkQueue>,
        (records, meters): (Records, Arc<PluginMetrics>),
        observing: Option<Observing>,
        seams: Seams,
    ) -> Self {
        Self {
            running: RwLock::new(running),
            hints,
            reconcilers,
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
            observer: observing.map(Observer::new),
            seams,
        }
    }

    /// From the next pass on, `version` is called, and it gets a first try at every object; in no more than `trial`
    /// passes at first.
    pub(super) fn swap(&self, version: CalledVersion, trial: Option<usize>) {
        self.weigh_events(&version.plugin);
        self.queue.swap(trial, || {
            *self.running.write() = version;
            // While nobody can be between the two: what the old version's last passes say yet is not the new one's.
            self.meters.custom_metrics.clear();
            self.hints.clear();
        });
        *self.backoff.lock() = Backoff::default();
        *self.hot.lock() = HotLoops::default();
        *self.churn.lock() = Churn::default();
        *self.slowdown.lock() = Slowdown::default();
        self.queue.slow_down(None);
        self.hurried.store(false, Ordering::Relaxed);
        self.rerun_all(&WakeReason::Swapped);
    }

    /// Calls `version` instead, while another controller makes the passes: the metrics are its own.
    pub(super) fn replace(&self, version: CalledVersion) {
        *self.running.write() = version;
    }

    /// The version that runs, for a pass that begins.
    pub(super) fn version(&self) -> PassVersion {
        let CalledVersion { plugin, tally } = self.running.read().clone();
        PassVersion {
            plugin,
            tally,
            custom_metrics: self.meters.custom_metrics.now(),
            hints: self.hints.now(),
        }
    }

    /// Counts for `plugin` from now on, which is about to make its first pass.
    pub(super) fn takes_over(&self, plugin: &Plugin) {
        let backlog: Weak<dyn Backlog> = Arc::<WorkQueue>::downgrade(&self.queue);
        self.meters.waits_in(backlog);
        let workers = u64::try_from(plugin.limits().concurrency).unwrap_or(0);
        self.meters.max_concurrent.set(workers);
        self.meters.custom_metrics.clear();
        self.forget_passes();
    }

    /// Runs every key of every kind again.
    pub(super) fn rerun_all(&self, why: &WakeReason) {
        for reconciler in &self.reconcilers {
            reconciler.cluster().view.rerun_all(why);
        }
    }

    /// What was known of its passes is of another controller, or of one that has ended.
    pub(super) fn forget_passes(&self) {
        self.records.forget_failing();
        self.meters.failing.set(0);
        self.meters.paused.set(0);
        self.meters.differing.set(0);
    }

    /// Gives the Events of the plugin the weight of this version, which takes over.
    pub(super) fn weigh_events(&self, plugin: &Plugin) {
        let weight = plugin.limits().weight;
        // All of its kinds send Events by the same recorder.
        if let Some(first) = self.reconcilers.first() {
            let cluster = first.cluster();
            cluster
                .events
                .knows(&cluster.plugin, weight, &cluster.throttled);
        }
    }

    /// Who makes the passes, for each kind.
    pub(super) fn reconcilers(&self) -> &[Reconciler] {
        &self.reconcilers
    }

    /// What the version that runs says of itself.
    pub(super) fn description(&self) -> Description {
        self.running.read().plugin.description.clone()
    }

    /// How much the version that runs may use.
    pub(super) fn limits(&self) -> Limits {
        *self.running.read().plugin.limits()
    }

    /// How often `key` has failed in a row in this edition of its object.
    pub(super) fn failures(&self, key: &QueueKey, edition: Revision) -> u32 {
        self.backoff.lock().attempt(key, edition)
    }

    /// Makes passes until the queue is closed.
    pub(super) async fn run(&self) {
        while let Some((taken, version)) = self.queue.take_with(|| self.version()).await {
            // Handed back also when the pass panics: the key is not lost with it.
            let mut done = HandBack {
                queue: &self.queue,
                taken: &taken,
                is_counted: false,
            };
            // In a box: a plugin has many workers that wait.
            done.is_counted = Box::pin(self.turn(&taken, &version)).await;
        }
    }

    /// Makes a pass over the key that was taken, and does what follows from it; answers whether it says something of the
    /// version.
    async fn turn(&self, taken: &WorkItem, version: &PassVersion) -> bool {
        let QueueKey { kind, key } = &taken.key;
        let Some(reconciler) = self.reconcilers.get(usize::from(*kind)) else {
            return false;
        };
        reconciler.catch_up(key).await;
        let Some(object) = reconciler.find(&version.plugin, key) else {
            self.forget(reconciler, &taken.key); // deleted since it was queued
            return false;
        };
        let edition = Revision::of(&object.metadata);
        let attempt = self.backoff.lock().attempt(&taken.key, edition);
        let (began, started) = (self.seams.clock.wall(), self.seams.clock.now());
        let cluster = reconciler.cluster();
        let primary = reconciler.primary(&object.metadata);
        let step = reconciler.step(&version.plugin, &object);
        let span = spans::pass(
            &cluster.plugin,
            &primary,
            &primary.uid,
            step.label(),
            attempt,
        );
        let pass = reconciler.pass(version, &object, attempt);
        let pass = pass.instrument(span.clone()).await;
        let took = self.seams.clock.now() - started;
        self.finish(&PassRun {
            reconciler,
            taken,
            version,
            metadata: &object.metadata,
            pass,
            span,
            primary,
            attempt,
            began,
            took,
        })
    }

    /// Forgets an object that is there no more.
    fn forget(&self, reconciler: &Reconciler, key: &QueueKey) {
        self.backoff.lock().forget(key);
        let cluster = reconciler.cluster();
        cluster.forget(reconciler.resource(), &key.key);
        self.records.forget(&reconciler.primary_key(&key.key));
        self.pauses(key, false);
        if let Some(observer) = &self.observer {
            observer.forget(key, &self.meters);
        }
        self.count_failing();
    }

    /// Queues the key again as the pass asks for, and reports and records the pass; answers whether it says something of
    /// the version.
    fn finish(&self, run: &PassRun<'_>) -> bool {
        let (key, pass, primary) = (&run.taken.key, &run.pass, &run.primary);
        let cluster = run.reconciler.cluster();
        let journal = cluster.view.ends(&key.key);
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
        self.pace(cluster, primary, pass);
        if let Ok(Done::After(asked)) = &pass.outcome
            && u128::from(*asked) < SHORTEST_REQUEUE.as_millis()
            && !self.hurried.swap(true, Ordering::Relaxed)
        {
            report::too_soon(cluster, primary, *asked);
        }
        let hot_loop = match &self.observer {
            Some(observer) => {
                observer.ended(run, &journal, &self.meters);
                None
            }
            None => self.cool(run, &journal),
        };
        let record = run.record(journal, hot_loop, delay);
        report::span(&run.span, &record);
        count(&self.meters, run.reconciler.counts(), pass, &record);
        let error = pass.outcome.as_ref().err();
        let last = error.and_then(|_| self.records.last_failure(&record.primary));
        report::pass(cluster, primary, pass, &record, last.as_deref());
        // From now on another version may take its place.
        let mut is_counted = false;
        if let Some(failed) = tally::failed(pass) {
            let object = object_hash(&primary.uid);
            is_counted = run
                .version
                .tally
                .ended(object, failed, record.error.as_deref());
        }
        self.records.push(record);
        self.count_failing();
        is_counted
    }

    /// Counts the objects that are paused.
    fn pauses(&self, key: &QueueKey, is_paused: bool) {
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
        let (key, priority) = (&taken.key, taken.priority);
        if next != Next::Backoff && !matches!(next, Next::SlowDown(_)) {
            self.backoff.lock().forget(key);
        }
        let add_after = |delay, why| self.queue.add_after(key.clone(), delay, why, priority);
        match next {
            Next::Rest => None,
            Next::Again => {
                let again = Enqueue {
                    key: key.key.clone(),
                    why: WakeReason::Settled,
                    low: priority == Priority::Low,
                };
                self.queue.add(key.kind, again);
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
    fn pace(&self, cluster: &ClusterAccess, primary: &Primary, pass: &Pass) {
        let Some(is_bad) = slowdown::is_bad(pass.step, &pass.outcome) else {
            return;
        };
        let (object, now) = (object_hash(&primary.uid), self.seams.clock.now());
        let pace = self.slowdown.lock().ended(object, is_bad, now);
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
                    "the last call trapped or timed out for {bad} of {}, so the plugin gets one call after {} s",
                    counted(of, "object"),
                    delay.as_secs()
                );
                report::slowed_down(cluster, primary, &why, is_new);
                self.meters.reached(PluginStage::SlowedDown(why));
            }
            Pace::Free => {
                self.queue.slow_down(None);
                report::free(cluster);
                self.meters.reached(PluginStage::Running);
            }
        }
    }
}

/// Hands a key back to the queue when the pass over it has ended, however it did.
struct HandBack<'a> {
    queue: &'a WorkQueue,
    taken: &'a WorkItem,
    /// Whether the pass says something of the version that made it.
    is_counted: bool,
}

impl Drop for HandBack<'_> {
    fn drop(&mut self) {
        self.queue.done(self.taken);
        if !self.is_counted {
            self.queue.says_nothing(self.taken);
        }
    }
}
