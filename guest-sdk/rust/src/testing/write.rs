//! What a cluster in memory records.

use serde_json::Value;

use crate::query::ObjectRef;

/// A change that was made through the verbs.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// How.
    pub verb: Verb,
    /// Of what.
    pub target: ObjectRef,
    /// What was applied, as it was sent; null for a delete.
    pub object: Value,
}

/// The ways to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Delete.
    Delete,
}
