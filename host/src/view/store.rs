//! What the API server is known to hold of the kinds that a plugin watches.
//!
//! - It never moves back in time: of two versions of an object the higher is kept.
//! - The host's own writes are in it at once; a late answer never brings back what is deleted.
//! - Every change says what was there before, so whoever loses an object hears of it too.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::key::Key;
use super::object::{Metadata, Object};
use crate::api::Resource;
use crate::selector::LabelSelector;

/// How many deleted UIDs are remembered for each resource.
const REMEMBERED: usize = 4096;

/// Objects by resource, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Store {
    moments: AtomicU64,
    collections: Mutex<HashMap<Resource, Collection>>,
}

#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<Key, Object>,
    /// UIDs that were seen to go, oldest first, and the version up to which nothing of them is news.
    /// They may come back with a later one: an object can leave a selector and return.
    gone: VecDeque<String>,
    gone_at: HashMap<String, u64>,
    /// When an object was last taken in from an answer, and not from a watch.
    learnt: HashMap<Key, u64>,
}

/// What one event did: at least one of both is there.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The object as it was.
    pub old: Option<Object>,
    /// The object as it is.
    pub new: Option<Object>,
}

impl Store {
    /// Takes in an object that a watch showed. `None` if it is nothing new.
    pub(super) fn apply(&self, resource: &Resource, object: Object) -> Option<Change> {
        let mut collections = self.collections();
        collections
            .entry(resource.clone())
            .or_default()
            .apply(object)
    }

    /// Takes in an object that a request's answer showed. `None` if it is nothing new.
    pub(super) fn learn(&self, resource: &Resource, object: Object) -> Option<Change> {
        let key = object.metadata.key();
        let mut collections = self.collections();
        let collection = collections.entry(resource.clone()).or_default();
        let change = collection.apply(object)?;
        collection
            .learnt
            .insert(key, self.moments.fetch_add(1, Ordering::Relaxed));
        Some(change)
    }

    /// Takes out an object that a watch showed to be deleted.
    pub(super) fn delete(&self, resource: &Resource, object: &Object) -> Option<Change> {
        let mut collections = self.collections();
        let collection = collections.entry(resource.clone()).or_default();
        collection.delete(object, object.metadata.version())
    }

    /// Takes out an object that the server said is gone for good.
    pub(super) fn forget(&self, resource: &Resource, object: &Object) -> Option<Change> {
        let mut collections = self.collections();
        collections
            .entry(resource.clone())
            .or_default()
            .delete(object, u64::MAX)
    }

    /// A point in time, for [`Store::replace`].
    pub(super) fn moment(&self) -> u64 {
        self.moments.load(Ordering::Relaxed)
    }

    /// Takes out an object that may be taken in again.
    pub(super) fn take_out(&self, resource: &Resource, object: &Metadata) {
        if let Some(collection) = self.collections().get_mut(resource) {
            collection.objects.remove(&object.key());
        }
    }

    /// Takes in a whole list: all there was in `namespace`, or everywhere. What was learnt after the
    /// moment `since`, at which the list was asked for, need not be in it.
    pub(super) fn replace(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        since: u64,
        listed: Vec<Object>,
    ) -> Vec<Change> {
        let mut collections = self.collections();
        let collection = collections.entry(resource.clone()).or_default();
        let names: HashSet<Key> = listed.iter().map(|object| object.metadata.key()).collect();
        let inside = |key: &Key| namespace.is_none() || key.namespace.as_deref() == namespace;
        let later = |key: &Key| collection.learnt.get(key).is_some_and(|at| *at >= since);
        let missing = |key: &Key| inside(key) && !names.contains(key) && !later(key);
        let objects = collection.objects.iter().filter(|(key, _)| missing(key));
        let missing: Vec<Object> = objects.map(|(_, object)| object.clone()).collect();
        collection.learnt.clear();
        let gone = |object: &Object| collection.delete(object, object.metadata.version());
        let mut changes: Vec<Change> = missing.iter().filter_map(gone).collect();
        changes.extend(
            listed
                .into_iter()
                .filter_map(|object| collection.apply(object)),
        );
        changes
    }

    /// Reads one object.
    pub(super) fn get(&self, resource: &Resource, key: &Key) -> Option<Object> {
        self.collections().get(resource)?.objects.get(key).cloned()
    }

    /// Reads the objects in `namespace`, or everywhere, that `selector` selects.
    pub(super) fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        let collections = self.collections();
        let objects = collections
            .get(resource)
            .into_iter()
            .flat_map(|c| c.objects.iter());
        let inside = |key: &Key| namespace.is_none() || key.namespace.as_deref() == namespace;
        let objects = objects
            .filter(|(key, _)| inside(key))
            .map(|(_, object)| object.clone());
        let mut objects: Vec<Object> = objects.collect();
        // The selector is the guest's: it is not judged while others wait for the lock.
        drop(collections);
        objects.retain(|object| selector.selects(&object.metadata.labels));
        objects
    }

    /// How many objects it holds.
    pub(super) fn count(&self) -> usize {
        self.collections()
            .values()
            .map(|collection| collection.objects.len())
            .sum()
    }

    fn collections(&self) -> MutexGuard<'_, HashMap<Resource, Collection>> {
        self.collections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collection {
    fn apply(&mut self, object: Object) -> Option<Change> {
        let gone = self.gone_at.get(&object.metadata.uid);
        if gone.is_some_and(|gone| object.metadata.version() <= *gone) {
            return None;
        }
        let key = object.metadata.key();
        let old = self.objects.get(&key).cloned();
        if old.as_ref().is_some_and(|old| !is_newer(&object, old)) {
            return None;
        }
        self.objects.insert(key, object.clone());
        Some(Change {
            old,
            new: Some(object),
        })
    }

    /// `at` is the version up to which nothing of this object is news any more.
    fn delete(&mut self, object: &Object, at: u64) -> Option<Change> {
        let uid = &object.metadata.uid;
        if let Some(gone) = self.gone_at.get_mut(uid) {
            *gone = at.max(*gone);
        } else {
            self.gone_at.insert(uid.clone(), at);
            self.gone.push_back(uid.clone());
            if self.gone.len() > REMEMBERED
                && let Some(oldest) = self.gone.pop_front()
            {
                self.gone_at.remove(&oldest);
            }
        }
        let key = object.metadata.key();
        // The name may be another object's by now.
        self.objects
            .get(&key)
            .filter(|held| held.metadata.uid == *uid)?;
        self.learnt.remove(&key);
        let old = self.objects.remove(&key);
        Some(Change { old, new: None })
    }
}

