//! One plugin's loop: informers fill the queue, workers empty it.
//!
//! - No key runs before every informer that the plugin needs has its first list, and has seen what the server
//!   had when the host got the plugin's Lease.
//! - A kind that the cluster does not serve counts as listed and empty; only an absent primary
//!   holds a plugin back.

mod backoff;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
mod count;
mod early;
mod failing;
mod finalizer;
mod handle;
mod hot;
mod kinds;
mod last_ends;
mod object_state;
mod observe;
mod once;
mod pass_run;
mod queue;
mod reconcile;
mod record;
mod report;
mod retry;
mod slowdown;
mod sources;
mod tally;
mod wake_reasons;
mod watches;
mod work;
mod worker;

use std::sync::Arc;
use std::time::Duration;

pub use failing::{Failing, FailureSummary};
pub use finalizer::Step;
pub use handle::{ControllerHandle, ControllerHandles};
pub use object_state::{CacheState, Children, Delayed, Hold, ObjectState, QueuePosition};
pub use once::{Answer, OncePass};
pub use record::{Archive, PassOutcome, PrimaryKey, Record, Records};
pub use tally::{CalledVersion, Share, Tally};
pub use wake_reasons::WakeReasons;

use futures::future::{join_all, select_all};
use tokio::time::Instant;

use crate::metrics::PluginMetrics;
use crate::recording::FailureRecorder;
use reconcile::Reconciler;
use watches::{WatchDependencies, Watches};
use windlass_base::bugs::bug;
use windlass_base::memory::Room;
use windlass_base::seams::{Seams, Task};
use windlass_kube::api::{Discovery, Resource};
use windlass_kube::events::{Recorder, Regarding};
use windlass_kube::informer::Informers;
use windlass_policy::grants::Grants;
use windlass_policy::rights::PluginApi;
use windlass_sandbox::cluster::{AccessMeans, ClusterAccess, Replaces, WriteMode};
use windlass_sandbox::{Cancel, Hints, HttpAccess, Plugin, PrimaryWatch, ServedPrimary};
use windlass_view::{View, WakeReason, WatchSpec};
use work::{KindQueue, WorkQueue};
use worker::Worker;

/// How much earlier or later than asked for a resync comes (controller-runtime's 10 %).
const SPREAD: f64 = 0.1;

/// What a controller is made of.
pub struct ControllerParts {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// Where it is counted how its passes end.
    pub tally: Arc<Tally>,
    /// The finalizer of its primaries.
    pub finalizer: String,
    /// The field managers of the operator that it replaces.
    pub replaces: Replaces,
    /// Who reports its Events, in place of the plugin.
    pub reporter: Option<Arc<str>>,
    /// Whether the annotations by which users pause an object, or ask for a pass, do not count.
    pub ignores_annotations: bool,
    /// What it may touch.
    pub grants: Grants,
    /// What it may send over HTTP; nothing if the host sends nothing.
    pub http: Option<Arc<HttpAccess>>,
    /// The connection to the API server, as the plugin.
    pub api: PluginApi,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// What is watched.
    pub informers: Informers,
    /// Where Events go.
    pub events: Recorder,
    /// Where it is told what the plugin would write; nothing if it writes.
    pub observing: Option<Observing>,
    /// How often everything is looked at again.
    pub resync: Duration,
    /// Where passes are recorded.
    pub records: Records,
    /// Where they are counted.
    pub meters: Arc<PluginMetrics>,
    /// Where others find the controller.
    pub handles: ControllerHandles,
    /// Where failed passes are recorded, if they are.
    pub failures: Option<FailureRecorder>,
    /// Time, randomness and tasks.
    pub seams: Seams,
}

/// How it is told that a plugin would write something, which observes.
#[derive(Clone)]
pub struct Observing {
    /// Where Events about the plugin itself go.
    pub events: Recorder,
    /// The plugin's object; nothing if it has none.
    pub plugin: Option<Regarding>,
}

impl ControllerParts {
    /// What the plugin's calls reach the cluster by; it counts in the plugin's metrics.
    fn cluster_access(&self, view: Arc<View>, hints: &Hints) -> ClusterAccess {
        let means = AccessMeans {
            api: self.api.clone(),
            discovery: self.discovery.clone(),
            events: self.events.clone(),
        };
        let writes = match self.observing {
            Some(_) => WriteMode::Observed,
            None => WriteMode::Sent,
        };
        let (meters, grants) = (&self.meters, self.grants.clone());
        ClusterAccess {
            used: meters.used.clone(),
            calls: meters.calls.clone(),
            custom_metrics: meters.custom_metrics.clone(),
            hints: hints.clone(),
            rates: meters.rates.clone(),
            throttled: meters.throttled.clone(),
            http: self.http.clone(),
            replaces: self.replaces.clone(),
            reporter: self.reporter.clone(),
            ..ClusterAccess::of(&self.plugin, grants, view, means, writes)
        }
    }
}

