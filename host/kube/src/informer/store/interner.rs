//! Keeps alike parts of objects once: the pods of a ReplicaSet have their labels, their owner and most of their text in
//! common.
//!
//! - It holds no more than twice the parts that are in use, and a few.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use crate::object::{Object, Owner, TextCompressor};

/// So many parts may be there that nobody uses, at least.
const FEW: usize = 256;

/// The parts of the objects of one store.
#[derive(Debug, Default)]
pub(super) struct Interner {
    namespaces: InternedParts<str>,
    finalizers: InternedParts<Vec<String>>,
    labels: InternedParts<BTreeMap<String, String>>,
    owners: InternedParts<Vec<Owner>>,
    packer: TextCompressor,
}

#[derive(Debug)]
struct InternedParts<T: ?Sized> {
    held: HashSet<Arc<T>>,
    /// At this size it is looked which ones are in use.
    full: usize,
}

impl Interner {
    /// Gives `object` the parts that others have alike.
    pub(super) fn share(&mut self, object: &mut Object) {
        let metadata = Arc::make_mut(&mut object.metadata);
        if let Some(mut namespace) = metadata.key.namespace.clone() {
            self.namespaces.share(&mut namespace);
            metadata.key.share(&namespace);
        }
        self.finalizers.share(&mut metadata.finalizers);
        self.labels.share(&mut metadata.labels);
        self.owners.share(&mut metadata.owners);
    }

    /// How many bytes are held for the texts of all.
    pub(super) fn size(&self) -> usize {
        self.packer.size()
    }

    /// Packs the text of `object`, if that saves enough.
    pub(super) fn pack(&mut self, object: &mut Object) {
        self.packer.pack(&mut object.json);
    }
}

impl<T: ?Sized> Default for InternedParts<T> {
    fn default() -> Self {
        Self {
            held: HashSet::new(),
            full: FEW,
        }
    }
}

impl<T: Eq + Hash + ?Sized> InternedParts<T> {
    fn share(&mut self, part: &mut Arc<T>) {
        if let Some(held) = self.held.get(part) {
            *part = held.clone();
            return;
        }
        if self.held.len() >= self.full {
            self.held.retain(|held| Arc::strong_count(held) > 1);
            self.full = 2 * self.held.len() + FEW;
        }
        self.held.insert(part.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(interner: &mut Interner, name: &str, app: &str) -> Object {
        let owners =
            json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app }]);
        let metadata = json!({ "name": name, "labels": { "app": app }, "ownerReferences": owners });
        let mut object = Object::new(&json!({ "metadata": metadata })).unwrap();
        interner.share(&mut object);
        object
    }

    #[test]
    fn alike_parts_are_there_once() {
        let mut interner = Interner::default();
        let (one, other) = (
            object(&mut interner, "a", "x"),
            object(&mut interner, "b", "x"),
        );
        assert!(Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels));
        assert!(Arc::ptr_eq(&one.metadata.owners, &other.metadata.owners));
        let third = object(&mut interner, "c", "y");
        assert_eq!(third.metadata.labels["app"], "y");
        assert_eq!(one.metadata.labels["app"], "x");
    }

    #[test]
    fn parts_that_nobody_uses_go() {
        let mut interner = Interner::default();
        let kept: Vec<Object> = (0..100)
            .map(|number| object(&mut interner, "kept", &number.to_string()))
            .collect();
        for number in 0..100_000 {
            object(&mut interner, "gone", &format!("g{number}"));
        }
        assert!(interner.owners.held.len() <= 2 * kept.len() + FEW);
        assert!(interner.labels.held.len() <= 2 * (kept.len() + 1) + FEW);
        let again = object(&mut interner, "again", "7");
        assert!(Arc::ptr_eq(
            &again.metadata.labels,
            &kept[7].metadata.labels
        ));
    }
}
