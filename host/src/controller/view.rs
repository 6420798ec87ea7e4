//! The cluster as one plugin sees it: the store of what it watches, cut to what it declared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::applied::{Applied, Extent};
use super::finalizer::finalizer_of;
use super::key::Key;
use super::object::Object;
use super::own_writes::OwnWrites;
use super::store::{Change, Store};
use super::wakes::Wakes;
use super::work::WorkQueue;
use super::write::Write;
use crate::api::Resource;
use crate::grants::{Scope, split_subresource};
use crate::plugin::Plugin;
use crate::projection::Fields;
use crate::seams::Clock;
use crate::selector::LabelSelector;

/// A field manager, and what it wrote.
type Slot = (String, Extent);

/// Names an object.
pub(super) type Name = (Resource, Key);

/// One plugin's view.
pub struct View {
    store: Store,
    /// Primaries outside the plugin's selector that carry its finalizer: metadata alone.
    strays: Store,
    finalizer: String,
    primary: Resource,
    selects: bool,
    /// What is watched, and where; only what has had its first list.
    watched: RwLock<HashMap<Resource, Scope>>,
    fields: HashMap<(String, String), Fields>,
    applied: Mutex<HashMap<(Resource, Key), HashMap<Slot, Applied>>>,
    own: Mutex<OwnWrites<Name, Key>>,
    wakes: Wakes,
    queue: Arc<WorkQueue>,
}

impl View {
    /// A view of nothing yet, for `plugin` with its `primary` kind.
    pub(super) fn new(plugin: &Plugin, primary: Resource, queue: Arc<WorkQueue>) -> Self {
        let description = &plugin.description;
        let mut fields: HashMap<(String, String), Fields> = HashMap::new();
        let own = (
            (primary.group.clone(), primary.plural.clone()),
            description.fields.clone(),
        );
        let reads = |verbs: &[String]| {
            verbs
                .iter()
                .any(|verb| matches!(verb.as_str(), "get" | "list" | "watch"))
        };
        let needs = description
            .needs
            .iter()
            .filter(|need| reads(&need.verbs) && split_subresource(&need.resource).1.is_none());
        let needs = needs.map(|need| {
            (
                (need.group.clone(), need.resource.clone()),
                need.fields.clone(),
            )
        });
        for (name, declared) in std::iter::once(own).chain(needs) {
            // The primary's own rule repeats what `watch` says, and need not say it again.
            let is_own = name == (primary.group.clone(), primary.plural.clone());
            match fields.remove(&name) {
                Some(held) if is_own && declared == Fields::default() => fields.insert(name, held),
                Some(held) => fields.insert(name, held.union(declared)),
                None => fields.insert(name, declared),
            };
        }
        let wakes = Wakes::new(primary.clone(), description.spec_change_only);
        Self {
            store: Store::default(),
            strays: Store::default(),
            finalizer: finalizer_of(&plugin.name),
            selects: description.selects(),
            primary,
            watched: RwLock::default(),
            fields,
            applied: Mutex::default(),
            own: Mutex::default(),
            wakes,
            queue,
        }
    }

