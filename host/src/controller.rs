//! One plugin's loop: informers fill the queue, workers empty it.
//!
//! - No key runs before every informer that the plugin needs has its first list, and has seen what the server
//!   had when the host got the plugin's Lease.
//! - A kind that the cluster does not serve counts as listed and empty; only an absent primary
//!   holds a plugin back.

mod backoff;
#[cfg(feature = "benchmarks")]
pub(crate) mod benchmarks;
mod count;
mod early;
mod failing;
mod finalizer;
mod handle;
mod hot;
mod object_state;
mod once;
mod pass_run;
mod queue;
mod reconcile;
mod record;
mod report;
mod retry;
mod settle;
mod slowdown;
mod wake_reasons;
mod watches;
mod work;
mod worker;

use std::sync::{Arc, Weak};
use std::time::Duration;

pub use failing::{Failing, FailureSummary};
pub use finalizer::Step;
pub use handle::{ControllerHandle, ControllerHandles};
pub use object_state::{CacheState, Children, Delayed, Hold, ObjectState, QueuePosition};
pub use once::{Answer, OncePass};
pub use record::{Archive, PassOutcome, Record, Records};
pub use settle::{FinalizerPatch, settle_finalizer};
pub use wake_reasons::WakeReasons;

use futures::future::join_all;
use tokio::time::Instant;

use crate::api::{Api, Discovery, Resource};
use crate::bugs::bug;
use crate::events::Recorder;
use crate::grants::Grants;
use crate::informer::Informers;
use crate::memory::Room;
use crate::metrics::{Backlog, PluginMetrics};
use crate::plugin::cluster::{AccessMeans, ClusterAccess, WriteMode};
use crate::plugin::{Cancel, Plugin};
use crate::recording::FailureRecorder;
use crate::seams::{Seams, Task};
use crate::view::{View, WakeReason};
use reconcile::Reconciler;
use watches::{WatchDependencies, Watches};
use work::WorkQueue;
use worker::Worker;

/// How much earlier or later than asked for a resync comes (controller-runtime's 10 %).
const SPREAD: f64 = 0.1;

/// What a controller is made of.
pub struct ControllerParts {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What it may touch.
    pub grants: Grants,
    /// The connection to the API server.
    pub api: Api,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// What is watched.
    pub informers: Informers,
    /// Where Events go.
    pub events: Recorder,
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

impl ControllerParts {
    /// What the plugin's calls reach the cluster by; it counts in the plugin's metrics.
    fn cluster_access(&self, view: Arc<View>) -> ClusterAccess {
        let means = AccessMeans {
            api: self.api.clone(),
            discovery: self.discovery.clone(),
            events: self.events.clone(),
        };
        let (meters, grants) = (&self.meters, self.grants.clone());
        ClusterAccess {
            used: meters.used.clone(),
            calls: meters.calls.clone(),
            custom_metrics: meters.custom_metrics.clone(),
            throttled: meters.throttled.clone(),
            ..ClusterAccess::of(&self.plugin, grants, view, means, WriteMode::Sent)
        }
    }
}

/// A controller whose lists are in and are kept up to date, and which makes no passes yet.
pub struct Prepared {
    plugin: Arc<Plugin>,
    view: Arc<View>,
    worker: Arc<Worker>,
    queue: Arc<WorkQueue>,
    handle: Arc<ControllerHandle>,
    handles: ControllerHandles,
    cancel: Cancel,
    watches: Watches,
    /// For what it makes the host hold before it takes over.
    room: Room,
    resync: Duration,
    seams: Seams,
}

/// A running controller.
pub struct Controller {
    view: Arc<View>,
    worker: Arc<Worker>,
    queue: Arc<WorkQueue>,
    cancel: Cancel,
    workers: Vec<Task>,
    _resync: Task,
    handle: Arc<ControllerHandle>,
    watches: Watches,
}

impl Prepared {
    /// Begins to watch for `parts.plugin` and the kind `primary`, and returns after the first list
    /// of everything that the plugin watches.
    pub async fn watch(parts: ControllerParts, primary: Resource) -> Self {
        let (plugin, meters) = (&parts.plugin, &parts.meters);
        let room = plugin.make_room();
        let _ = meters.account.set(plugin.account().clone());
        let queue = Arc::new(WorkQueue::new(parts.seams.clock, meters.clone()));
        let watch_spec = plugin.description.watch_spec(&plugin.name, primary.clone());
        let view = Arc::new(View::new(watch_spec, queue.clone(), plugin.account()));
        let means = WatchDependencies {
            informers: &parts.informers,
            discovery: &parts.discovery,
            seams: &parts.seams,
        };
        let watches = Watches::start(plugin, &parts.grants, &primary, means, &view).await;
        bug!(ListsAreNotWaitedFor, watches.synced().await, ());
        Self::of(parts, primary, (view, queue), watches, room)
    }

