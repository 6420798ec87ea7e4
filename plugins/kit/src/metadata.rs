//! The metadata of children, as far as controllers read it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

/// `metadata` of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Unique among objects of the kind in the namespace.
    pub name: String,
    /// Empty for a cluster-scoped kind.
    pub namespace: String,
    /// Unique forever.
    pub uid: String,
    /// Which version of the object this is.
    pub resource_version: String,
    /// Counts the changes of the spec.
    pub generation: i64,
    /// When the object was created.
    pub creation_timestamp: Option<Timestamp>,
    /// When somebody deleted it.
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Who must still clean up before it is gone.
    pub finalizers: Vec<String>,
    /// The objects that own it.
    pub owner_references: Vec<Owner>,
}

/// An owner of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
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
}

impl Metadata {
    /// The owner that manages the object.
    pub fn controller(&self) -> Option<&Owner> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// Whether somebody has deleted it.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}
