//! The status of a Job, and how finished pods are counted in it exactly once.
//!
//! A finished pod is counted in three steps (KEP-2307). Its UID goes into `uncountedTerminatedPods`. The pod loses the
//! finalizer. Then the UID leaves the list, and the counter moves. A crash between two steps loses nothing and repeats
//! nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completion_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) active: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) succeeded: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) failed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating: Option<usize>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) completed_indexes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_indexes: Option<String>,
    /// None before the first report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uncounted_terminated_pods: Option<Uncounted>,
    /// Fields of a newer Kubernetes.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Finished pods that may still have the finalizer, and that the counters do not count yet: their UIDs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Uncounted {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) succeeded: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<String>,
}

/// A condition of a Job. Unlike other conditions, it has no generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    pub(crate) r#type: String,
    pub(crate) status: String,
    last_probe_time: Option<Timestamp>,
    last_transition_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
}

/// Why a Job ends, or is suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// In CamelCase. It can be empty.
    pub(crate) reason: String,
    /// For people.
    pub(crate) message: String,
}

impl Cause {
    pub(crate) fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Status {
    /// The condition of this type that is true.
    pub(crate) fn holds(&self, kind: &str) -> Option<&Condition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|one| one.r#type == kind && one.status == "True")
    }

    /// Whether the Job has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.holds("Complete").or(self.holds("Failed")).is_some()
    }

    /// Sets a condition, dated now. If it has this status already, nothing changes. Returns whether it has changed.
    pub(crate) fn set(&mut self, kind: &str, is_true: bool, cause: &Cause, now: Timestamp) -> bool {
        let status = if is_true { "True" } else { "False" };
        let now = Timestamp::from_second(now.as_second()).ok();
        let new = Condition {
            r#type: kind.to_owned(),
            status: status.to_owned(),
            last_probe_time: now,
            last_transition_time: now,
            reason: cause.reason.clone(),
            message: cause.message.clone(),
        };
        let mut conditions = self.conditions.iter_mut();
        match conditions.find(|one| one.r#type == kind) {
            Some(held) if held.status == status => return false,
            Some(held) => *held = new,
            None => self.conditions.push(new),
        }
        true
    }

    /// The finished pods that are not counted yet.
    pub(crate) fn uncounted(&self) -> (&[String], &[String]) {
        let uncounted = self.uncounted_terminated_pods.as_ref();
        uncounted.map_or((&[], &[]), |held| (&*held.succeeded, &*held.failed))
    }

    /// Counts the pods that no longer have the finalizer: all but those with these UIDs.
    pub(crate) fn settle(&mut self, tracked: &BTreeSet<&str>) {
        let held = self.uncounted_terminated_pods.get_or_insert_default();
        let count = |uids: &mut Vec<String>| {
            let before = uids.len();
            uids.retain(|uid| tracked.contains(uid.as_str()));
            before - uids.len()
        };
        self.succeeded += count(&mut held.succeeded);
        self.failed += count(&mut held.failed);
    }
}

/// A time in whole seconds, as everywhere in Kubernetes.
pub(crate) fn whole(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_survives_a_round_trip() {
        let text = json!({
            "conditions": [{
                "type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended",
                "lastProbeTime": "2026-11-21T09:30:00Z", "lastTransitionTime": "2026-11-21T09:30:00Z",
            }],
            "active": 2, "failed": 1, "ready": 0, "completedIndexes": "1-3", "failedIndexes": "",
            "uncountedTerminatedPods": { "failed": ["a"] }, "later": { "a": 1 },
        });
        let status: Status = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(status).unwrap(), text);
    }

    #[test]
    fn a_pod_without_the_finalizer_is_counted_once() {
        let uids = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let mut status = Status {
            succeeded: 3,
            uncounted_terminated_pods: Some(Uncounted {
                succeeded: uids("ab"),
                failed: uids("cde"),
            }),
            ..Status::default()
        };
        status.settle(&BTreeSet::from(["b", "d", "z"]));
        assert_eq!((status.succeeded, status.failed), (4, 2));
        assert_eq!(status.uncounted(), (&*uids("b"), &*uids("d")));
        status.settle(&BTreeSet::from(["b", "d"]));
        assert_eq!((status.succeeded, status.failed), (4, 2));
    }

    #[test]
    fn a_condition_changes_with_its_status_only() {
        let mut status = Status::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        let cause = |reason| Cause::new(reason, "");
        assert!(status.set("Suspended", true, &cause("A"), at(1)));
        assert!(!status.set("Suspended", true, &cause("B"), at(2)));
        assert!(status.set("Suspended", false, &cause("C"), at(3)));
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].reason, "C");
        assert!(status.holds("Suspended").is_none());
    }
}
