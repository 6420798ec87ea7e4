//! A Kubernetes object with a typed spec and status.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::metadata::{Metadata, OwnerReference};
use crate::query::ObjectRef;

/// An object as the API server keeps it. Fields that the types do not name survive a round trip
/// in `rest` (those within the spec only if its type keeps them).
///
/// For a kind without a spec, use `Object<Option<Value>>`, or any type of your own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<Spec, Status = Value> {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `ConfigMap`.
    pub kind: String,
    /// What every object has.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: Spec,
    /// What was observed; None before the first report.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
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

    /// The name that reads and deletes go by.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
        }
    }

    /// A reference by which another object belongs to this one.
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

    /// An object to apply that belongs to this one: it is in the same namespace, goes when this
    /// one goes, and its changes run this one again.
    pub fn child(&self, api_version: &str, kind: &str, name: impl Into<String>) -> Manifest {
        let mut child = Manifest::new(&ObjectRef {
            namespace: self.metadata.namespace.clone(),
            ..ObjectRef::cluster_scoped(api_version, kind, name)
        });
        child.metadata.owner_references.push(self.owner_reference());
        child
    }
}

/// `Option::default` without asking for `Status: Default`.
fn none<T>() -> Option<T> {
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Spec {
        name: String,
    }

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let text = json!({
            "apiVersion": "v1", "kind": "Thing", "data": { "k": "v" }, "spec": { "name": "ada" },
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "generation": 3, "selfLink": "/x",
                "labels": { "l": "1" }, "finalizers": ["f"], "resourceVersion": "12",
            },
        });
        let object: Object<Spec> = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(object.spec.name, "ada");
        assert_eq!(serde_json::to_value(object).unwrap(), text);
    }

    #[test]
    fn an_object_of_any_kind_can_be_read() {
        let text = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let object: Object<Option<Value>> = serde_json::from_value(text).unwrap();
        assert_eq!(object.reference().to_string(), "ConfigMap/a");
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
