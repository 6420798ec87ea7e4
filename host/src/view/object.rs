//! One object as the store keeps it: compact JSON text beside the metadata that the host reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::key::Key;
use super::owned::{Owned, digest, owned};
use crate::projection::Fields;

/// What the host reads of an object's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The object's name.
    pub name: String,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Which of all objects that ever had this name it is.
    pub uid: String,
    /// As the server wrote it; opaque where it is no number.
    pub resource_version: String,
    /// Counts changes of the spec; absent for kinds without one.
    pub generation: Option<i64>,
    /// Whether it is on its way out.
    pub deleting: bool,
    /// Who must agree before it goes.
    pub finalizers: Vec<String>,
    /// Whom it belongs to.
    pub owners: Arc<Vec<Owner>>,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Its annotations.
    pub annotations: Arc<BTreeMap<String, String>>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Its name, in the namespace of the owned object unless it is cluster-scoped.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// An object in the store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Object {
    /// What the host reads of it.
    pub metadata: Arc<Metadata>,
    /// All that is kept of it, without `managedFields`, as compact JSON.
    pub json: Arc<str>,
    /// What our field managers own of it.
    owned: Option<Arc<[Owned]>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    name: String,
    namespace: Option<String>,
    uid: String,
    resource_version: String,
    generation: Option<i64>,
    deletion_timestamp: Option<String>,
    finalizers: Vec<String>,
    owner_references: Vec<Owner>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// The finalizer of the plugin called `plugin`.
pub fn finalizer_of(plugin: &str) -> String {
    format!("windlass.dev/{plugin}")
}

impl Metadata {
    /// Whether the finalizer `name` is on it.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|held| held == name)
    }

    /// Namespace and name.
    pub fn key(&self) -> Key {
        Key {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The version as a number: servers since 1.35 promise that they compare as such (KEP-5504),
    /// and earlier ones do it in fact.
    pub fn version(&self) -> u64 {
        self.resource_version.parse().unwrap_or(0)
    }
}

impl Object {
    /// Takes an object as the server sent it; `None` if it is no object with a name.
    pub fn new(object: Value) -> Option<Self> {
        Self::projected(object, &Fields::default())
    }

    /// The same, of which only `fields` are kept, and the metadata.
    pub fn projected(mut object: Value, fields: &Fields) -> Option<Self> {
        let owned = owned(&object);
        let metadata = object.get_mut("metadata")?;
        metadata.as_object_mut()?.remove("managedFields");
        let raw = Raw::deserialize(&*metadata).ok()?;
        if raw.name.is_empty() {
            return None;
        }
        let metadata = Metadata {
            name: raw.name,
            namespace: raw.namespace,
            uid: raw.uid,
            resource_version: raw.resource_version,
            generation: raw.generation,
            deleting: raw.deletion_timestamp.is_some(),
            finalizers: raw.finalizers,
            owners: raw.owner_references.into(),
            labels: raw.labels.into(),
            annotations: raw.annotations.into(),
        };
        Some(Self {
            metadata: Arc::new(metadata),
            json: match fields.is_all() {
                true => object.to_string().into(),
                false => fields.cut(&object).to_string().into(),
            },
            owned,
        })
    }

    /// The object with nothing but `fields` and its metadata.
    pub fn cut_to(self, fields: &Fields) -> Self {
        if fields.is_all() {
            return self;
        }
        Self {
            json: fields.cut(&self.value()).to_string().into(),
            ..self
        }
    }

    /// The digest of what `manager` applied to it or to its status, if it is known.
    pub(super) fn owned_by(&self, manager: &str, status: bool) -> Option<[u8; 16]> {
        digest(self.owned.as_deref(), manager, status)
    }

    /// The object as a tree.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_is_read_and_managed_fields_are_dropped() {
        let object = Object::new(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "12",
                "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["f"], "managedFields": [{ "manager": "m" }], "labels": { "l": "1" },
                "ownerReferences": [{ "apiVersion": "v1", "kind": "K", "name": "o", "uid": "ou" }],
            },
        }))
        .unwrap();
        let metadata = &object.metadata;
        assert!(metadata.deleting && metadata.has_finalizer("f"));
        assert_eq!((metadata.version(), metadata.generation), (12, Some(3)));
        assert_eq!(metadata.owners[0].name, "o");
        assert!(!object.json.contains("managedFields"));
    }

    #[test]
    fn what_has_no_name_is_no_object() {
        assert!(Object::new(json!({ "metadata": {} })).is_none());
        assert!(Object::new(json!([])).is_none());
        assert!(Object::new(json!({ "metadata": 7 })).is_none());
    }
}
