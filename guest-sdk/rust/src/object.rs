//! A Kubernetes object with a typed spec and status.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::metadata::{Metadata, OwnerReference};
use crate::query::ObjectRef;
use crate::read::{Key, absent};

/// An object as the API server keeps it. Fields that the types do not name survive a round trip
/// in `rest` (those within the spec only if its type keeps them).
///
/// For a kind without a spec, use `Object<Option<Value>>`, or any type of your own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<Spec, Status = Value> {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `ConfigMap`.
    pub kind: String,
    /// What every object has.
    pub metadata: Metadata,
    /// The wanted state.
    pub spec: Spec,
    /// The observed state; None before the first report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl<Spec, Status> Object<Spec, Status> {
    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The reference for reads and deletes.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
        }
    }

    /// An owner reference to this object.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.metadata.name.clone(),
            uid: self.metadata.uid.clone(),
            controller: true,
            block_owner_deletion: true,
        }
    }

    /// An object to apply that this one owns. It is in the same namespace, and is deleted with this one. When it
    /// changes, this one runs again.
    pub fn child(&self, api_version: &str, kind: &str, name: impl Into<String>) -> Manifest {
        let mut child = Manifest::new(&ObjectRef {
            namespace: self.metadata.namespace.clone(),
            ..ObjectRef::cluster_scoped(api_version, kind, name)
        });
        child.metadata.owner_references.push(self.owner_reference());
        child
    }
}

impl<'de, Spec, Status> Deserialize<'de> for Object<Spec, Status>
where
    Spec: Deserialize<'de>,
    Status: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<Spec, Status>(PhantomData<(Spec, Status)>);

impl<'de, Spec, Status> Visitor<'de> for ObjectVisitor<Spec, Status>
where
    Spec: Deserialize<'de>,
    Status: Deserialize<'de>,
{
    type Value = Object<Spec, Status>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut frame, mut spec, mut status) = (Frame::default(), None, None);
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "spec" => spec = Some(map.next_value()?),
                "status" => status = map.next_value()?,
                _ => frame.read(Key(key), &mut map)?,
            }
        }
        Ok(Object {
            spec: spec.map_or_else(|| absent("spec"), Ok)?,
            status,
            api_version: frame.api_version.map_or_else(|| absent("apiVersion"), Ok)?,
            kind: frame.kind.map_or_else(|| absent("kind"), Ok)?,
            metadata: frame.metadata.map_or_else(|| absent("metadata"), Ok)?,
            rest: frame.rest,
        })
    }
}

/// The parts of every object.
#[derive(Default)]
struct Frame {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
    rest: Map<String, Value>,
}

impl Frame {
    /// Reads the value of this key.
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        Key(key): Key<'de>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match &*key {
            "apiVersion" => self.api_version = Some(map.next_value()?),
            "kind" => self.kind = Some(map.next_value()?),
            "metadata" => self.metadata = Some(map.next_value()?),
            _ => {
                self.rest.insert(key.into_owned(), map.next_value()?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Spec {
        name: String,
    }

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let text = json!({
            "apiVersion": "v1", "kind": "Thing", "data": { "k": "v" }, "spec": { "name": "ada" },
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "generation": 3, "selfLink": "/x",
                "generateName": "a-", "creationTimestamp": "2026-11-21T09:30:00Z",
                "labels": { "l": "1" }, "finalizers": ["f"], "resourceVersion": "12",
            },
        });
        let object: Object<Spec> = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(object.spec.name, "ada");
        assert_eq!(
            object.metadata.creation_timestamp(),
            Some("2026-11-21T09:30:00Z")
        );
        assert_eq!(object.metadata.generate_name, "a-");
        assert_eq!(serde_json::to_value(object).unwrap(), text);
    }

    #[test]
    fn an_object_of_any_kind_can_be_read() {
        let text = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let object: Object<Option<Value>> = serde_json::from_value(text).unwrap();
        assert_eq!(object.reference().to_string(), "ConfigMap/a");
    }