fn is_newer(object: &Object, held: &Object) -> bool {
    let (new, old) = (&object.metadata, &held.metadata);
    match (new.version(), old.version()) {
        (0, _) | (_, 0) => new.resource_version != old.resource_version,
        (new, old) => new > old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config_maps() -> Resource {
        Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        }
    }

    fn object(namespace: &str, name: &str, uid: &str, version: u64) -> Object {
        let metadata = json!({ "namespace": namespace, "name": name, "uid": uid, "resourceVersion": version.to_string(), "labels": { "name": name } });
        Object::new(json!({ "metadata": metadata })).unwrap()
    }

    fn version(store: &Store, name: &str) -> Option<u64> {
        let key = Key {
            namespace: Some("a".into()),
            name: name.into(),
        };
        store
            .get(&config_maps(), &key)
            .map(|object| object.metadata.version())
    }

    #[test]
    fn it_never_moves_back_in_time() {
        let (store, resource) = (Store::default(), config_maps());
        assert!(store.apply(&resource, object("a", "x", "1", 10)).is_some());
        assert!(store.apply(&resource, object("a", "x", "1", 9)).is_none());
        assert!(
            store.apply(&resource, object("a", "x", "1", 10)).is_none(),
            "an echo is no change"
        );
        assert_eq!(version(&store, "x"), Some(10));
        store.replace(&resource, None, 0, vec![object("a", "x", "1", 8)]);
        assert_eq!(version(&store, "x"), Some(10), "nor by a relist");
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_is_deleted() {
        let (store, resource) = (Store::default(), config_maps());
        store.apply(&resource, object("a", "x", "1", 10));
        assert!(
            store
                .delete(&resource, &object("a", "x", "1", 11))
                .is_some()
        );
        assert!(store.apply(&resource, object("a", "x", "1", 10)).is_none());
        assert!(
            store.apply(&resource, object("a", "x", "2", 12)).is_some(),
            "another object may take the name"
        );
    }

    #[test]
    fn an_object_that_left_the_selector_may_come_back() {
        let (store, resource) = (Store::default(), config_maps());
        store.apply(&resource, object("a", "x", "1", 10));
        store.delete(&resource, &object("a", "x", "1", 11));
        assert!(store.apply(&resource, object("a", "x", "1", 12)).is_some());
        store.forget(&resource, &object("a", "x", "1", 12));
        assert!(
            store.apply(&resource, object("a", "x", "1", 13)).is_none(),
            "gone for good"
        );
    }

    #[test]
    fn a_relist_leaves_alone_what_was_learnt_since_it_was_asked_for() {
        let (store, resource) = (Store::default(), config_maps());
        store.learn(&resource, object("a", "old", "1", 10));
        let since = store.moment();
        store.learn(&resource, object("a", "new", "2", 20));
        let changes = store.replace(&resource, None, since, Vec::new());
        assert_eq!(changes.len(), 1);
        assert_eq!(
            (version(&store, "old"), version(&store, "new")),
            (None, Some(20))
        );
        let since = store.moment();
        store.replace(&resource, None, since, Vec::new());
        assert_eq!(version(&store, "new"), None, "the next list says so");
    }

    #[test]
    fn the_deletion_of_an_earlier_object_leaves_its_successor_alone() {
        let (store, resource) = (Store::default(), config_maps());
        store.apply(&resource, object("a", "x", "2", 12));
        assert!(
            store
                .delete(&resource, &object("a", "x", "1", 11))
                .is_none()
        );
        assert_eq!(version(&store, "x"), Some(12));
    }

    #[test]
    fn a_relist_takes_out_what_is_missing_in_its_own_namespace_only() {
        let (store, resource) = (Store::default(), config_maps());
        for (namespace, name) in [("a", "x"), ("a", "y"), ("b", "z")] {
            store.apply(&resource, object(namespace, name, name, 1));
        }
        let changes = store.replace(&resource, Some("a"), 0, vec![object("a", "y", "y", 2)]);
        let gone: Vec<_> = changes
            .iter()
            .filter(|c| c.new.is_none())
            .flat_map(|c| &c.old)
            .collect();
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].metadata.name, "x");
        assert_eq!(store.count(), 2);
    }

    #[test]
    fn lists_are_by_namespace_and_selector() {
        let (store, resource) = (Store::default(), config_maps());
        for (namespace, name) in [("a", "x"), ("a", "y"), ("b", "x")] {
            store.apply(
                &resource,
                object(namespace, name, &format!("{namespace}{name}"), 1),
            );
        }
        let count = |namespace, selector: &str| {
            store
                .list(
                    &resource,
                    namespace,
                    &LabelSelector::parse(selector).unwrap(),
                )
                .len()
        };
        assert_eq!(
            (
                count(None, ""),
                count(Some("a"), ""),
                count(None, "name=x"),
                count(Some("b"), "name=y")
            ),
            (3, 2, 2, 0)
        );
    }
}