/// A controller whose lists are in and are kept up to date, and which makes no passes yet.
pub struct Prepared {
    plugin: Arc<Plugin>,
    worker: Arc<Worker>,
    queue: Arc<WorkQueue>,
    kinds: Vec<WatchedKind>,
    handles: ControllerHandles,
    cancel: Cancel,
    /// For what it makes the host hold before it takes over.
    room: Room,
    resync: Duration,
    seams: Seams,
}

/// What a controller has for one of its primary kinds.
struct WatchedKind {
    view: Arc<View>,
    watches: Watches,
    handle: Arc<ControllerHandle>,
}

/// A running controller.
pub struct Controller {
    worker: Arc<Worker>,
    queue: Arc<WorkQueue>,
    kinds: Vec<WatchedKind>,
    cancel: Cancel,
    workers: Vec<Task>,
    _resync: Task,
}

impl Prepared {
    /// Begins to watch for `parts.plugin` and its primary kinds, as they are served, and returns after the first list of
    /// everything that the plugin watches.
    pub async fn watch(parts: ControllerParts, primaries: Vec<ServedPrimary>) -> Self {
        let (plugin, meters) = (&parts.plugin, &parts.meters);
        let room = plugin.make_room();
        let _ = meters.account.set(plugin.account().clone());
        let queue = Arc::new(WorkQueue::new(parts.seams.clock, meters.clone()));
        let watched = (0..).zip(&primaries).filter_map(|(kind, primary)| {
            let watch = plugin.description.primaries.get(primary.watch)?;
            Some(watch_kind(&parts, kind, (watch, &primary.resource), &queue))
        });
        let watched = join_all(watched).await;
        Self::of(parts, primaries, queue, watched, room)
    }

    /// Makes the rest of a controller whose lists are in.
    fn of(
        parts: ControllerParts,
        primaries: Vec<ServedPrimary>,
        queue: Arc<WorkQueue>,
        watched: Vec<(Arc<View>, Watches)>,
        room: Room,
    ) -> Self {
        let cancel = Cancel::default();
        let running = CalledVersion {
            plugin: parts.plugin.clone(),
            tally: parts.tally.clone(),
        };
        let hints = Hints::on(parts.plugin.account());
        let reconcilers = (0..).zip(primaries).zip(&watched);
        let reconcilers = reconcilers.map(|((kind, primary), (view, _))| {
            let cluster = Arc::new(parts.cluster_access(view.clone(), &hints));
            let failures = parts.failures.clone();
            let watch = parts.plugin.description.primaries.get(primary.watch);
            let name = watch.map_or(&primary.resource.kind, |watch| &watch.kind);
            let counts = parts.meters.passes_over(name);
            let kind = (kind, primary);
            let cancel = cancel.clone();
            Reconciler::new(cluster, kind, cancel, failures, counts)
        });
        let worker = Arc::new(Worker::new(
            (running, hints.clone()),
            reconcilers.collect(),
            queue.clone(),
            (parts.records.clone(), parts.meters.clone()),
            parts.observing.clone(),
            parts.seams.clone(),
        ));
        let kinds = worker.reconcilers().iter().zip(watched);
        let kinds = kinds.map(|(reconciler, (view, watches))| WatchedKind {
            handle: Arc::new(ControllerHandle {
                primary: reconciler.resource().clone(),
                kind: reconciler.kind(),
                watch: reconciler.watch(),
                plugin: parts.plugin.name.clone(),
                view: view.clone(),
                queue: queue.clone(),
                worker: worker.clone(),
                records: parts.records.clone(),
                meters: parts.meters.clone(),
                grants: parts.grants.clone(),
            }),
            view,
            watches,
        });
        let kinds = kinds.collect();
        Self {
            plugin: parts.plugin,
            worker,
            queue,
            kinds,
            handles: parts.handles,
            cancel,
            room,
            resync: parts.resync,
            seams: parts.seams,
        }
    }

    /// Calls `version` instead, which must want what the one before it wanted.
    pub fn swap(&mut self, version: CalledVersion) {
        self.room = version.plugin.make_room();
        self.plugin = version.plugin.clone();
        self.worker.replace(version);
    }

    /// Waits until everything that the plugin watches has been seen as the server had it at `wanted`: whatever
    /// another host had written for the plugin by then.
    pub async fn barrier(&self, wanted: Instant) {
        let kinds = self.kinds.iter();
        join_all(kinds.map(|kind| kind.watches.barrier(&kind.view, wanted))).await;
    }

    /// Waits until a primary kind is served as something else, so that another controller is needed.
    pub async fn moved(&self) {
        moved(&self.kinds).await;
    }

    /// Its primary kinds, as they were served.
    pub fn primaries(&self) -> Vec<ServedPrimary> {
        primaries(&self.kinds)
    }