    /// Makes the rest of a controller whose lists are in.
    fn of(
        parts: ControllerParts,
        primary: Resource,
        (view, queue): (Arc<View>, Arc<WorkQueue>),
        watches: Watches,
        room: Room,
    ) -> Self {
        let cancel = Cancel::default();
        let reconciler = Reconciler::new(
            parts.plugin.clone(),
            Arc::new(parts.cluster_access(view.clone())),
            primary.clone(),
            cancel.clone(),
            parts.failures,
        );
        let worker = Arc::new(Worker::new(
            Arc::new(reconciler),
            queue.clone(),
            (parts.records.clone(), parts.meters.clone()),
            parts.seams.clone(),
        ));
        let handle = Arc::new(ControllerHandle {
            primary,
            view: view.clone(),
            queue: queue.clone(),
            worker: worker.clone(),
            records: parts.records,
            meters: parts.meters,
            grants: parts.grants,
        });
        Self {
            plugin: parts.plugin,
            view,
            worker,
            queue,
            handle,
            handles: parts.handles,
            cancel,
            watches,
            room,
            resync: parts.resync,
            seams: parts.seams,
        }
    }

    /// Calls `plugin` instead, which must want what the one before it wanted.
    pub fn swap(&mut self, plugin: Arc<Plugin>) {
        self.room = plugin.make_room();
        self.worker.reconciler().replace(plugin.clone());
        self.plugin = plugin;
    }

    /// Waits until everything that the plugin watches has been seen as the server had it at `wanted`: whatever
    /// another host had written for the plugin by then.
    pub async fn barrier(&self, wanted: Instant) {
        let shares = self.view.all_shares();
        join_all(shares.iter().map(|share| share.barrier_of(wanted))).await;
    }

    /// Waits until the primary kind is served as something else, so that another one is needed.
    pub async fn moved(&self) {
        self.watches.moved().await;
    }

    /// Begins to make passes.
    pub fn start(self) -> Controller {
        let Self {
            plugin,
            view,
            worker,
            queue,
            handle,
            handles,
            cancel,
            watches,
            room,
            resync,
            seams,
        } = self;
        plugin.take_over();
        worker.weigh_events(&plugin);
        drop(room);
        let backlog: Weak<dyn Backlog> = Arc::<WorkQueue>::downgrade(&queue);
        handle.meters.waits_in(backlog);
        let workers = u64::try_from(plugin.limits().concurrency).unwrap_or(0);
        handle.meters.max_concurrent.set(workers);
        handle.meters.custom_metrics.clear();
        handle.forget();
        // In this order: what changes meanwhile is in the queue for that, or is in the stores.
        queue.open();
        view.rerun_all(&WakeReason::Listed);
        // Anyone who finds it finds its keys in the queue.
        handles.set(&plugin.name, &handle);
        let workers = (0..plugin.limits().concurrency).map(|_| {
            let worker = worker.clone();
            seams.spawn.task(async move { worker.run().await })
        });
        let workers = workers.collect();
        let resync = seams
            .spawn
            .task(resync_on(view.clone(), resync, seams.clone()));
        let objects = view.objects();
        tracing::info!(
            plugin = &*plugin.name,
            objects,
            "all lists are in: reconciling"
        );
        Controller {
            view,
            worker,
            queue,
            cancel,
            workers,
            _resync: resync,
            handle,
            watches,
        }
    }
}

/// Runs every key again from time to time, low: whatever was missed is made good. Plugins do it at
/// different times.
async fn resync_on(view: Arc<View>, resync: Duration, seams: Seams) {
    loop {
        let early = resync.mul_f64(1.0 - SPREAD);
        seams
            .clock
            .sleep(seams.rng.spread(early, 2.0 * SPREAD))
            .await;
        view.rerun_all(&WakeReason::Resync);
    }
}

impl Controller {
    /// Calls `plugin` from the next pass on, and runs every key again, at low priority. Calls in
    /// flight end on the code that they began with. The plugin must want what the one before it
    /// wanted: it gets the same informers, grants and workers.
    pub fn swap(&self, plugin: Arc<Plugin>) {
        plugin.take_over();
        self.worker.swap(plugin);
    }

    /// How many primaries wait for the plugin's `finalize` before they can go.
    pub fn finalizers(&self) -> usize {
        self.view.finalizers()
    }

    /// Waits until the primary kind is served as something else, so that another controller is needed.
    pub async fn moved(&self) {
        self.watches.moved().await;
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
        self.handle.forget();
    }
}
