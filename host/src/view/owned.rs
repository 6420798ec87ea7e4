//! What each of our field managers owns of an object: a digest of its field set and of the live values there.
//!
//! - Taken while an object is parsed, since managedFields are not kept.
//! - Two digests are the same only if the manager owns the same fields and all of them hold what they held:
//!   whatever else changes in the object does not show.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// What all of our field managers begin with; the host's own, `windlass`, applies nothing.
const OURS: &str = "windlass/";

/// The part of one field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    manager: Box<str>,
    /// Whether it was applied to the subresource `status`.
    status: bool,
    digest: [u8; 16],
}

/// What our managers applied to `object`, which still has its managedFields; none costs nothing.
pub(super) fn owned(object: &Value) -> Option<Arc<[Owned]>> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let owned: Vec<Owned> = entries
        .iter()
        .filter_map(|entry| part(entry, object))
        .collect();
    (!owned.is_empty()).then(|| owned.into())
}

/// What `manager` owns, if it is known.
pub(super) fn digest(owned: Option<&[Owned]>, manager: &str, status: bool) -> Option<[u8; 16]> {
    let mut all = owned.unwrap_or_default().iter();
    let part = all.find(|part| &*part.manager == manager && part.status == status)?;
    Some(part.digest)
}

fn part(entry: &Value, object: &Value) -> Option<Owned> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    let manager = text("manager");
    let status = match text("subresource") {
        "" => false,
        "status" => true,
        _ => return None,
    };
    // In another version the same field may have another name, so its value cannot be found.
    let same_version = object.get("apiVersion") == entry.get("apiVersion");
    if !manager.starts_with(OURS) || text("operation") != "Apply" || !same_version {
        return None;
    }
    let fields = entry.get("fieldsV1")?.as_object()?;
    let mut hash = Sha256::new();
    walk(fields, Some(object), &mut hash);
    let digest: [u8; 32] = hash.finalize().into();
    Some(Owned {
        manager: manager.into(),
        status,
        digest: *digest.first_chunk()?,
    })
}

/// Takes in the steps of a field set, and of `live` what they lead to. As in structured-merge-diff's
/// `fieldpath`, a step without steps below it owns all that is there, and `.` that it is there at all.
fn walk(fields: &Map<String, Value>, live: Option<&Value>, hash: &mut Sha256) {
    let mut items = Items::new(live);
    for (step, below) in fields {
        hash.update(step.len().to_le_bytes());
        hash.update(step);
        if step == "." {
            hash.update([u8::from(live.is_some())]);
            continue;
        }
        let found = items.find(step);
        match below.as_object() {
            Some(below) if !below.is_empty() => {
                hash.update(b"{");
                walk(below, found, hash);
                hash.update(b"}");
            }
            _ => match found {
                Some(value) => hash.update(value.to_string()),
                None => hash.update(b"-"),
            },
        }
    }
}

/// The parts of a live value by the steps of field sets. A list is looked through once, however many steps
/// lead into it.
struct Items<'a> {
    live: Option<&'a Value>,
    /// Items by the values of these of their fields.
    by_key: BTreeMap<Vec<String>, BTreeMap<String, &'a Value>>,
    by_value: Option<BTreeMap<String, &'a Value>>,
}

impl<'a> Items<'a> {
    fn new(live: Option<&'a Value>) -> Self {
        Self {
            live,
            by_key: BTreeMap::new(),
            by_value: None,
        }
    }

