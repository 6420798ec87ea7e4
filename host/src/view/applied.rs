//! What a field manager applied last to an object, and whether the object is still as that left it.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

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
    /// The version of the server's answer.
    version: String,
    /// SHA-256 of the extent in the server's answer.
    content: [u8; 32],
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
    /// The apply of `intent` to the `extent`, which the server answered with `object`.
    pub fn new(intent: [u8; 32], extent: Extent, object: &Object) -> Self {
        Self {
            intent,
            version: object.metadata.resource_version.clone(),
            content: content(object, extent),
        }
    }

    /// Whether an apply of `intent` to the `extent` of `object` would change nothing.
    pub(super) fn still_holds(&self, intent: &[u8; 32], extent: Extent, object: &Object) -> bool {
        let unchanged = || self.version == object.metadata.resource_version;
        self.intent == *intent && (unchanged() || self.content == content(object, extent))
    }
}

/// The digest of a part of one object: of what is there, whoever put it there and when.
fn content(object: &Object, extent: Extent) -> [u8; 32] {
    let mut value = object.value();
    if extent == Extent::Status {
        let status = value.get_mut("status").map(Value::take);
        value = json!([object.metadata.uid, status]);
    } else if let Some(fields) = value.as_object_mut() {
        // Items of a list do not say what they are.
        let left_out = ["apiVersion", "kind", "status"];
        let left_out = left_out
            .iter()
            .take(if extent == Extent::Rest { 3 } else { 2 });
        left_out.for_each(|name| drop(fields.remove(*name)));
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("resourceVersion");
            metadata.remove("generation");
        }
    }
    Sha256::digest(value.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTENT: [u8; 32] = [7; 32];

    fn object(version: &str, spec: &str, status: &str) -> Object {
        let metadata = json!({ "name": "a", "uid": "u", "resourceVersion": version });
        Object::new(json!({ "metadata": metadata, "spec": spec, "status": status })).unwrap()
    }

    #[test]
    fn an_apply_holds_until_its_own_part_changes() {
        let cases = [
            (Extent::Status, "there", "changed", false),
            (Extent::Status, "changed", "there", true),
            (Extent::Rest, "there", "changed", true),
            (Extent::Rest, "changed", "there", false),
            (Extent::Whole, "there", "there", true),
            (Extent::Whole, "there", "changed", false),
            (Extent::Whole, "changed", "there", false),
        ];
        for (extent, spec, status, holds) in cases {
            let applied = Applied::new(INTENT, extent, &object("1", "there", "there"));
            let now = object("2", spec, status);
            assert_eq!(
                applied.still_holds(&INTENT, extent, &now),
                holds,
                "{extent:?} {spec} {status}"
            );
        }
    }

    #[test]
    fn another_intent_never_holds() {
        let object = object("1", "there", "there");
        let applied = Applied::new(INTENT, Extent::Rest, &object);
        assert!(applied.still_holds(&INTENT, Extent::Rest, &object));
        assert!(!applied.still_holds(&[8; 32], Extent::Rest, &object));
    }
}
