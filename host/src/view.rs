//! The cluster as one plugin sees it: the store of what it watches, cut to what it declared.
//!
//! - Informers fill it, the answers to the plugin's own requests as well, and every change in it
//!   wakes whom it concerns.

mod applied;
mod informed;
mod key;
mod object;
mod own_writes;
mod reads;
mod store;
mod tracked;
mod wakes;
mod write;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub use applied::{Applied, Extent};
pub use key::Key;
pub use object::{Metadata, Object, finalizer_of};
use own_writes::OwnWrites;
use reads::Reads;
use store::{Change, Store};
use wakes::Wakes;
pub use write::Write;

use crate::api::Resource;
use crate::grants::Scope;
use crate::projection::Fields;
use crate::selector::LabelSelector;

/// What a plugin looks at, as its description says.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Its kind of primaries.
    pub primary: Resource,
    /// Its finalizer.
    pub finalizer: String,
    /// Whether it reconciles only some of its primaries.
    pub selects: bool,
    /// Whether changes of a primary's status alone do not concern it.
    pub spec_change_only: bool,
    /// What it reads of each resource, by group and plural; what is not here it reads whole.
    pub fields: HashMap<(String, String), Fields>,
}

/// Who is told of the keys to run.
pub type Wake = Box<dyn Fn(Key) + Send + Sync>;

/// A field manager, and what it wrote.
type Slot = (String, Extent);

/// Names an object.
type Name = (Resource, Key);

/// Objects that were applied and have gone are remembered up to this number; then all are forgotten, which
/// costs nothing but a check.
const MOST_GONE: usize = 4096;

/// One plugin's view.
pub struct View {
    store: Store,
    /// Primaries outside the plugin's selector that carry its finalizer: metadata alone.
    strays: Store,
    outlook: Outlook,
    /// What is watched, and where; only what has had its first list.
    watched: RwLock<HashMap<Resource, Scope>>,
    applied: Mutex<HashMap<Name, HashMap<Slot, Applied>>>,
    /// What was applied and has gone since.
    gone: Mutex<HashSet<Name>>,
    own: Mutex<OwnWrites<Name, Key>>,
    reads: Mutex<Reads>,
    wakes: Wakes,
    wake: Wake,
}

impl View {
    /// A view of nothing yet. It tells `wake` of the keys to run.
    pub fn new(outlook: Outlook, wake: Wake) -> Self {
        Self {
            store: Store::default(),
            strays: Store::default(),
            watched: RwLock::default(),
            applied: Mutex::default(),
            gone: Mutex::default(),
            own: Mutex::default(),
            reads: Mutex::default(),
            wakes: Wakes::new(outlook.primary.clone(), outlook.spec_change_only),
            outlook,
            wake,
        }
    }

    /// A view without informers: every read goes to the API server, and nobody is woken.
    pub fn unwatched(outlook: Outlook) -> Self {
        Self::new(outlook, Box::new(drop))
    }

    /// Whether the store answers for this object.
    pub fn holds(&self, resource: &Resource, key: &Key) -> bool {
        let unselected =
            self.is_selected_primary(resource) && self.store.get(resource, key).is_none();
        self.covers(resource, key.namespace.as_deref()) && !unselected
    }

    /// Whether the store answers for all objects in `namespace`, or everywhere.
    pub fn holds_all(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        self.covers(resource, namespace) && !self.is_selected_primary(resource)
    }

    /// Reads one object.
    pub fn get(&self, resource: &Resource, key: &Key) -> Option<Object> {
        self.store.get(resource, key)
    }