    fn find(&mut self, step: &str) -> Option<&'a Value> {
        let (kind, rest) = step.split_once(':')?;
        let live = self.live?;
        match kind {
            "f" => live.get(rest),
            "i" => live.get(rest.parse::<usize>().ok()?),
            "k" => self.keyed(live.as_array()?, rest),
            "v" => self.valued(live.as_array()?, rest),
            _ => None,
        }
    }

    fn keyed(&mut self, list: &'a [Value], step: &str) -> Option<&'a Value> {
        let key: Map<String, Value> = serde_json::from_str(step).ok()?;
        let names: Vec<String> = key.keys().cloned().collect();
        let items = self.by_key.entry(names.clone()).or_insert_with(|| {
            let keyed = |item: &'a Value| Some((key_of(item, &names)?, item));
            list.iter().rev().filter_map(keyed).collect()
        });
        items.get(&Value::Object(key).to_string()).copied()
    }

    fn valued(&mut self, list: &'a [Value], step: &str) -> Option<&'a Value> {
        let value: Value = serde_json::from_str(step).ok()?;
        let items = self
            .by_value
            .get_or_insert_with(|| list.iter().map(|item| (item.to_string(), item)).collect());
        items.get(&value.to_string()).copied()
    }
}

/// The fields `names` of an item, as the step of a field set writes them.
fn key_of(item: &Value, names: &[String]) -> Option<String> {
    let field = |name: &String| Some((name.clone(), item.get(name)?.clone()));
    let key: Option<Map<String, Value>> = names.iter().map(field).collect();
    Some(Value::Object(key?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(fields: &Value, spec: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "metadata": { "name": "a", "managedFields": [
                { "manager": "windlass/p", "operation": "Apply", "apiVersion": "v1",
                  "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": fields } },
            ] },
            "spec": spec,
        })
    }

    fn of(fields: &Value, spec: &Value) -> Option<[u8; 16]> {
        digest(owned(&object(fields, spec)).as_deref(), "windlass/p", false)
    }

    #[test]
    fn the_values_that_a_field_set_leads_to_are_seen_and_no_others() {
        let port = json!({ "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {} } });
        let rows = [
            // Fields, what was there, what is there now, and whether that is seen.
            (
                json!({ "f:a": {} }),
                json!({ "a": 1 }),
                json!({ "a": 2 }),
                true,
            ),
            (
                json!({ "f:a": {} }),
                json!({ "a": 1 }),
                json!({ "a": 1, "b": 2 }),
                false,
            ),
            (json!({ "f:a": {} }), json!({ "a": 1 }), json!({}), true),
            (
                json!({ "f:a": {} }),
                json!({ "a": {} }),
                json!({ "a": { "b": 1 } }),
                true,
            ),
            (
                json!({ "f:a": { "f:b": {} } }),
                json!({ "a": { "b": 1 } }),
                json!({ "a": { "b": 1, "c": 2 } }),
                false,
            ),
            (
                json!({ "f:a": { ".": {}, "f:b": {} } }),
                json!({ "a": { "b": 1 } }),
                json!({ "a": { "b": 1, "c": 2 } }),
                false,
            ),
            (
                json!({ "f:a": { ".": {} } }),
                json!({ "a": {} }),
                json!({}),
                true,
            ),
            (
                json!({ "f:a": { ".": {} } }),
                json!({ "a": {} }),
                json!({ "a": { "b": 1 } }),
                false,
            ),
            // A name may hold what separates steps elsewhere.
            (
                json!({ "f:x.dev/y:z": {} }),
                json!({ "x.dev/y:z": 1 }),
                json!({ "x.dev/y:z": 2 }),
                true,
            ),
            // Keyed lists: wherever the item stands, and none but it.
            (
                json!({ "f:p": port }),
                json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
                json!({ "p": [{ "port": 80, "protocol": "UDP", "name": "x" }, { "port": 80, "protocol": "TCP", "name": "a", "node": 3 }] }),
                false,
            ),
            (
                json!({ "f:p": port }),
                json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
                json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "b" }] }),
                true,
            ),
            (
                json!({ "f:p": port }),
                json!({ "p": [{ "port": 80, "protocol": "TCP", "name": "a" }] }),
                json!({ "p": [{ "port": 81, "protocol": "TCP", "name": "a" }] }),
                true,
            ),
            (
                json!({ "f:p": { "k:{\"n\":\"a\"}": {} } }),
                json!({ "p": [{ "n": "a", "v": 1 }] }),
                json!({ "p": [{ "n": "a", "v": 2 }] }),
                true,
            ),
            // Sets.
            (
                json!({ "f:s": { "v:\"x\"": {} } }),
                json!({ "s": ["x"] }),
                json!({ "s": ["y", "x"] }),
                false,
            ),
            (
                json!({ "f:s": { "v:\"x\"": {} } }),
                json!({ "s": ["x"] }),
                json!({ "s": ["y"] }),
                true,
            ),
            (
                json!({ "f:s": { "v:1": {} } }),
                json!({ "s": [1] }),
                json!({ "s": ["1"] }),
                true,
            ),
            // By place.
            (
                json!({ "f:l": { "i:1": { "f:a": {} } } }),
                json!({ "l": [0, { "a": 1 }] }),
                json!({ "l": [9, { "a": 1 }] }),
                false,
            ),
            (
                json!({ "f:l": { "i:1": { "f:a": {} } } }),
                json!({ "l": [0, { "a": 1 }] }),
                json!({ "l": [{ "a": 1 }, 0] }),
                true,
            ),
            // What leads into something else leads nowhere.
            (
                json!({ "f:p": port }),
                json!({ "p": 7 }),
                json!({ "p": "x" }),
                false,
            ),
        ];
        for (fields, before, now, seen) in rows {
            let (before_digest, now_digest) = (of(&fields, &before), of(&fields, &now));
            assert!(before_digest.is_some(), "{fields}");
            assert_eq!(
                before_digest != now_digest,
                seen,
                "{fields}: {before} {now}"
            );
        }
    }

    #[test]
    fn the_field_set_itself_is_seen() {
        let spec = json!({ "a": 1, "b": null });
        let sets = [
            json!({}),
            json!({ "f:a": {} }),
            json!({ "f:a": {}, "f:b": {} }),
        ];
        let mut digests: Vec<_> = sets.iter().map(|set| of(set, &spec)).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), sets.len());
    }

    #[test]
    fn only_what_a_manager_of_ours_applied_in_this_version_counts() {
        let entry = json!({ "manager": "windlass/p", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {} });
        let counts = |field: &str, value: &str| {
            let mut entry = entry.clone();
            entry[field] = json!(value);
            owned(&json!({ "apiVersion": "v1", "metadata": { "managedFields": [entry] } }))
                .is_some()
        };
        assert!(counts("manager", "windlass/p/0011aaff"));
        assert!(counts("subresource", "status"));
        for (field, value) in [
            ("manager", "windlass"),
            ("manager", "kubectl"),
            ("operation", "Update"),
            ("apiVersion", "v2"),
            ("subresource", "scale"),
        ] {
            assert!(!counts(field, value), "{field} {value}");
        }
        for odd in [
            json!(null),
            json!(7),
            json!([7]),
            json!([{ "manager": "windlass/p" }]),
        ] {
            assert!(owned(&json!({ "metadata": { "managedFields": odd } })).is_none());
        }
    }

    #[test]
    fn a_status_is_a_part_of_its_own() {
        let mut object = object(&json!({ "f:a": {} }), &json!({ "a": 1 }));
        object["metadata"]["managedFields"][0]["subresource"] = json!("status");
        let owned = owned(&object);
        assert!(digest(owned.as_deref(), "windlass/p", true).is_some());
        assert!(digest(owned.as_deref(), "windlass/p", false).is_none());
    }
}
