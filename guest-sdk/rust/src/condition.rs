//! Conditions: what is true of an object, and since when.

use serde::{Deserialize, Serialize};

/// One entry of `status.conditions`, as Kubernetes' own `metav1.Condition`.
///
/// Apply only the conditions that the plugin sets itself: the list merges by type, and the plugin owns the conditions
/// that it applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about: `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in CamelCase and from a small fixed set.
    pub reason: String,
    /// A sentence for people.
    #[serde(default)]
    pub message: String,
    /// When `status` changed last.
    #[serde(default)]
    pub last_transition_time: String,
    /// The generation that the plugin has seen.
    #[serde(default)]
    pub observed_generation: i64,
}

impl Condition {
    /// A condition that is true. Complete each of these three with [`Condition::since`].
    pub fn holds(kind: &str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(kind, "True", reason, message.into())
    }

    /// A condition that is false.
    pub fn fails(kind: &str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(kind, "False", reason, message.into())
    }

    /// A condition whose status is unknown.
    pub fn unknown(kind: &str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(kind, "Unknown", reason, message.into())
    }

    fn new(kind: &str, status: &str, reason: &str, message: String) -> Self {
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_transition_time: String::new(),
            observed_generation: 0,
        }
    }

    /// The same, as seen at a generation of the object.
    #[must_use]
    pub fn observed(mut self, generation: i64) -> Self {
        self.observed_generation = generation;
        self
    }

    /// Dates the condition: as before if `before` has one of this type with the same status,
    /// otherwise `now` (as [`Cluster::now`](crate::Cluster::now) gives it), in whole seconds as
    /// everywhere in Kubernetes.
    #[must_use]
    pub fn since(mut self, before: &[Self], now: &str) -> Self {
        let same = |old: &&Self| old.kind == self.kind && old.status == self.status;
        self.last_transition_time = match before.iter().find(same) {
            Some(old) if !old.last_transition_time.is_empty() => old.last_transition_time.clone(),
            _ => match now.split_once('.') {
                Some((seconds, _)) => format!("{seconds}Z"),
                None => now.to_owned(),
            },
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-21T09:30:00.250Z";

    #[test]
    fn the_time_moves_only_with_the_status() {
        let old = Condition::holds("Ready", "Old", "").since(&[], "2020-01-01T00:00:00Z");
        assert_eq!(old.last_transition_time, "2020-01-01T00:00:00Z");
        let cases = [
            (
                Condition::holds("Ready", "New", "other words"),
                "2020-01-01T00:00:00Z",
            ),
            (Condition::fails("Ready", "New", ""), "2026-11-21T09:30:00Z"),
            (
                Condition::unknown("Ready", "New", ""),
                "2026-11-21T09:30:00Z",
            ),
            (
                Condition::holds("Synced", "New", ""),
                "2026-11-21T09:30:00Z",
            ),
        ];
        for (condition, want) in cases {
            let condition = condition.since(std::slice::from_ref(&old), NOW);
            assert_eq!(condition.last_transition_time, want, "{condition:?}");
        }
    }

    #[test]
    fn a_condition_is_written_as_kubernetes_writes_it() {
        let condition = Condition::holds("Ready", "Applied", "done")
            .observed(2)
            .since(&[], NOW);
        assert_eq!(
            serde_json::to_value(condition).unwrap(),
            serde_json::json!({
                "type": "Ready", "status": "True", "reason": "Applied", "message": "done",
                "lastTransitionTime": "2026-11-21T09:30:00Z", "observedGeneration": 2,
            }),
        );
    }
}
