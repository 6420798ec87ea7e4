//! What is special in writes of namespaces: they have finalizers beside those of every object
//! (kubernetes `pkg/registry/core/namespace`).

use serde_json::{Value, json};

use crate::meta;
use crate::registry::Resource;
use crate::status::Cause;

/// Whether the objects of a resource are namespaces.
pub fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

/// Whether a namespace is not empty yet, as its `spec.finalizers` say.
pub fn has_contents(namespace: &Value) -> bool {
    let held = namespace
        .pointer("/spec/finalizers")
        .and_then(Value::as_array);
    held.is_some_and(|held| !held.is_empty())
}

/// Keeps the finalizers, which have an endpoint of their own.
pub(super) fn keep_finalizers(new: &mut Value, old: &Value) {
    meta::set_in(
        new,
        "spec",
        "finalizers",
        old.pointer("/spec/finalizers").cloned(),
    );
}

/// What is wrong with the phase.
pub(super) fn phase(namespace: &Value) -> Option<Cause> {
    let phase = namespace
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (wanted, empty) = if meta::is_deleting(namespace) {
        ("Terminating", "not empty")
    } else {
        ("Active", "empty")
    };
    let why = format!("may only be '{wanted}' if `deletionTimestamp` is {empty}");
    (phase != wanted).then(|| Cause::invalid("status.Phase", &json!(phase), &why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_goes_with_the_deletion() {
        let namespace = |phase: &str, deleting: bool| {
            let mut namespace =
                json!({ "metadata": { "name": "a" }, "status": { "phase": phase } });
            if deleting {
                meta::set_text(&mut namespace, "deletionTimestamp", "2026-11-21T09:30:00Z");
            }
            super::phase(&namespace).map(|cause| cause.message)
        };
        assert_eq!(namespace("Active", false), None);
        assert_eq!(namespace("Terminating", true), None);
        assert_eq!(
            namespace("Terminating", false).unwrap(),
            "Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
        );
        assert!(namespace("Active", true).is_some());
    }
}
