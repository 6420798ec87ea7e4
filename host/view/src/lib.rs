//! The cluster as one plugin sees it: its share in the host's informers, cut to what it declared.
//!
//! - The answers to the plugin's own requests are in the informers' stores at once, and every change
//!   there wakes whom it concerns.
//!
//! ```layers
//! observed, tracked, write  reads and writes of a call; what a key has read
//! effect, journal, unselected  what a write did; objects that leave the selectors
//! benchmarks, difference, event_mapper, informed, kinds, shares, sources  which keys a change wakes; the plugin's share in the informers
//! applied, authors, guide, location, own_writes, reads, unanswered, wake_reason  what is known of one write or one read
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod applied;
mod authors;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
mod difference;
mod effect;
mod event_mapper;
mod guide;
mod informed;
mod journal;
mod kinds;
mod location;
mod observed;
mod own_writes;
mod reads;
mod shares;
mod sources;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod tracked;
mod unanswered;
mod unselected;
mod wake_reason;
mod write;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub use applied::Applied;
use applied::Applies;
use authors::Authors;
pub use difference::differences;
pub use difference::{Difference, Hide, ValueHash};
pub use effect::SentWrite;
use event_mapper::EventMapper;
use journal::Journals;
pub use journal::{Journal, Rewrite, Saw, WriteOutcome, Wrote};
use kinds::KindReads;
pub use kinds::{KindsDigest, MissingKind};
use location::ObjectLocation;
pub use observed::{LiveTarget, UnsentWrite};
use own_writes::OwnWrites;
use parking_lot::{Mutex, RwLock};
use reads::Reads;
use shares::{WatchedResource, answers};
pub use sources::SourceName;
use sources::SourceReads;
use unanswered::Unanswered;
use unselected::Unselected;
pub use wake_reason::{Enqueue, WakeReason};
pub use write::Write;

use windlass_base::bugs::bug;
use windlass_base::memory::Account;
use windlass_kube::api::Resource;
use windlass_kube::informer::{Change, Subscription};
use windlass_kube::object::{ApplyScope, Fields, Key, Metadata, Object};
use windlass_kube::selector::LabelSelector;

/// What a plugin looks at, as its description says.
#[derive(Clone, Debug)]
pub struct WatchSpec {
    /// Its kind of primaries.
    pub primary: Resource,
    /// Its finalizer.
    pub finalizer: String,
    /// The field manager of what its primaries own.
    pub manager: String,
    /// Whether it reconciles only some of its primaries.
    pub selects: bool,
    /// Whether some of its primaries are finalized.
    pub is_finalized: bool,
    /// Whether it reconciles only some of them, and may watch all.
    pub watches_unselected: bool,
    /// Whether changes of a primary's status alone do not concern it.
    pub spec_change_only: bool,
    /// Whether the annotations by which users pause a primary, or ask for a pass, do not count.
    pub ignores_annotations: bool,
    /// What it reads of each resource, by group and plural; what is not here it reads whole.
    pub fields: HashMap<(String, String), Fields>,
    /// What it watches whole kinds of, by group and plural.
    pub watches: BTreeSet<(String, String)>,
}

/// Where a view puts the keys that are to run: the work queue of its controller.
pub trait KeyQueue: Send + Sync {
    /// Marks a key as needing work. Called under the lock of an informer's store.
    fn enqueue(&self, wakeup: Enqueue);
}

/// The queue of a view whose keys nobody runs.
struct NoQueue;

impl KeyQueue for NoQueue {
    fn enqueue(&self, _: Enqueue) {}
}

/// A field manager, and what it wrote.
pub type FieldOwner = (String, ApplyScope);

/// Names an object.
type ObjectId = (Resource, Key);

/// One plugin's view.
pub struct View {
    watch_spec: WatchSpec,
    /// What is watched; only what has had its first list.
    watched: RwLock<HashMap<Resource, WatchedResource>>,
    /// Primaries that carry the plugin's finalizer, also outside its selector: metadata alone.
    with_finalizer: RwLock<Vec<Arc<Subscription>>>,
    unselected: Unselected,
    applies: Mutex<Applies>,
    own: Mutex<OwnWrites<ObjectId, Key>>,
    reads: Mutex<Reads>,
    authors: Mutex<Authors>,
    journals: Mutex<Journals>,
    unanswered: Unanswered,
    kinds: KindReads,
    sources: SourceReads,
    /// Keys that run when something more is watched.
    waiting: Mutex<BTreeSet<Key>>,
    wakes: EventMapper,
    queue: Arc<dyn KeyQueue>,
}

impl View {
    /// A view of nothing yet. It puts the keys that are to run into `queue`, and what it keeps counts on `account`.
    pub fn new(watch_spec: WatchSpec, queue: Arc<dyn KeyQueue>, account: &Account) -> Self {
        Self {
            watched: RwLock::default(),
            with_finalizer: RwLock::default(),
            unselected: Unselected::default(),
            applies: Mutex::default(),
            own: Mutex::default(),
            reads: Mutex::new(Reads::on(account)),
            authors: Mutex::new(Authors::on(account)),
            journals: Mutex::default(),
            unanswered: Unanswered::default(),
            kinds: KindReads::on(account),
            sources: SourceReads::on(account),
            waiting: Mutex::default(),
            wakes: EventMapper::new(&watch_spec),
            watch_spec,
            queue,
        }
    }

