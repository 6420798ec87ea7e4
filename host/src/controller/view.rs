//! The cluster as one plugin sees it: the store of what it watches, cut to what it declared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::Value;

use super::key::Key;
use super::object::Object;
use super::own_writes::OwnWrites;
use super::store::{Change, Store};
use super::wakes::Wakes;
use super::work::WorkQueue;
use crate::api::Resource;
use crate::grants::{Scope, split_subresource};
use crate::plugin::Plugin;
use crate::projection::Fields;
use crate::seams::Clock;
use crate::selector::LabelSelector;

/// What a manager applied last to an object, and how the server kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// SHA-256 of the bytes that were sent.
    pub intent: [u8; 32],
    /// The version of the server's answer.
    pub version: String,
}

/// A field manager, and whether it wrote the status.
type Slot = (String, bool);

/// One plugin's view.
pub struct View {
    store: Store,
    /// Primaries outside the plugin's selector that carry its finalizer: metadata alone.
    strays: Store,
    primary: Resource,
    selects: bool,
    /// What is watched, and where; only what has had its first list.
    watched: RwLock<HashMap<Resource, Scope>>,
    fields: HashMap<(String, String), Fields>,
    applied: Mutex<HashMap<(Resource, Key), HashMap<Slot, Applied>>>,
    own: Mutex<OwnWrites<(Resource, Key), Key>>,
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
        let wakes = Wakes::new(
            primary.clone(),
            description.spec_change_only,
            description.fields.clone(),
        );
        Self {
            store: Store::default(),
            strays: Store::default(),
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
    pub(super) fn stray(&self, key: &Key) -> Option<Object> {
        self.strays.get(&self.primary, key)
    }

    /// The object as the plugin may see it, as JSON.
    pub fn show(&self, resource: &Resource, object: &Object) -> String {
        match self
            .fields
            .get(&(resource.group.clone(), resource.plural.clone()))
        {
            Some(fields) if *fields != Fields::default() => fields.cut(&object.value()).to_string(),
            _ => object.json.to_string(),
        }
    }

    /// A write by the key `by` is about to be sent. Hand the answer to it, or drop it if there is
    /// none.
    pub fn write(self: &Arc<Self>, resource: &Resource, key: &Key, by: &Key) -> Write {
        let object = (resource.clone(), key.clone());
        let id = self.own().begin(&object, by);
        Write {
            view: self.clone(),
            object,
            by: by.clone(),
            id,
            answer: None,
        }
    }

    /// Takes in what the API server answered to a read or write of the key `by`, which is woken
    /// only if its own object has changed in more than its status.
    pub fn learn(&self, resource: &Resource, object: &Object, by: &Key) {
        if self.holds(resource, &object.metadata.key())
            && let Some(change) = self.store.apply(resource, object.clone())
        {
            self.forget_applied(resource, &change);
            for key in self.wakes.woken(resource, &change) {
                if key != *by || self.wakes.is_news_to_author(resource, &change, by) {
                    self.queue.add(key);
                }
            }
        }
    }

    /// Takes out what the API server said is gone.
    fn forget(&self, resource: &Resource, key: &Key, uid: &str, by: &Key) {
        let held = self
            .store
            .get(resource, key)
            .filter(|object| object.metadata.uid == uid);
        if let Some(object) = held
            && let Some(change) = self.store.delete(resource, &object)
        {
            self.forget_applied(resource, &change);
            let woken = self.wakes.woken(resource, &change).into_iter();
            woken
                .filter(|key| key != by)
                .for_each(|key| self.queue.add(key));
        }
    }

    /// The object, if what `slot` would apply is what it applied last and the object is still as
    /// that apply left it.
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
        (last.intent == *intent && last.version == held.metadata.resource_version).then_some(held)
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
        let keys = match self.store.apply(resource, object) {
            Some(change) => {
                self.forget_applied(resource, &change);
                self.wakes.woken(resource, &change)
            }
            // Older than the answer to a write of ours: no news to the store, but perhaps to those
            // whom it concerns.
            None => match self.store.get(resource, &name.1) {
                Some(held) if held.metadata.version() > version => {
                    self.wakes.concerned(resource, &held)
                }
                Some(_) | None => return,
            },
        };
        self.wake(&name, version, keys);
    }

    /// An informer showed that an object is gone.
    pub(super) fn gone(&self, resource: &Resource, object: &Object) {
        if let Some(change) = self.store.delete(resource, object) {
            self.forget_applied(resource, &change);
            let name = (resource.clone(), object.metadata.key());
            let keys = self.wakes.woken(resource, &change);
            self.wake(&name, object.metadata.version(), keys);
            self.own().forget(&name);
        }
    }

    /// An informer has a whole list.
    pub(super) fn listed(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        objects: Vec<Object>,
    ) {
        for change in self.store.replace(resource, namespace, objects) {
            self.forget_applied(resource, &change);
            let keys = self.wakes.woken(resource, &change);
            let side = change.new.as_ref().or(change.old.as_ref());
            if let Some(object) = side {
                let name = (resource.clone(), object.metadata.key());
                self.wake(&name, object.metadata.version(), keys);
            }
        }
    }

    /// A primary was seen by its metadata, inside or outside the selector.
    pub(super) fn stray_shown(&self, object: Object, finalizer: &str) {
        let key = object.metadata.key();
        if !object.metadata.has_finalizer(finalizer) {
            self.strays.take_out(&self.primary, &object.metadata);
        } else if self.strays.apply(&self.primary, object).is_some() {
            self.queue.add(key);
        }
    }

    /// A primary that was seen by its metadata is gone.
    pub(super) fn stray_gone(&self, object: &Object) {
        self.strays.take_out(&self.primary, &object.metadata);
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

    /// Wakes `keys` after a watch has shown `version` of an object, but for the keys whose own
    /// write it is.
    fn wake(&self, object: &(Resource, Key), version: u64, keys: Vec<Key>) {
        let mut own = self.own();
        for key in keys {
            if !own.withhold(object, version, &key) {
                self.queue.add(key);
            }
        }
        own.shown(object, version);
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

    fn own(&self) -> MutexGuard<'_, OwnWrites<(Resource, Key), Key>> {
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

/// A write that is under way. Its end, with or without an answer, is its drop.
pub struct Write {
    view: Arc<View>,
    object: (Resource, Key),
    by: Key,
    id: u64,
    answer: Option<u64>,
}

impl Write {
    /// The API server answered with the object as it is now.
    pub fn answered(mut self, object: &Object) {
        self.answer = Some(object.metadata.version());
        self.view.learn(&self.object.0, object, &self.by);
    }

    /// The API server answered that the object with this UID is gone.
    pub fn deleted(self, uid: &str) {
        self.view
            .forget(&self.object.0, &self.object.1, uid, &self.by);
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        let news = self.view.own().end(&self.object, self.id, self.answer);
        if news {
            self.view.queue.add(self.by.clone());
        }
    }
}

/// Whether two objects look the same to a plugin that declared `fields`, metadata aside.
pub(super) fn same_fields(old: &Value, new: &Value, fields: &Fields) -> bool {
    let cut = |object: &Value| {
        let mut object = fields.cut(object);
        if let Some(object) = object.as_object_mut() {
            object.remove("metadata");
        }
        object
    };
    cut(old) == cut(new)
}
