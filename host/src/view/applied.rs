//! What a field manager applied last to an object, and whether the object is still as that left it.

use serde_json::{Map, Value};

use super::Slot;
use super::object::Object;

/// The part of an object that an apply is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// The subresource `status`.
    Status,
    /// All but the status, which others write.
    Rest,
    /// All: the apply names the status as well, so the kind has no such subresource.
    Whole,
}

/// An apply, and how the server kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// SHA-256 of the bytes that were sent.
    intent: [u8; 32],
    uid: String,
    /// The version of the server's answer.
    version: String,
    /// What the manager owned then, as far as the answer said.
    owned: Option<[u8; 16]>,
}

impl Extent {
    /// What an apply of `object` to an object itself is about.
    pub fn of(object: &Map<String, Value>) -> Self {
        if object.contains_key("status") {
            Self::Whole
        } else {
            Self::Rest
        }
    }
}

impl Applied {
    /// The apply of `intent` by the manager of `slot`, which the server answered with `object`.
    pub fn new(intent: [u8; 32], slot: &Slot, object: &Object) -> Self {
        Self {
            intent,
            uid: object.metadata.uid.clone(),
            version: object.metadata.resource_version.clone(),
            owned: owned(slot, object),
        }
    }

    /// Whether an apply of `intent` to `object` would change nothing: what is not known may have changed.
    pub(super) fn still_holds(&self, intent: &[u8; 32], slot: &Slot, object: &Object) -> bool {
        let same_version = self.version == object.metadata.resource_version;
        let same_fields = || self.owned.is_some() && self.owned == owned(slot, object);
        self.intent == *intent && self.uid == object.metadata.uid && (same_version || same_fields())
    }
}

/// Whether an apply by the manager of `slot` has changed nothing from `before` to `after`, as far as is known.
pub(super) fn is_idle(slot: &Slot, before: &Object, after: &Object) -> bool {
    let (held, holds) = (owned(slot, before), owned(slot, after));
    before.metadata.uid == after.metadata.uid && held.is_some() && held == holds
}

fn owned((manager, extent): &Slot, object: &Object) -> Option<[u8; 16]> {
    object.owned_by(manager, *extent == Extent::Status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const INTENT: [u8; 32] = [7; 32];

    fn object(version: &str, uid: &str, manager: &str, data: &str) -> Object {
        let entry =
            json!({ "manager": manager, "operation": "Apply", "fieldsV1": { "f:data": {} } });
        let metadata = json!({ "name": "a", "uid": uid, "resourceVersion": version, "managedFields": [entry] });
        Object::new(&json!({ "metadata": metadata, "data": data, "other": version })).unwrap()
    }

    #[test]
    fn an_apply_holds_until_what_its_manager_owns_changes() {
        let slot = ("windlass/p".to_owned(), Extent::Rest);
        let then = object("1", "u", "windlass/p", "d");
        let applied = Applied::new(INTENT, &slot, &then);
        let rows = [
            (object("2", "u", "windlass/p", "d"), true),
            (object("2", "u", "windlass/p", "e"), false),
            (object("2", "u", "windlass/q", "d"), false),
            (object("2", "v", "windlass/p", "d"), false),
            // The same version is the same object, whatever is known of it.
            (object("1", "u", "windlass/q", "d"), true),
        ];
        for (now, holds) in rows {
            assert_eq!(applied.still_holds(&INTENT, &slot, &now), holds, "{now:?}");
            assert!(
                !applied.still_holds(&[8; 32], &slot, &now),
                "another intent never holds"
            );
        }
        let unknown = object("1", "u", "kubectl", "d");
        let applied = Applied::new(INTENT, &slot, &unknown);
        let later = object("2", "u", "kubectl", "d");
        assert!(!applied.still_holds(&INTENT, &slot, &later));
    }
}