    /// Reads the objects that `selector` selects.
    pub fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        self.store.list(resource, namespace, selector)
    }

    /// A primary that is not in the store, but carries the plugin's finalizer.
    pub fn stray(&self, key: &Key) -> Option<Object> {
        self.strays.get(&self.outlook.primary, key)
    }

    /// All primaries that the plugin is to look after.
    pub fn primaries(&self) -> Vec<Key> {
        self.primaries_that(|_| true)
    }

    /// How many primaries carry the plugin's finalizer.
    pub fn finalizers(&self) -> usize {
        self.primaries_that(|object| object.metadata.has_finalizer(&self.outlook.finalizer))
            .len()
    }

    fn primaries_that(&self, wanted: impl Fn(&Object) -> bool) -> Vec<Key> {
        let everything = LabelSelector::default();
        let list = |store: &Store| store.list(&self.outlook.primary, None, &everything);
        let objects = [&self.store, &self.strays].map(list).into_iter().flatten();
        let keys = objects.filter(wanted).map(|object| object.metadata.key());
        keys.collect::<BTreeSet<Key>>().into_iter().collect()
    }

    /// The object as the plugin may see it, as JSON.
    pub fn show(&self, resource: &Resource, object: &Object) -> String {
        match self.fields_of(resource) {
            Some(fields) => fields.cut(&object.value()).to_string(),
            None => object.json.to_string(),
        }
    }

    /// A write by the key `by` is about to be sent. Hand the answer to it, or drop it if there is
    /// none.
    pub fn write(
        self: &Arc<Self>,
        resource: &Resource,
        key: &Key,
        by: &Key,
        extent: Extent,
    ) -> Write {
        Write::begin(
            self.clone(),
            (resource.clone(), key.clone()),
            by.clone(),
            extent,
        )
    }

    /// The key must run again.
    fn rerun(&self, key: Key) {
        (self.wake)(key);
    }

    /// Takes in what the API server answered to a read by the key `by`, which is woken if its own
    /// object has changed.
    pub fn learn(&self, resource: &Resource, object: &Object, by: &Key) {
        self.take_in(resource, object, |key, change| {
            key != by || self.wakes.is_news_to_author(resource, change, by)
        });
    }

    /// Takes in what the API server answered when the key `by` took its finalizer off. With the last
    /// finalizer the object goes, and the answer carries no newer version than before.
    pub(crate) fn released(&self, resource: &Resource, object: &Object, by: &Key) {
        if !object.metadata.deleting || !object.metadata.finalizers.is_empty() {
            self.learn(resource, object, by);
        } else if let Some(change) = self.store.delete(resource, object) {
            self.forget_applied(resource, &change);
        }
    }

    /// Takes in what the API server answered to a write by the key `by`; `true` if it is new. A
    /// write of status wakes its author if its own object has changed in more than that. After any
    /// other write only the watch can tell whose change it was.
    pub(crate) fn learn_own(
        &self,
        resource: &Resource,
        object: &Object,
        by: &Key,
        extent: Extent,
    ) -> bool {
        self.take_in(resource, object, |key, change| match extent {
            Extent::Status => key != by || self.wakes.is_news_to_author(resource, change, by),
            Extent::Rest | Extent::Whole => key != by,
        })
    }

    fn take_in(
        &self,
        resource: &Resource,
        object: &Object,
        wake: impl Fn(&Key, &Change) -> bool,
    ) -> bool {
        if !self.holds(resource, &object.metadata.key()) {
            return false;
        }
        let Some(change) = self.store.learn(resource, object.clone()) else {
            return false;
        };
        self.forget_applied(resource, &change);
        let keys = self.woken(resource, &change).into_iter();
        keys.filter(|key| wake(key, &change))
            .for_each(|key| (self.wake)(key));
        true
    }

    /// Takes out what the API server said is gone, to the key `by`.
    pub(crate) fn forget(&self, resource: &Resource, key: &Key, uid: &str, by: &Key) {
        let held = self
            .store
            .get(resource, key)
            .filter(|object| object.metadata.uid == uid);
        if let Some(object) = held
            && let Some(change) = self.store.forget(resource, &object)
        {
            self.forget_applied(resource, &change);
            let woken = self.woken(resource, &change).into_iter();
            woken
                .filter(|key| key != by)
                .for_each(|key| (self.wake)(key));
        }
    }

    /// The object, if what `slot` would apply is what it applied last and that part of the object
    /// is still as that apply left it.
    pub fn still_applied(
        &self,
        resource: &Resource,
        key: &Key,
        slot: &Slot,
        intent: &[u8; 32],
    ) -> Option<Object> {
        let held = self.store.get(resource, key)?;
        let applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        let last = applied.get(&(resource.clone(), key.clone()))?.get(slot)?;
        last.still_holds(intent, slot.1, &held).then_some(held)
    }

    /// Whether an apply would put a child back: it was here and has gone, or has another owner or none now.
    /// The owner's own deletion does that too, and may be seen later than what it did to the child.
    pub fn puts_back(&self, resource: &Resource, key: &Key, owner: &str) -> bool {
        match self.store.get(resource, key) {
            Some(child) => child.metadata.owners.iter().all(|held| held.uid != owner),
            None => {
                let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
                gone.contains(&(resource.clone(), key.clone()))
            }
        }
    }

    /// Remembers an apply, for as long as the object is in the store.
    pub fn applied(&self, resource: &Resource, key: &Key, slot: Slot, applied: Applied) {
        if self.store.get(resource, key).is_some() {
            let mut all = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry((resource.clone(), key.clone()))
                .or_default()
                .insert(slot, applied);
        }
    }

    /// From now on the store answers for `resource` in `scope`.
    pub(crate) fn watch(&self, resource: Resource, scope: Scope) {
        self.watched
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(resource, scope);
    }

    /// How many objects the store holds.
    pub fn objects(&self) -> usize {
        self.store.count()
    }

    /// What was applied to an object that is gone, or was replaced, has to be applied again.
    fn forget_applied(&self, resource: &Resource, change: &Change) {
        let uid =
            |object: &Option<Object>| object.as_ref().map(|object| object.metadata.uid.clone());
        if let Some(old) = &change.old
            && uid(&change.old) != uid(&change.new)
        {
            let name = (resource.clone(), old.metadata.key());
            let mut all = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
            if all.remove(&name).is_some() {
                let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
                if gone.len() >= MOST_GONE {
                    gone.clear();
                }
                gone.insert(name);
            }
        }
    }

    /// What the plugin declared that it reads of `resource`.
    fn fields_of(&self, resource: &Resource) -> Option<&Fields> {
        let fields = self
            .outlook
            .fields
            .get(&(resource.group.clone(), resource.plural.clone()));
        fields.filter(|fields| **fields != Fields::default())
    }

    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> MutexGuard<'_, OwnWrites<Name, Key>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn covers(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
        match (watched.get(resource), namespace) {
            (Some(Scope::All), _) => true,
            (Some(Scope::Namespaces(names)), Some(namespace)) => {
                names.iter().any(|name| name == namespace)
            }
            (Some(Scope::Namespaces(_)), None) | (None, _) => false,
        }
    }

    fn is_selected_primary(&self, resource: &Resource) -> bool {
        self.outlook.selects && *resource == self.outlook.primary
    }
}