    /// A view without informers: every read goes to the API server, and nobody is woken.
    pub fn unwatched(watch_spec: WatchSpec) -> Self {
        Self::new(watch_spec, Arc::new(NoQueue), &Account::unlimited())
    }

    /// Whether the store answers for this object.
    pub fn holds(&self, resource: &Resource, key: &Key) -> bool {
        let unselected = self.is_selected_primary(resource) && self.get(resource, key).is_none();
        self.answers_for(resource, key.namespace.as_deref()) && !unselected
    }

    /// Whether the plugin watches `resource` in `namespace`, whichever objects it selects there.
    pub fn looks_into(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        self.covers(resource, namespace)
    }

    /// The plugin's finalizer.
    pub fn finalizer(&self) -> &str {
        &self.watch_spec.finalizer
    }

    /// Whether users have paused a primary with this metadata.
    pub fn is_paused(&self, primary: &Metadata) -> bool {
        primary.paused && !self.watch_spec.ignores_annotations
    }

    /// Whether some of the primaries are finalized.
    pub fn is_finalized(&self) -> bool {
        self.watch_spec.is_finalized
    }

    /// Whether the store answers for all objects in `namespace`, or everywhere.
    pub fn holds_all(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        self.answers_for(resource, namespace) && !self.is_selected_primary(resource)
    }

    /// Reads one object.
    pub fn get(&self, resource: &Resource, key: &Key) -> Option<Object> {
        let informer = self.informer(resource, key.namespace.as_deref())?;
        informer.get(key)
    }

    /// For how long this host has seen the object as it is.
    pub fn unchanged_for(&self, resource: &Resource, key: &Key) -> Option<Duration> {
        let informer = self.informer(resource, key.namespace.as_deref())?;
        informer.unchanged_for(key)
    }