    #[test]
    fn text_and_tree_are_read_alike() {
        let text = r#"{
            "metadata": {
                "n\u0061me": "a", "deletionTimestamp": null, "ma\u006eagedFields": [{ "manager": "x" }],
                "annotations": { "a": "1" }, "ownerReferences": [
                    { "apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": true, "more": 1 }
                ]
            },
            "k\u0069nd": "Thing", "status": null, "sp\u0065c": { "name": "ada" }, "apiVersion": "v1", "d\u0061ta": [1.5]
        }"#;
        let read: Object<Value> = serde_json::from_str(text).unwrap();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "Thing", "spec": { "name": "ada" }, "data": [1.5],
                "metadata": {
                    "name": "a", "managedFields": [{ "manager": "x" }], "annotations": { "a": "1" },
                    "ownerReferences": [{
                        "apiVersion": "v1", "kind": "X", "name": "x", "uid": "u",
                        "controller": true, "blockOwnerDeletion": false,
                    }],
                },
            }),
        );
        let tree: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_value::<Object<Value>>(tree).unwrap(), read);
    }

    #[test]
    fn what_an_object_lacks_is_named() {
        let whole = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {}, "spec": { "name": "ada" },
        });
        for field in ["apiVersion", "kind", "metadata", "spec"] {
            let mut object = whole.clone();
            object.as_object_mut().unwrap().remove(field);
            let error = serde_json::from_value::<Object<Spec>>(object).unwrap_err();
            assert_eq!(error.to_string(), format!("missing field `{field}`"));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let cases = [
            (json!([]), "a Kubernetes object"),
            (json!({ "metadata": [] }), "an object's metadata"),
            (json!({ "metadata": { "name": 1 } }), "expected a string"),
            (
                json!({ "metadata": { "labels": { "a": 1 } } }),
                "expected a string",
            ),
            (
                json!({ "metadata": { "ownerReferences": {} } }),
                "expected owner references",
            ),
            (
                json!({ "metadata": { "ownerReferences": [{ "kind": "X" }] } }),
                "expected an owner reference with apiVersion",
            ),
            (json!({ "spec": { "name": 1 } }), "expected a string"),
        ];
        for (text, want) in cases {
            let error = serde_json::from_value::<Object<Spec>>(text).unwrap_err();
            assert!(error.to_string().contains(want), "{error}");
        }
    }

    #[test]
    fn a_child_may_be_in_another_namespace_and_without_a_name() {
        let owner: Object<Value> = serde_json::from_value(json!({
            "apiVersion": "x.dev/v1", "kind": "X", "spec": {}, "metadata": { "name": "a", "uid": "u" },
        }))
        .unwrap();
        let child = owner.child("v1", "ConfigMap", "gone");
        let child = child.generate_name("a-").in_namespace("shop");
        let child = serde_json::to_value(child).unwrap();
        let metadata = child.get("metadata").unwrap();
        assert_eq!(metadata.get("namespace"), Some(&json!("shop")));
        assert_eq!(metadata.get("generateName"), Some(&json!("a-")));
        assert_eq!(metadata.get("name"), None);
        assert_eq!(crate::host::title(&child), "ConfigMap/shop/a-");
    }

    #[test]
    fn a_child_is_owned_and_in_the_same_namespace() {
        let owner: Object<Value> = serde_json::from_value(json!({
            "apiVersion": "x.dev/v1", "kind": "X", "spec": {},
            "metadata": { "name": "a", "namespace": "n", "uid": "u" },
        }))
        .unwrap();
        let child = owner
            .child("v1", "ConfigMap", "a-x")
            .data("k", "v")
            .label("l", "1");
        let owner = json!({
            "apiVersion": "x.dev/v1", "kind": "X", "name": "a", "uid": "u",
            "controller": true, "blockOwnerDeletion": true,
        });
        assert_eq!(
            serde_json::to_value(child).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v" },
                "metadata": {
                    "name": "a-x", "namespace": "n", "labels": { "l": "1" },
                    "ownerReferences": [owner],
                },
            }),
        );
    }
}