    /// A view of a plugin that runs without informers: every read goes to the API server.
    pub fn unwatched(plugin: &Plugin, primary: Resource, clock: Clock) -> Self {
        Self::new(plugin, primary, Arc::new(WorkQueue::new(clock)))
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
        self.strays.get(&self.primary, key)
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
    pub(super) fn wake(&self, key: Key) {
        self.queue.add(key);
    }

    /// Takes in what the API server answered to a read by the key `by`, which is woken if its own
    /// object has changed.
    pub fn learn(&self, resource: &Resource, object: &Object, by: &Key) {
        self.take_in(resource, object, |key, change| {
            key != by || self.wakes.is_news_to_author(resource, change, by)
        });
    }

    /// Takes in what the API server answered to a write by the key `by`; `true` if it is new. A
    /// write of status wakes its author if its own object has changed in more than that. After any
    /// other write only the watch can tell whose change it was.
    pub(super) fn learn_own(
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
        let keys = self
            .wakes
            .woken(resource, &change, self.fields_of(resource))
            .into_iter();
        keys.filter(|key| wake(key, &change))
            .for_each(|key| self.queue.add(key));
        true
    }

    /// Takes out what the API server said is gone, to the key `by`.
    pub(super) fn forget(&self, resource: &Resource, key: &Key, uid: &str, by: &Key) {
        let held = self
            .store
            .get(resource, key)
            .filter(|object| object.metadata.uid == uid);
        if let Some(object) = held
            && let Some(change) = self.store.forget(resource, &object)
        {
            self.forget_applied(resource, &change);
            let woken = self
                .wakes
                .woken(resource, &change, self.fields_of(resource))
                .into_iter();
            woken
                .filter(|key| key != by)
                .for_each(|key| self.queue.add(key));
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

    /// Remembers an apply, for as long as the object is in the store.
    pub fn applied(&self, resource: &Resource, key: &Key, slot: Slot, applied: Applied) {
        if self.store.get(resource, key).is_some() {
            let mut all = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry((resource.clone(), key.clone()))
                .or_default()
                .insert(slot, applied);
        }
    }

    /// An informer showed an object.
    pub(super) fn shown(&self, resource: &Resource, object: Object) {
        let name = (resource.clone(), object.metadata.key());
        let version = object.metadata.version();
        let mut own = self.own();
        let keys = match self.store.apply(resource, object) {
            Some(change) => {
                self.forget_applied(resource, &change);
                self.wakes
                    .woken(resource, &change, self.fields_of(resource))
            }
            // Older than the answer to a write of ours: no news to the store, but perhaps to those
            // whom it concerns.
            None => match self.store.get(resource, &name.1) {
                Some(held) if held.metadata.version() > version => {
                    self.wakes.concerned(resource, &held)
                }
                Some(_) | None => Vec::new(),
            },
        };
        for key in keys {
            if !own.withhold(&name, version, &key) {
                self.queue.add(key);
            }
        }
        own.shown(&name, version);
    }

    /// An informer showed that an object is gone.
    pub(super) fn gone(&self, resource: &Resource, object: &Object) {
        let mut own = self.own();
        if let Some(change) = self.store.delete(resource, object) {
            self.lost(&mut own, resource, &change);
        }
    }

    /// An informer asks for a whole list now.
    pub(super) fn listing(&self) -> u64 {
        self.store.moment()
    }

    /// An informer has a whole list, which it asked for at the moment `since`.
    pub(super) fn listed(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        since: u64,
        objects: Vec<Object>,
    ) {
        let mut own = self.own();
        for change in self.store.replace(resource, namespace, since, objects) {
            let Some(new) = &change.new else {
                self.lost(&mut own, resource, &change);
                continue;
            };
            self.forget_applied(resource, &change);
            let (name, version) = (
                (resource.clone(), new.metadata.key()),
                new.metadata.version(),
            );
            for key in self
                .wakes
                .woken(resource, &change, self.fields_of(resource))
            {
                if !own.withhold(&name, version, &key) {
                    self.queue.add(key);
                }
            }
            own.shown(&name, version);
        }
    }

    /// An object is gone: everybody whom it concerned hears of it.
    fn lost(&self, own: &mut OwnWrites<Name, Key>, resource: &Resource, change: &Change) {
        self.forget_applied(resource, change);
        if let Some(old) = &change.old {
            own.forget(&(resource.clone(), old.metadata.key()));
        }
        let keys = self.wakes.woken(resource, change, self.fields_of(resource));
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    /// Primaries were seen by their metadata, inside or outside the selector.
    pub(super) fn stray_shown(&self, object: Object) {
        let key = object.metadata.key();
        if !object.metadata.has_finalizer(&self.finalizer) {
            self.strays.take_out(&self.primary, &object.metadata);
            return;
        }
        // What is in the store is woken from there.
        let selected = self.store.get(&self.primary, &key).is_some();
        if let Some(change) = self.strays.apply(&self.primary, object)
            && !selected
            && self.wakes.is_spec_change(&change)
        {
            self.queue.add(key);
        }
    }

    /// A primary that was seen by its metadata is gone.
    pub(super) fn stray_gone(&self, object: &Object) {
        self.strays.take_out(&self.primary, &object.metadata);
    }

    /// Everything that is to be seen by metadata in `namespace`, or everywhere.
    pub(super) fn strays_listed(&self, namespace: Option<&str>, objects: Vec<Object>) {
        self.strays
            .replace(&self.primary, namespace, u64::MAX, Vec::new());
        objects
            .into_iter()
            .for_each(|object| self.stray_shown(object));
    }

    /// From now on the store answers for `resource` in `scope`.
    pub(super) fn watch(&self, resource: Resource, scope: Scope) {
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
            self.applied
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&name);
        }
    }

    /// What the plugin declared that it reads of `resource`.
    fn fields_of(&self, resource: &Resource) -> Option<&Fields> {
        let fields = self
            .fields
            .get(&(resource.group.clone(), resource.plural.clone()));
        fields.filter(|fields| **fields != Fields::default())
    }

    pub(super) fn own(&self) -> MutexGuard<'_, OwnWrites<Name, Key>> {
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
        self.selects && *resource == self.primary
    }
}
