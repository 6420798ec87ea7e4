//! Informers: what the API server holds of a resource, kept up to date, once for all plugins.
//!
//! - There is one informer for each [`InformerKey`], for all plugins: the first subscription starts it, the
//!   last one stops it and frees its store.
//! - An informer never waits for a plugin: its only consumers are its store and what its subscribers do
//!   at once with a change.
//!
//! ```text
//! API server ─> reflector ─> store ─> subscribers (a view each) ─> queue
//!                              ^
//!        answers to requests ──┘
//! ```

mod audit;
mod bell;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
mod reflector;
mod shared;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod version_snapshot;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use bell::bell;
use parking_lot::Mutex;
pub use shared::{EventHandler, InformerPhase, KnownVersion, Notification, Origin};
pub use store::Change;

use tokio::time::Instant;

use crate::api::{Api, Discovery, Resource};
use crate::object::{Fields, Key, Object};
use crate::selector::LabelSelector;
use audit::Auditor;
use reflector::Reflector;
use shared::{InformerState, Registration, SharedInformer};
use store::Store;
use windlass_base::memory::Account;
use windlass_base::seams::{Seams, Task};

/// What an informer looks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InformerKey {
    /// The resource.
    pub resource: Resource,
    /// None for all namespaces, or a cluster-scoped resource.
    pub namespace: Option<String>,
    /// Which objects.
    pub label_selector: Option<String>,
    /// Which objects.
    pub field_selector: Option<String>,
    /// Only the metadata of objects that carry this finalizer, if there is one.
    pub finalizer: Option<String>,
    /// Only the metadata of objects.
    pub metadata_only: bool,
}

impl InformerKey {
    /// All objects of `resource`, in all namespaces.
    pub fn all_of(resource: Resource) -> Self {
        Self {
            resource,
            namespace: None,
            label_selector: None,
            field_selector: None,
            finalizer: None,
            metadata_only: false,
        }
    }
}

/// The informers of a host. Cheap to clone.
#[derive(Clone)]
pub struct Informers(Arc<InformersInner>);

/// What the informers of one resource hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// How many informers.
    pub informers: usize,
    /// How many objects.
    pub objects: usize,
    /// Bytes of their JSON, as it is kept.
    pub bytes: usize,
    /// How many of the objects were found not to be as on the server, since the informers began.
    pub divergences: u64,
}

/// How informers are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The longest line of a watch. The API server takes objects of 3 MiB.
    pub longest_line: usize,
    /// How often the store is compared with the server.
    pub resync: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            longest_line: 16 << 20,
            resync: Duration::from_secs(10 * 3600),
        }
    }
}

/// What informers are made with.
#[derive(Clone)]
struct InformerDependencies {
    api: Api,
    discovery: Arc<Discovery>,
    seams: Seams,
    settings: Settings,
}

struct InformersInner {
    means: InformerDependencies,
    running: Mutex<HashMap<InformerKey, Weak<Informer>>>,
}

/// A running informer. Dropping it ends it.
struct Informer {
    watched: InformerKey,
    shared: Arc<SharedInformer>,
    informers: Weak<InformersInner>,
    auditor: Auditor,
    _tasks: [Task; 2],
}

/// A share in an informer. Dropping the last one ends the informer.
pub struct Subscription {
    registration: Registration,
    informer: Arc<Informer>,
}

impl Informers {
    /// None yet.
    pub fn new(api: Api, discovery: Arc<Discovery>, seams: Seams, settings: Settings) -> Self {
        let means = InformerDependencies {
            api,
            discovery,
            seams,
            settings,
        };
        Self(Arc::new(InformersInner {
            means,
            running: Mutex::default(),
        }))
    }

    /// Starts or joins the informer for `watched`, which keeps `fields` of each object from now on, and
    /// what others want. `handler` is told of all that it holds, and then of every change, in order; it must
    /// return at once and not use the subscription. A share of what the informer holds counts on `account`.
    pub fn subscribe(
        &self,
        watched: InformerKey,
        fields: Fields,
        handler: Box<dyn EventHandler>,
        account: &Account,
    ) -> Subscription {
        let informer = self.informer(watched, &fields);
        let registration = informer.shared.join(fields, handler, account);
        Subscription {
            registration,
            informer,
        }
    }

    /// What they hold, by group and resource.
    pub fn usage(&self) -> BTreeMap<(String, String), StoreUsage> {
        let running: Vec<Arc<Informer>> = {
            let running = self.0.running.lock();
            running.values().filter_map(Weak::upgrade).collect()
        };
        let mut all: BTreeMap<(String, String), StoreUsage> = BTreeMap::new();
        for informer in running {
            let resource = &informer.watched.resource;
            let name = (resource.group.clone(), resource.plural.clone());
            let held = all.entry(name).or_default();
            let (objects, bytes) = informer.shared.size();
            held.informers += 1;
            held.objects += objects;
            held.bytes += bytes;
            held.divergences += informer.shared.divergences();
        }
        all
    }

    /// How many run.
    pub fn count(&self) -> usize {
        self.0.running.lock().len()
    }