    /// Reads the objects that `selector` selects.
    pub fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        let mut objects = self.candidates(resource, namespace, selector);
        objects.retain(|object| selector.selects(&object.metadata.labels));
        objects
    }

    /// The objects among which are those that `selector` selects: the index of labels has looked at them, and nobody else.
    pub fn candidates(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        let informers = match namespace {
            Some(_) => self.informer(resource, namespace).into_iter().collect(),
            None => self.informers(resource),
        };
        let lists = informers.iter();
        lists
            .flat_map(|informer| informer.candidates(namespace, selector))
            .collect()
    }

    /// Reads the objects that have the owner with this UID.
    pub fn owned_by(&self, resource: &Resource, namespace: Option<&str>, uid: &str) -> Vec<Object> {
        let informers = match namespace {
            Some(_) => self.informer(resource, namespace).into_iter().collect(),
            None => self.informers(resource),
        };
        let all = informers.iter().flat_map(|informer| informer.owned_by(uid));
        let inside = |object: &Object| {
            namespace.is_none() || object.metadata.key.namespace.as_deref() == namespace
        };
        all.filter(inside).collect()
    }

    /// A primary that is not in the store, but carries the plugin's finalizer.
    pub fn with_finalizer(&self, key: &Key) -> Option<Object> {
        let informers = self.finalizer_informers();
        let all = |informer: &&Arc<Subscription>| answers(informer, key.namespace.as_deref());
        informers.iter().find(all)?.get(key)
    }

    /// Runs all primaries that the plugin is to look after again: low, but for those that are being deleted.
    pub fn rerun_all(&self, why: &WakeReason) {
        let going = self.primaries_that(|object| object.metadata.deleting);
        for key in self.primaries_that(|_| true) {
            let low = bug!(DeletionsRunLow, going.binary_search(&key).is_err(), true);
            let why = why.clone();
            self.queue.enqueue(Enqueue { key, why, low });
        }
    }

    /// How many primaries carry the plugin's finalizer.
    pub fn finalizers(&self) -> usize {
        self.primaries_that(|object| object.metadata.has_finalizer(&self.watch_spec.finalizer))
            .len()
    }

    fn primaries_that(&self, wanted: impl Fn(&Object) -> bool) -> Vec<Key> {
        let everything = LabelSelector::default();
        let mut informers = self.informers(&self.watch_spec.primary);
        informers.extend(self.finalizer_informers());
        let lists = informers.iter();
        let objects = lists.flat_map(|informer| informer.list(None, &everything));
        let keys = objects
            .filter(wanted)
            .map(|object| object.metadata.key.clone());
        keys.collect::<BTreeSet<Key>>().into_iter().collect()
    }

    /// The object as the plugin may see it, as JSON.
    pub fn show(&self, resource: &Resource, object: &Object) -> String {
        match self.fields_of(resource) {
            Some(fields) => object.text_of(fields),
            None => object.json.text().into_owned(),
        }
    }

    /// A write by the key `by` is about to be sent. Hand the answer to it, or drop it if there is
    /// none.
    pub fn write(
        self: &Arc<Self>,
        resource: &Resource,
        key: &Key,
        by: &Key,
        apply_scope: ApplyScope,
    ) -> Write {
        Write::begin(
            self.clone(),
            (resource.clone(), key.clone()),
            by.clone(),
            apply_scope,
        )
    }

    fn wake(&self, key: Key, why: WakeReason) {
        let low = false;
        self.queue.enqueue(Enqueue { key, why, low });
    }

    /// Takes in what the API server answered to a read by the key `by`, which is woken if its own
    /// object has changed.
    pub fn learn(&self, resource: &Resource, object: &Object, by: &Key) {
        self.take_in(resource, object, |change| {
            if let Some(change) = change {
                self.changed(resource, change, |key| {
                    key != by || self.wakes.is_news_to_author(resource, change, by)
                });
            }
        });
    }

    /// Takes in what the API server answered when the key `by` took its finalizer off. With the last
    /// finalizer the object goes, and the answer carries no newer version than before.
    pub fn released(&self, resource: &Resource, object: &Object, by: &Key) {
        let (key, metadata) = (object.metadata.key.clone(), &object.metadata);
        if !metadata.deleting || !metadata.finalizers.is_empty() {
            self.learn(resource, object, by);
        } else if let Some(informer) = self.informer(resource, key.namespace.as_deref()) {
            informer.forget(&key, &metadata.uid, metadata.version(), |change| {
                if let Some(change) = change {
                    self.forget_applied(resource, change);
                }
            });
        }
    }

    /// Shows `object` to the informer that looks for it, if there is one; `then` hears what that
    /// changed before anything else happens there.
    fn take_in<T>(
        &self,
        resource: &Resource,
        object: &Object,
        then: impl FnOnce(Option<&Change>) -> T,
    ) -> T {
        match self.place(resource, &object.metadata.key) {
            ObjectLocation::Held(store) => store.learn(object.clone(), then),
            ObjectLocation::Unselected(_) | ObjectLocation::Unheld(_) => then(None),
        }
    }

    /// An object has changed: those whom that concerns run, if `wanted` says so.
    fn changed(&self, resource: &Resource, change: &Change, wanted: impl Fn(&Key) -> bool) {
        self.forget_applied(resource, change);
        let keys = self.woken(resource, change).into_iter();
        for key in keys.filter(wanted) {
            let why = self.wakes.why(resource, change, &key);
            self.wake(key, why);
        }
    }

    /// The object, if what `owner` would apply is what it applied last and that part of the object
    /// is still as that apply left it.
    pub fn still_applied(
        &self,
        resource: &Resource,
        key: &Key,
        owner: &FieldOwner,
        intent: &[u8; 32],
    ) -> Option<Object> {
        let held = self.get(resource, key)?;
        let applies = self.applies.lock();
        let last = applies.last(resource, key, owner)?;
        last.still_holds(intent, owner, &held).then_some(held)
    }

    /// Whether an apply would put a child back: it was here and has gone, or has another owner or none now.
    /// The owner's own deletion does that too, and may be seen later than what it did to the child.
    pub fn puts_back(&self, resource: &Resource, key: &Key, owner: &str) -> bool {
        match self.get(resource, key) {
            Some(child) => child.metadata.owners.iter().all(|held| held.uid != owner),
            None => self.applies.lock().has_gone(resource, key),
        }
    }

    /// Remembers an apply, for as long as the object is in the store.
    pub fn applied(&self, resource: &Resource, key: &Key, applied: Applied) {
        if let Some(held) = self.get(resource, key) {
            // The store's own key: it is there already.
            self.applies
                .lock()
                .insert(resource, &held.metadata.key, applied);
        }
    }

    /// What was applied to an object that is gone, or was replaced, has to be applied again.
    fn forget_applied(&self, resource: &Resource, change: &Change) {
        let uid =
            |object: &Option<Object>| object.as_ref().map(|object| object.metadata.uid.clone());
        if let Some(old) = &change.old
            && uid(&change.old) != uid(&change.new)
        {
            self.applies.lock().forget(resource, &old.metadata.key);
        }
    }

    /// What the plugin reads of `resource`.
    pub fn reads_of(&self, resource: &Resource) -> Fields {
        self.fields_of(resource).cloned().unwrap_or_default()
    }

    /// What the plugin declared that it reads of `resource`.
    fn fields_of(&self, resource: &Resource) -> Option<&Fields> {
        let fields = self
            .watch_spec
            .fields
            .get(&(resource.group.clone(), resource.plural.clone()));
        fields.filter(|fields| **fields != Fields::default())
    }

    fn is_selected_primary(&self, resource: &Resource) -> bool {
        self.watch_spec.selects && *resource == self.watch_spec.primary
    }
}
