//! A namespace, as far as controllers that put an object into each one read it.

use serde::Deserialize;

use crate::metadata::Metadata;

/// The fields that a plugin declares for namespaces, and no others.
pub const FIELDS: [&str; 1] = [".status.phase"];

/// A namespace.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Namespace {
    /// What every object has.
    pub metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

impl Namespace {
    /// Whether it is being deleted: nobody can create an object in it.
    pub fn is_terminating(&self) -> bool {
        self.metadata.is_deleting() || self.status.phase == "Terminating"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_namespace_terminates_from_its_deletion_on() {
        let cases = [
            (json!({ "metadata": { "name": "a" } }), false),
            (
                json!({ "metadata": { "name": "a" }, "status": { "phase": "Active" } }),
                false,
            ),
            (
                json!({ "metadata": { "name": "a" }, "status": { "phase": "Terminating" } }),
                true,
            ),
            (
                json!({ "metadata": { "name": "a", "deletionTimestamp": "2026-11-21T09:30:00Z" } }),
                true,
            ),
        ];
        for (object, want) in cases {
            let namespace: Namespace = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(namespace.is_terminating(), want, "{object}");
        }
    }
}
