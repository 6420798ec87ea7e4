//! `spec.deletionPolicy`: what becomes of a plugin whose Plugin object is deleted.

use serde::Deserialize;

/// What becomes of a plugin whose object is deleted, while objects carry its finalizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DeletionPolicy {
    /// It runs on until no object carries its finalizer.
    #[default]
    Wait,
    /// It stops, and the host takes its finalizer off all objects.
    Release,
    /// It stops. Objects keep its finalizer.
    Orphan,
}
