//! `metadata`, with types for what controllers read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::read::Key;

/// An object's `metadata`. What has no field here is in `rest`, and survives a round trip.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Unique among objects of the kind in the namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The beginning of the name, if [`create`](crate::Cluster) generates the name. Then `name` is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// None for a cluster-scoped kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Unique forever; set by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Counts the changes of the spec; 0 for kinds without a generation.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// Labels, to find objects by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, for notes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When somebody deleted the object: RFC 3339 in UTC, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Who must still clean up before it is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The objects that own it: it is deleted with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Names an owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// The owner's group and version.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's UID.
    pub uid: String,
    /// Whether the owner is the one that manages the object.
    pub controller: bool,
    /// Whether the owner, when deleted in the foreground, waits for the object.
    pub block_owner_deletion: bool,
}

impl Metadata {
    /// When the object was created: RFC 3339 in UTC, in whole seconds. The API server sets it; None before that.
    pub fn creation_timestamp(&self) -> Option<&str> {
        self.rest.get("creationTimestamp")?.as_str()
    }
}

fn is_zero(generation: &i64) -> bool {
    *generation == 0
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let mut read = Metadata::default();
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "name" => read.name = map.next_value()?,
                "generateName" => read.generate_name = map.next_value()?,
                "namespace" => read.namespace = map.next_value()?,
                "uid" => read.uid = map.next_value()?,
                "generation" => read.generation = map.next_value()?,
                "labels" => read.labels = map.next_value()?,
                "annotations" => read.annotations = map.next_value()?,
                "deletionTimestamp" => read.deletion_timestamp = map.next_value()?,
                "finalizers" => read.finalizers = map.next_value()?,
                "ownerReferences" => read.owner_references = fit(owners(&map.next_value()?))?,
                _ => {
                    read.rest.insert(key.into_owned(), map.next_value()?);
                }
            }
        }
        Ok(read)
    }
}

impl<'de> Deserialize<'de> for OwnerReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fit(owner(&Value::deserialize(deserializer)?))
    }
}

/// As an error of the caller.
fn fit<T, E: Error>(read: Result<T, &'static str>) -> Result<T, E> {
    read.map_err(E::custom)
}

fn owners(value: &Value) -> Result<Vec<OwnerReference>, &'static str> {
    let items = value
        .as_array()
        .ok_or("expected owner references, a list")?;
    let mut owners = Vec::with_capacity(items.len());
    for item in items {
        owners.push(owner(item)?);
    }
    Ok(owners)
}

fn owner(value: &Value) -> Result<OwnerReference, &'static str> {
    let text = |field| match value.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err("expected an owner reference with apiVersion, kind, name and uid"),
    };
    let is_set = |field| match value.get(field) {
        Some(Value::Bool(is_set)) => Ok(*is_set),
        None => Ok(false),
        _ => Err("expected controller and blockOwnerDeletion to be true or false"),
    };
    Ok(OwnerReference {
        api_version: text("apiVersion")?,
        kind: text("kind")?,
        name: text("name")?,
        uid: text("uid")?,
        controller: is_set("controller")?,
        block_owner_deletion: is_set("blockOwnerDeletion")?,
    })
}
