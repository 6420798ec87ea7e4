//! The few things of whole objects that field managers look at.

use serde_json::{Map, Value};

use super::Writer;
use super::managers::Managers;

const MANAGED_FIELDS: &str = "managedFields";

/// The entries of `metadata.managedFields`; nothing where it is not there, or no list.
pub(super) fn managed_fields(object: &Value) -> Option<&[Value]> {
    let entries = object.get("metadata")?.get(MANAGED_FIELDS)?.as_array()?;
    Some(entries)
}

/// Takes `metadata.managedFields` out of an object.
pub(super) fn take_managed_fields(object: &mut Value) -> Option<Vec<Value>> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    match metadata.remove(MANAGED_FIELDS)? {
        Value::Array(entries) => Some(entries),
        _ => None,
    }
}

/// Writes `metadata.managedFields`, or takes it out where nobody owns anything.
pub(super) fn put_managed_fields(object: &mut Value, managers: &Managers) {
    match managers.write() {
        None => {
            take_managed_fields(object);
        }
        Some(entries) => {
            if let Some(metadata) = metadata_mut(object) {
                metadata.insert(MANAGED_FIELDS.to_owned(), entries);
            }
        }
    }
}

/// `metadata`, put there if it is missing.
pub(super) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let fields = object.as_object_mut()?;
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// A text in `metadata`; empty where there is none.
pub(super) fn metadata_text<'a>(object: &'a Value, name: &str) -> &'a str {
    let text = object
        .get("metadata")
        .and_then(|metadata| metadata.get(name));
    text.and_then(Value::as_str).unwrap_or_default()
}

/// `NAMESPACE/NAME; GROUP/VERSION, Kind=KIND`, as messages name an object.
pub(super) fn identity(object: &Value) -> String {
    let (namespace, name) = (
        metadata_text(object, "namespace"),
        metadata_text(object, "name"),
    );
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = kind_text(text("apiVersion"), text("kind"));
    format!("{namespace}/{name}; {kind}")
}

/// `GROUP/VERSION, Kind=KIND`; without anything where the version is none.
pub(super) fn kind_text(api_version: &str, kind: &str) -> String {
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => format!("/{version}, Kind={kind}"),
        [group, version] => format!("{group}/{version}, Kind={kind}"),
        _ => "/, Kind=".to_owned(),
    }
}

/// An object without anything in it.
pub(super) fn empty(writer: &Writer<'_>) -> Value {
    serde_json::json!({ "apiVersion": writer.api_version, "kind": writer.kind })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_named_as_the_real_server_names_them() {
        let table = [
            (
                json!({ "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": { "namespace": "a", "name": "b" } }),
                "a/b; apps/v1, Kind=Deployment",
            ),
            (
                json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "b" } }),
                "/b; /v1, Kind=Node",
            ),
            (json!({}), "/; /, Kind="),
            (json!({ "apiVersion": "a/b/c", "kind": "D" }), "/; /, Kind="),
        ];
        for (object, text) in table {
            assert_eq!(identity(&object), text);
        }
    }

    #[test]
    fn managed_fields_are_taken_out_and_put_back() {
        let mut object = json!({ "metadata": { "managedFields": [{}], "name": "a" } });
        assert_eq!(take_managed_fields(&mut object), Some(vec![json!({})]));
        assert_eq!(object, json!({ "metadata": { "name": "a" } }));
        assert_eq!(take_managed_fields(&mut object), None);
        let mut object = json!({ "metadata": { "managedFields": null } });
        assert_eq!(take_managed_fields(&mut object), None);
        put_managed_fields(&mut object, &Managers::default());
        assert_eq!(object, json!({ "metadata": {} }));
    }
}
