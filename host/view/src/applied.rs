//! What a field manager applied last to an object, and whether the object is still as that left it.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::FieldOwner;
use windlass_kube::api::Resource;
use windlass_kube::object::owned::Tag;
use windlass_kube::object::{ApplyScope, Key, Object};

/// Objects that were applied and have gone are remembered up to this number; then all are forgotten, which
/// costs nothing but a check.
const MOST_GONE: usize = 4096;

/// An apply, and how the server kept it. There is one for each object that a plugin has written, so it holds digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Who applied what of it.
    by: Tag,
    /// Of the bytes that were sent, and the object's UID.
    what: [u8; 16],
    /// The version of the server's answer; 0 if that was no number.
    version: u64,
    /// What the manager owned then, as far as the answer said.
    owned: Option<[u8; 16]>,
}

/// The last applies of one plugin, for as long as their objects are in the store.
#[derive(Debug, Default)]
pub(super) struct Applies {
    /// Few managers apply to one object, and many objects are of one resource.
    held: HashMap<Resource, HashMap<Key, Vec<Applied>>>,
    /// What was applied and has gone since.
    gone: HashSet<(Resource, Key)>,
}

impl Applies {
    /// The last apply to an object by a manager.
    pub(super) fn last(
        &self,
        resource: &Resource,
        key: &Key,
        owner: &FieldOwner,
    ) -> Option<&Applied> {
        let by = tag(owner);
        let mut all = self.held.get(resource)?.get(key)?.iter();
        all.find(|held| held.by == by)
    }

    /// Remembers an apply.
    pub(super) fn insert(&mut self, resource: &Resource, key: &Key, applied: Applied) {
        if !self.held.contains_key(resource) {
            self.held.insert(resource.clone(), HashMap::new());
        }
        let Some(objects) = self.held.get_mut(resource) else {
            return;
        };
        let all = objects.entry(key.clone()).or_default();
        match all.iter_mut().find(|held| held.by == applied.by) {
            Some(last) => *last = applied,
            None => {
                all.reserve_exact(1);
                all.push(applied);
            }
        }
    }

    /// An object is gone, or was replaced.
    pub(super) fn forget(&mut self, resource: &Resource, key: &Key) {
        let Some(objects) = self.held.get_mut(resource) else {
            return;
        };
        if objects.remove(key).is_none() {
            return;
        }
        if objects.is_empty() {
            self.held.remove(resource);
        }
        if self.gone.len() >= MOST_GONE {
            self.gone.clear();
        }
        self.gone.insert((resource.clone(), key.clone()));
    }

    /// Whether an object that was applied has gone since.
    pub(super) fn has_gone(&self, resource: &Resource, key: &Key) -> bool {
        self.gone.contains(&(resource.clone(), key.clone()))
    }
}

impl Applied {
    /// The apply of `intent` by the manager of `owner`, which the server answered with `object`.
    pub fn new(intent: [u8; 32], owner: &FieldOwner, object: &Object) -> Self {
        Self {
            by: tag(owner),
            what: what(&intent, object),
            version: object.metadata.version(),
            owned: owned(owner, object),
        }
    }

    /// Whether an apply of `intent` to `object` would change nothing: what is not known may have changed.
    pub(super) fn still_holds(
        &self,
        intent: &[u8; 32],
        owner: &FieldOwner,
        object: &Object,
    ) -> bool {
        let same_version = self.version != 0 && self.version == object.metadata.version();
        let same_fields = || self.owned.is_some() && self.owned == owned(owner, object);
        self.what == what(intent, object) && (same_version || same_fields())
    }
}

/// Whether an apply by the manager of `owner` has changed nothing from `before` to `after`, as far as is known.
pub(super) fn is_idle(owner: &FieldOwner, before: &Object, after: &Object) -> bool {
    let (held, holds) = (owned(owner, before), owned(owner, after));
    before.metadata.uid == after.metadata.uid && held.is_some() && held == holds
}

fn tag((manager, apply_scope): &FieldOwner) -> Tag {
    Tag::of(manager, *apply_scope)
}

