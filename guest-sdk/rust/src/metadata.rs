//! `metadata`, with types for what controllers read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An object's `metadata`. What has no field here is in `rest`, and survives a round trip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Unique among objects of the kind in the namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// None for a cluster-scoped kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Unique for ever; set by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Counts the changes of the spec; 0 for kinds without a generation.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// To find objects by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// To leave notes at objects.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When the object was asked to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Who must still clean up before it goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The objects with which it goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Names the object with which another one goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub controller: bool,
    /// Whether the owner, when deleted in the foreground, waits for the object.
    #[serde(default)]
    pub block_owner_deletion: bool,
}

fn is_zero(generation: &i64) -> bool {
    *generation == 0
}
