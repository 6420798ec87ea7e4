//! A write to an object, as the oracles read it, and what a pod is.

use serde_json::Value;
use windlass_apiserver::history::Record;
use windlass_apiserver::request::route::Verb;

/// The finalizer of pods that their Job has not counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// A write that the server accepted.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// What the object is: `pods`.
    pub(crate) plural: String,
    /// When and by whom, for a person.
    pub(crate) when: String,
    /// Whether a host did it.
    pub(crate) by_host: bool,
    /// Whether it is a deletion, or the beginning of one.
    pub(crate) is_delete: bool,
    /// The object before; null if it was made.
    pub(crate) before: Value,
    /// The object afterwards; null if it has gone.
    pub(crate) after: Value,
}

impl Fact {
    /// A write, if it is to an object that the oracles judge.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let kinds = ["pods", "replicasets", "deployments", "jobs"];
        let plural = record.place.plural.as_str();
        kinds.contains(&plural).then(|| Self {
            plural: plural.to_owned(),
            when: format!("{} by {}", record.time, record.user),
            by_host: record.user.starts_with("host-"),
            is_delete: record.verb == Verb::Delete,
            before: record
                .before
                .as_ref()
                .map(|entry| entry.value())
                .unwrap_or_default(),
            after: record
                .after
                .as_ref()
                .map(|entry| entry.value())
                .unwrap_or_default(),
        })
    }

    /// The object as it is, or as it was last.
    pub(crate) fn object(&self) -> &Value {
        if self.after.is_null() {
            &self.before
        } else {
            &self.after
        }
    }
}

/// A text in an object; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A number in an object; 0 if there is none.
pub(crate) fn number(object: &Value, at: &str) -> i64 {
    object.pointer(at).and_then(Value::as_i64).unwrap_or(0)
}

/// A list in an object.
pub(crate) fn list<'a>(object: &'a Value, at: &str) -> impl Iterator<Item = &'a Value> {
    let list = object.pointer(at).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Whether an object has a condition that is true.
pub(crate) fn holds(object: &Value, kind: &str) -> bool {
    let mut all = list(object, "/status/conditions");
    all.any(|one| text(one, "/type") == kind && text(one, "/status") == "True")
}

/// All controllers of an object: kind and uid.
pub(crate) fn controllers(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let owners = list(object, "/metadata/ownerReferences");
    let owners = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    owners.map(|owner| (text(owner, "/kind"), text(owner, "/uid")))
}

/// The controller of an object: its kind and uid.
pub(crate) fn controller(object: &Value) -> Option<(&str, &str)> {
    controllers(object).next()
}

/// Whether somebody has deleted an object that is still there.
pub(crate) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// Whether a pod has ended for good.
pub(crate) fn has_ended(pod: &Value) -> bool {
    ["Succeeded", "Failed"].contains(&text(pod, "/status/phase"))
}

/// Whether a pod counts as one of those that are wanted.
pub(crate) fn is_active(pod: &Value) -> bool {
    !pod.is_null() && !has_ended(pod) && !is_going(pod)
}

/// Whether an active pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    is_active(pod) && holds(pod, "Ready")
}

/// Whether the Job of a pod has not counted it yet.
pub(crate) fn is_tracked(pod: &Value) -> bool {
    list(pod, "/metadata/finalizers").any(|held| *held == TRACKING)
}
