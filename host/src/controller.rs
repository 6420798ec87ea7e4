//! One plugin's loop: informers fill the store and the queue, workers empty the queue.
//!
//! - No key runs before every informer that the plugin needs has its first list.
//! - A kind that the cluster does not serve counts as listed and empty; only an absent primary
//!   holds a plugin back.

mod backoff;
mod finalizer;
mod informer;
mod queue;
mod reconcile;
mod retry;
mod watches;
mod work;
mod worker;

use std::sync::Arc;

pub use reconcile::{FinalizerPatch, settle_finalizer};

use crate::api::{Api, Discovery, Resource};
use crate::events::Recorder;
use crate::grants::Grants;
use crate::plugin::cluster::Door;
use crate::plugin::{Cancel, Plugin};
use crate::seams::{Seams, Task};
use crate::view::View;
use reconcile::Reconciler;
use watches::Watches;
use work::WorkQueue;
use worker::Worker;

/// What a controller is made of.
pub struct Parts {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What it may touch.
    pub grants: Grants,
    /// The door to the API server.
    pub api: Api,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// Where Events go.
    pub events: Recorder,
    /// Time, randomness and tasks.
    pub seams: Seams,
}

/// A running controller.
pub struct Controller {
    queue: Arc<WorkQueue>,
    cancel: Cancel,
    workers: Vec<Task>,
    _watches: Watches,
}

impl Controller {
    /// Starts the controller of `parts.plugin` for the kind `primary`, and returns once its workers
    /// run: after the first list of everything that it watches.
    pub async fn start(parts: Parts, primary: Resource) -> Self {
        let Parts {
            plugin,
            grants,
            api,
            discovery,
            events,
            seams,
        } = parts;
        let queue = Arc::new(WorkQueue::new(seams.clock));
        let outlook = plugin.description.outlook(&plugin.name, primary.clone());
        let wake = queue.clone();
        let view = Arc::new(View::new(outlook, Box::new(move |key| wake.add(key))));
        let watches = Watches::start(&plugin, &grants, &primary, &api, &discovery, &view, &seams);
        watches.synced().await;
        let door = Arc::new(Door {
            plugin: plugin.name.clone(),
            api,
            discovery,
            grants,
            view,
            events,
            api_calls: plugin.limits().api_calls,
        });
        let cancel = Cancel::default();
        let reconciler = Arc::new(Reconciler::new(
            plugin.clone(),
            door,
            primary,
            cancel.clone(),
        ));
        let worker = Arc::new(Worker::new(reconciler, queue.clone(), seams.clone()));
        let workers = (0..plugin.limits().concurrency).map(|_| {
            let worker = worker.clone();
            seams.spawn.task(async move { worker.run().await })
        });
        let workers = workers.collect();
        let objects = worker.objects();
        tracing::info!(
            plugin = &*plugin.name,
            objects,
            "all lists are in: reconciling"
        );
        Self {
            queue,
            cancel,
            workers,
            _watches: watches,
        }
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
    }
}