    /// Begins to make passes; no more than `trial` at first, if the version is on trial.
    pub fn start(self, trial: Option<usize>) -> Controller {
        let Self {
            plugin,
            worker,
            queue,
            kinds,
            handles,
            cancel,
            room,
            resync,
            seams,
        } = self;
        plugin.take_over();
        worker.weigh_events(&plugin);
        drop(room);
        worker.takes_over(&plugin);
        queue.swap(trial, || ());
        // In this order: what changes meanwhile is in the queue for that, or is in the stores.
        queue.open();
        worker.rerun_all(&WakeReason::Listed);
        // Anyone who finds it finds its keys in the queue.
        handles.set(&plugin.name, kinds.iter().map(|kind| &kind.handle));
        let workers = (0..plugin.limits().concurrency).map(|_| {
            let worker = worker.clone();
            seams.spawn.task(async move { worker.run().await })
        });
        let workers = workers.collect();
        let resync = seams
            .spawn
            .task(resync_on(worker.clone(), resync, seams.clone()));
        let objects: usize = kinds.iter().map(|kind| kind.view.objects()).sum();
        tracing::info!(
            plugin = &*plugin.name,
            objects,
            "all lists are in: reconciling"
        );
        Controller {
            worker,
            queue,
            kinds,
            cancel,
            workers,
            _resync: resync,
        }
    }
}

/// Begins to watch for one primary kind, and returns after the first list of everything that is watched for it.
async fn watch_kind(
    parts: &ControllerParts,
    kind: u16,
    (watch, primary): (&PrimaryWatch, &Resource),
    queue: &Arc<WorkQueue>,
) -> (Arc<View>, Watches) {
    let plugin = &parts.plugin;
    let description = &plugin.description;
    let names = (&*plugin.name, parts.finalizer.clone());
    let watch_spec = WatchSpec {
        ignores_annotations: parts.ignores_annotations,
        ..description.watch_spec(names, watch, primary.clone())
    };
    let queue = Arc::new(KindQueue {
        queue: queue.clone(),
        kind,
    });
    let view = Arc::new(View::new(watch_spec, queue, plugin.account()));
    let means = WatchDependencies {
        informers: &parts.informers,
        discovery: &parts.discovery,
        api: &parts.api,
        seams: &parts.seams,
    };
    let watches = Watches::start(plugin, &parts.grants, (watch, primary), means, &view).await;
    bug!(ListsAreNotWaitedFor, watches.synced().await, ());
    (view, watches)
}

fn primaries(kinds: &[WatchedKind]) -> Vec<ServedPrimary> {
    let primaries = kinds.iter().map(|kind| ServedPrimary {
        watch: kind.handle.watch,
        resource: kind.handle.primary().clone(),
    });
    primaries.collect()
}

/// Waits until one of the `kinds` is served as something else.
async fn moved(kinds: &[WatchedKind]) {
    if kinds.is_empty() {
        return std::future::pending().await;
    }
    select_all(kinds.iter().map(|kind| Box::pin(kind.watches.moved()))).await;
}

/// Runs every key again from time to time, low: whatever was missed is made good. Plugins do it at
/// different times.
async fn resync_on(worker: Arc<Worker>, resync: Duration, seams: Seams) {
    loop {
        let early = resync.mul_f64(1.0 - SPREAD);
        seams
            .clock
            .sleep(seams.rng.spread(early, 2.0 * SPREAD))
            .await;
        worker.rerun_all(&WakeReason::Resync);
    }
}

impl Controller {
    /// Calls `version` from the next pass on, and runs every key again, at low priority; in no more than `trial` passes
    /// at first, if it is on trial. Calls in flight end on the code that they began with. The version must want what the
    /// one before it wanted: it gets the same informers, grants and workers.
    pub fn swap(&self, version: CalledVersion, trial: Option<usize>) {
        version.plugin.take_over();
        self.worker.swap(version, trial);
    }

    /// The version that runs is on trial no more: it makes passes without bound.
    pub fn end_trial(&self) {
        self.queue.end_trial();
    }

    /// The version that runs has failed its trial: it begins no more passes.
    pub fn fail_trial(&self) {
        self.queue.fail_trial();
    }

    /// How many primaries there are.
    pub fn objects(&self) -> usize {
        let objects = |kind: &WatchedKind| kind.view.primaries();
        self.kinds.iter().map(objects).sum()
    }

    /// How many primaries wait for the plugin's `finalize` before they can go.
    pub fn finalizers(&self) -> usize {
        self.kinds.iter().map(|kind| kind.view.finalizers()).sum()
    }

    /// Waits until a primary kind is served as something else, so that another controller is needed.
    pub async fn moved(&self) {
        moved(&self.kinds).await;
    }

    /// Its primary kinds, as they were served.
    pub fn primaries(&self) -> Vec<ServedPrimary> {
        primaries(&self.kinds)
    }

    /// Hands out no more keys.
    pub fn drain(&self) {
        self.queue.close();
    }

    /// How many passes run now.
    pub fn running(&self) -> usize {
        self.queue.load().1
    }

    /// Tells the calls that run to stop.
    pub fn abort(&self) {
        self.queue.close();
        self.cancel.stop();
    }

    /// Waits until the last pass has ended.
    pub async fn ended(self) {
        for worker in self.workers {
            // A worker that panicked has ended too.
            let _ = worker.await;
        }
        self.worker.forget_passes();
    }
}