    fn informer(&self, watched: InformerKey, fields: &Fields) -> Arc<Informer> {
        let mut running = self.0.running.lock();
        if let Some(informer) = running.get(&watched).and_then(Weak::upgrade) {
            return informer;
        }
        let selective = watched.label_selector.is_some() || watched.field_selector.is_some();
        let store = Store::new(selective, watched.finalizer.clone());
        let store = store.timed_by(self.0.means.seams.clock);
        let shared = Arc::new(SharedInformer::new(store, fields.clone()));
        let means = &self.0.means;
        let reflector = Reflector::new(watched.clone(), shared.clone(), means.clone());
        let auditor = Auditor::new(watched.clone(), shared.clone(), means.clone());
        let spawn = &means.seams.spawn;
        let informer = Arc::new(Informer {
            watched: watched.clone(),
            shared,
            informers: Arc::downgrade(&self.0),
            auditor: auditor.clone(),
            _tasks: [spawn.task(reflector.run()), spawn.task(auditor.run())],
        });
        running.insert(watched, Arc::downgrade(&informer));
        informer
    }
}

impl Drop for Informer {
    fn drop(&mut self) {
        if let Some(informers) = self.informers.upgrade() {
            let mut running = informers.running.lock();
            // Another one may have been started since the last share in this one went.
            if running
                .get(&self.watched)
                .is_some_and(|informer| informer.strong_count() == 0)
            {
                running.remove(&self.watched);
            }
        }
    }
}

impl Subscription {
    /// Waits for the first list of what is wanted; a kind that is not served counts as listed and empty.
    pub async fn synced(&self) {
        let needs = self.registration.needs;
        self.reach(|state| state.phase == InformerPhase::Absent || state.listed >= needs)
            .await;
    }

    /// Waits until the informer is that far.
    pub async fn reached(&self, phase: InformerPhase) {
        self.reach(|state| state.phase == phase).await;
    }

    /// Waits until the informer is not in that phase.
    pub async fn left(&self, phase: InformerPhase) {
        self.reach(|state| state.phase != phase).await;
    }

    async fn reach(&self, wanted: impl FnMut(&InformerState) -> bool) {
        // The informer is there as long as this is.
        let _ = self.informer.shared.state().wait_for(wanted).await;
    }

    /// Waits until the informer has seen all that the server has now: one consistent read of metadata. A kind that is
    /// not served counts as seen.
    pub async fn barrier(&self) {
        self.barrier_of(self.informer.auditor.now()).await;
    }

    /// The same for what the server had at `wanted`. Nothing is read if the last list was asked for after that.
    pub async fn barrier_of(&self, wanted: Instant) {
        self.synced().await;
        self.informer.auditor.barrier(wanted).await;
    }

    /// How many objects differed from the server's, and were repaired.
    pub fn divergences(&self) -> u64 {
        self.informer.shared.divergences()
    }

    /// How far the informer is.
    pub fn phase(&self) -> InformerPhase {
        self.informer.shared.phase()
    }

    /// What the informer looks for.
    pub fn watched(&self) -> &InformerKey {
        &self.informer.watched
    }

    /// Reads one object.
    pub fn get(&self, key: &Key) -> Option<Object> {
        self.informer.shared.get(key)
    }

    /// For how long the object has been as it is, as far as this host has seen.
    pub fn unchanged_for(&self, key: &Key) -> Option<Duration> {
        self.informer.shared.unchanged_for(key)
    }

    /// Shows one object to `then`. Nothing else happens to the store meanwhile.
    pub fn look<T>(&self, key: &Key, then: impl FnOnce(Option<&Object>) -> T) -> T {
        self.informer.shared.look(key, then)
    }

    /// Some object that passes.
    pub fn find(&self, passes: impl Fn(&Object) -> bool) -> Option<Object> {
        self.informer.shared.find(passes)
    }

    /// Reads the objects in `namespace`, or everywhere, that `selector` selects.
    pub fn list(&self, namespace: Option<&str>, selector: &LabelSelector) -> Vec<Object> {
        self.informer.shared.list(namespace, selector)
    }

    /// The objects in `namespace`, or everywhere, among which are those that `selector` selects.
    pub fn candidates(&self, namespace: Option<&str>, selector: &LabelSelector) -> Vec<Object> {
        self.informer.shared.candidates(namespace, selector)
    }

    /// The objects that have the owner with this UID.
    pub fn owned_by(&self, uid: &str) -> Vec<Object> {
        self.informer.shared.owned_by(uid)
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.informer.shared.size().0
    }

    /// An answer shows an object. `take_in` hears what that changed, before anything else happens to the
    /// store and instead of this subscription's handler; all others are told.
    pub fn learn<T>(&self, object: Object, take_in: impl FnOnce(Option<&Change>) -> T) -> T {
        self.informer
            .shared
            .learn(self.registration.id, object, take_in)
    }

    /// An answer says that the object with this UID is gone, up to version `at`; otherwise as
    /// [`Subscription::learn`].
    pub fn forget<T>(
        &self,
        key: &Key,
        uid: &str,
        at: u64,
        take_in: impl FnOnce(Option<&Change>) -> T,
    ) -> T {
        self.informer
            .shared
            .forget(self.registration.id, (key, uid), at, take_in)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.informer.shared.leave(self.registration.id);
    }
}
