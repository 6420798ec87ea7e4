//! Finds objects by their owners, and by their labels; and knows how large they are together.
//!
//! - Owners are indexed always, a label from the first list that asks for it: nobody pays for labels that
//!   nobody asks for.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use crate::object::{Key, Object};

/// How many labels are indexed: their names are the guests'.
const LABELS: usize = 16;

type Keys = BTreeSet<Key>;

/// The index of one store.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By the UID of an owner.
    owned: HashMap<Box<str>, Keys>,
    /// By a label's name and value.
    labelled: BTreeMap<String, HashMap<String, Keys>>,
    /// Of all objects' JSON.
    bytes: usize,
    /// Of all that is held of objects beside their JSON, about.
    metadata: usize,
}

impl Index {
    /// An object is there.
    pub(super) fn add(&mut self, object: &Object) {
        self.bytes += object.json.size();
        self.metadata += object.metadata.bytes();
        let metadata = &object.metadata;
        for owner in metadata.owners.iter() {
            let keys = self.owned.entry(owner.uid.as_str().into()).or_default();
            keys.insert(metadata.key.clone());
        }
        for (name, values) in &mut self.labelled {
            add_label(values, name, object);
        }
    }

    /// An object is not there any more, or not as it was.
    pub(super) fn remove(&mut self, object: &Object) {
        self.bytes -= object.json.size();
        self.metadata -= object.metadata.bytes();
        let (metadata, key) = (&object.metadata, object.metadata.key.clone());
        for owner in metadata.owners.iter() {
            take(&mut self.owned, &owner.uid, &key);
        }
        for (name, values) in &mut self.labelled {
            if let Some(value) = metadata.labels.get(name) {
                take(values, value, &key);
            }
        }
    }

    /// Of an object another part is kept.
    pub(super) fn recut(&mut self, old: &Object, new: &Object) {
        self.bytes = self.bytes - old.json.size() + new.json.size();
        self.metadata = self.metadata - old.metadata.bytes() + new.metadata.bytes();
    }

    /// Of all that is held of objects, about.
    pub(super) fn weight(&self) -> usize {
        self.bytes + self.metadata
    }

    /// Of all objects' JSON.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The objects that have the owner with this UID.
    pub(super) fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.owned.get(uid).into_iter().flatten()
    }

    /// Whether a label is indexed.
    pub(super) fn has_label(&self, name: &str) -> bool {
        self.labelled.contains_key(name)
    }

    /// Indexes one more label of all objects, unless there are too many.
    pub(super) fn add_label<'a>(&mut self, name: &str, all: impl Iterator<Item = &'a Object>) {
        if self.labelled.len() < LABELS {
            let mut values = HashMap::new();
            all.for_each(|object| add_label(&mut values, name, object));
            self.labelled.insert(name.to_owned(), values);
        }
    }

    /// The objects with this label; `None` if it is not indexed.
    pub(super) fn labelled(&self, name: &str, value: &str) -> Option<Option<&Keys>> {
        let values = self.labelled.get(name)?;
        Some(values.get(value))
    }
}

fn add_label(values: &mut HashMap<String, Keys>, name: &str, object: &Object) {
    if let Some(value) = object.metadata.labels.get(name) {
        let keys = values.entry(value.clone()).or_default();
        keys.insert(object.metadata.key.clone());
    }
}

fn take<T: Borrow<str> + Eq + Hash>(index: &mut HashMap<T, Keys>, of: &str, key: &Key) {
    if let Some(keys) = index.get_mut(of) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, app: &str, owner: &str) -> Object {
        let owners = json!([{ "apiVersion": "v1", "kind": "K", "name": "o", "uid": owner }]);
        let metadata = json!({ "name": name, "labels": { "app": app }, "ownerReferences": owners });
        Object::new(&json!({ "metadata": metadata })).unwrap()
    }

    fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
        keys.into_iter().map(|key| &*key.name).collect()
    }

    fn app(index: &Index, value: &str) -> String {
        names(index.labelled("app", value).unwrap().into_iter().flatten())
    }

    #[test]
    fn what_changes_or_goes_is_found_where_it_is_and_nowhere_else() {
        let mut index = Index::default();
        let (a, b) = (object("a", "x", "one"), object("b", "x", "one"));
        index.add(&a);
        assert!(index.labelled("app", "x").is_none(), "nobody has asked");
        index.add_label("app", [&a].into_iter());
        index.add(&b);
        assert_eq!(
            (app(&index, "x"), names(index.owned_by("one"))),
            ("ab".into(), "ab".into())
        );
        index.remove(&a);
        index.add(&object("a", "y", "two"));
        assert_eq!(
            (app(&index, "x"), app(&index, "y")),
            ("b".into(), "a".into())
        );
        assert_eq!(
            (names(index.owned_by("one")), names(index.owned_by("two"))),
            ("b".into(), "a".into())
        );
        index.remove(&object("a", "y", "two"));
        index.remove(&b);
        assert!(index.owned.is_empty() && index.labelled["app"].is_empty());
    }

    #[test]
    fn a_guest_cannot_make_it_grow_by_asking() {
        let mut index = Index::default();
        for number in 0..100 {
            index.add_label(&number.to_string(), std::iter::empty());
        }
        assert_eq!(index.labelled.len(), LABELS);
        assert!(index.has_label("0") && !index.has_label("99"));
    }
}
