//! What the API server is known to hold of the kinds that a plugin watches.
//!
//! - It never moves back in time: of two versions of an object the higher is kept.
//! - The host's own writes are in it at once; a late answer never brings back what is deleted.
//! - Every change says what was there before, so whoever loses an object hears of it too.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
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
    collections: Mutex<HashMap<Resource, Collection>>,
}

#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<Key, Object>,
    /// UIDs that were seen to go, oldest first.
    gone: VecDeque<String>,
    gone_set: HashSet<String>,
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
    /// Takes in an object that a watch or a write's answer showed. `None` if it is nothing new.
    pub(super) fn apply(&self, resource: &Resource, object: Object) -> Option<Change> {
        let mut collections = self.collections();
        collections
            .entry(resource.clone())
            .or_default()
            .apply(object)
    }

    /// Takes out an object that a watch showed to be deleted.
    pub(super) fn delete(&self, resource: &Resource, object: &Object) -> Option<Change> {
        let mut collections = self.collections();
        collections
            .entry(resource.clone())
            .or_default()
            .delete(object)
    }

    /// Takes out an object that may be taken in again.
    pub(super) fn take_out(&self, resource: &Resource, object: &Metadata) {
        if let Some(collection) = self.collections().get_mut(resource) {
            collection.objects.remove(&object.key());
        }
    }

    /// Takes in a whole list: all there is in `namespace`, or everywhere.
    pub(super) fn replace(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        listed: Vec<Object>,
    ) -> Vec<Change> {
        let mut collections = self.collections();
        let collection = collections.entry(resource.clone()).or_default();
        let names: HashSet<Key> = listed.iter().map(|object| object.metadata.key()).collect();
        let inside = |key: &Key| namespace.is_none() || key.namespace.as_deref() == namespace;
        let missing = collection
            .objects
            .iter()
            .filter(|(key, _)| inside(key) && !names.contains(key));
        let missing: Vec<Object> = missing.map(|(_, object)| object.clone()).collect();
        let mut changes: Vec<Change> = missing
            .iter()
            .filter_map(|object| collection.delete(object))
            .collect();
        changes.extend(
            listed
                .into_iter()
                .filter_map(|object| collection.apply_listed(object)),
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
        objects
            .filter(|(key, _)| namespace.is_none() || key.namespace.as_deref() == namespace)
            .filter(|(_, object)| selector.selects(&object.metadata.labels))
            .map(|(_, object)| object.clone())
            .collect()
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
        if self.gone_set.contains(&object.metadata.uid) {
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

    /// A list may show again what an earlier, staler list did not.
    fn apply_listed(&mut self, object: Object) -> Option<Change> {
        if self.gone_set.remove(&object.metadata.uid) {
            self.gone.retain(|uid| *uid != object.metadata.uid);
        }
        self.apply(object)
    }

    fn delete(&mut self, object: &Object) -> Option<Change> {
        let uid = &object.metadata.uid;
        if self.gone_set.insert(uid.clone()) {
            self.gone.push_back(uid.clone());
            if self.gone.len() > REMEMBERED
                && let Some(oldest) = self.gone.pop_front()
            {
                self.gone_set.remove(&oldest);
            }
        }
        let key = object.metadata.key();
        // The name may be another object's by now.
        self.objects
            .get(&key)
            .filter(|held| held.metadata.uid == *uid)?;
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
        store.replace(&resource, None, vec![object("a", "x", "1", 8)]);
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
        let changes = store.replace(&resource, Some("a"), vec![object("a", "y", "y", 2)]);
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
