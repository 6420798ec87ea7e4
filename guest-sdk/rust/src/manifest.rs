//! An object to apply: its name, and the fields that the plugin wants to own.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::metadata::Metadata;
use crate::query::ObjectRef;

/// An object to apply. A field that was applied before and is no longer named is removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `ConfigMap`.
    pub kind: String,
    /// Name, labels, annotations and owner.
    pub metadata: Metadata,
    /// `spec`, `data` and whatever else the kind has.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl Manifest {
    /// Starts an object without an owner; see [`Object::child`](crate::Object::child).
    pub fn new(target: &ObjectRef) -> Self {
        Self {
            api_version: target.api_version.clone(),
            kind: target.kind.clone(),
            metadata: Metadata {
                name: target.name.clone(),
                namespace: target.namespace.clone(),
                ..Metadata::default()
            },
            fields: Map::new(),
        }
    }

    /// Sets the namespace of a child whose owner is cluster-scoped.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }

    /// Lets `create` generate the name: `prefix` and some random letters. Its own name is dropped.
    #[must_use]
    pub fn generate_name(mut self, prefix: impl Into<String>) -> Self {
        self.metadata.name = String::new();
        self.metadata.generate_name = prefix.into();
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.labels.insert(key.into(), value.into());
        self
    }

    /// Sets an annotation.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.annotations.insert(key.into(), value.into());
        self
    }

    /// Sets a key of `data`, as in a ConfigMap.
    #[must_use]
    pub fn data(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let data = self
            .fields
            .entry("data")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(data) = data {
            data.insert(key.into(), Value::String(value.into()));
        }
        self
    }

    /// Sets `spec`.
    #[must_use]
    pub fn spec(self, spec: impl Into<Value>) -> Self {
        self.field("spec", spec)
    }

    /// Sets any field beside `metadata`.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}