fn what(intent: &[u8; 32], object: &Object) -> [u8; 16] {
    let hash = Sha256::new().chain_update(intent);
    let hash = hash.chain_update(object.metadata.uid.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().copied().unwrap_or_default()
}

fn owned((manager, apply_scope): &FieldOwner, object: &Object) -> Option<[u8; 16]> {
    object.owned_by(manager, *apply_scope == ApplyScope::Status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const INTENT: [u8; 32] = [7; 32];

    fn resource() -> Resource {
        Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "Thing".into(),
            plural: "things".into(),
            namespaced: true,
        }
    }

    fn object(version: &str, uid: &str, manager: &str, data: &str) -> Object {
        let entry =
            json!({ "manager": manager, "operation": "Apply", "fieldsV1": { "f:data": {} } });
        let metadata = json!({ "name": "a", "uid": uid, "resourceVersion": version, "managedFields": [entry] });
        Object::new(&json!({ "metadata": metadata, "data": data, "other": version })).unwrap()
    }

    #[test]
    fn an_apply_holds_until_what_its_manager_owns_changes() {
        let owner = ("windlass/p".to_owned(), ApplyScope::Rest);
        let then = object("1", "u", "windlass/p", "d");
        let applied = Applied::new(INTENT, &owner, &then);
        let rows = [
            (object("2", "u", "windlass/p", "d"), true),
            (object("2", "u", "windlass/p", "e"), false),
            (object("2", "u", "windlass/q", "d"), false),
            (object("2", "v", "windlass/p", "d"), false),
            // The same version is the same object, whatever is known of it.
            (object("1", "u", "windlass/q", "d"), true),
        ];
        for (now, holds) in rows {
            assert_eq!(applied.still_holds(&INTENT, &owner, &now), holds, "{now:?}");
            assert!(
                !applied.still_holds(&[8; 32], &owner, &now),
                "another intent never holds"
            );
        }
        let unknown = object("1", "u", "kubectl", "d");
        let applied = Applied::new(INTENT, &owner, &unknown);
        let later = object("2", "u", "kubectl", "d");
        assert!(!applied.still_holds(&INTENT, &owner, &later));
    }

    #[test]
    fn the_last_apply_of_each_manager_is_known_until_the_object_goes() {
        let resource = resource();
        let key = |name: &str| Key::new(Some("home"), name);
        let owner = |apply_scope| ("windlass/p".to_owned(), apply_scope);
        let (rest, status) = (owner(ApplyScope::Rest), owner(ApplyScope::Status));
        let applied = |owner: &FieldOwner, version: &str| {
            Applied::new(INTENT, owner, &object(version, "u", "windlass/p", "d"))
        };
        let mut all = Applies::default();
        all.insert(&resource, &key("a"), applied(&rest, "1"));
        all.insert(&resource, &key("a"), applied(&status, "2"));
        all.insert(&resource, &key("a"), applied(&rest, "3"));
        let version = |all: &Applies, owner| {
            let last = all.last(&resource, &key("a"), owner)?;
            Some(last.version)
        };
        assert_eq!(version(&all, &rest), Some(3));
        assert_eq!(version(&all, &status), Some(2));
        assert!(all.last(&resource, &key("b"), &rest).is_none());
        all.forget(&resource, &key("b"));
        assert!(!all.has_gone(&resource, &key("b")), "it was never applied");
        all.forget(&resource, &key("a"));
        assert!(all.held.is_empty() && all.has_gone(&resource, &key("a")));
    }

    #[test]
    fn what_has_gone_is_remembered_up_to_a_number() {
        let (resource, owner) = (resource(), ("m".to_owned(), ApplyScope::Rest));
        let mut all = Applies::default();
        for number in 0..=MOST_GONE {
            let key = Key::new(None, &number.to_string());
            let applied = Applied::new(INTENT, &owner, &object("1", "u", "m", "d"));
            all.insert(&resource, &key, applied);
            all.forget(&resource, &key);
        }
        assert_eq!(all.gone.len(), 1);
    }
}
