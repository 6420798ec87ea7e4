//! The status of a ReplicaSet, computed from its pods.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_kit::pod::Pod;
use windlass_sdk::LabelSelector;

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    replicas: usize,
    fully_labeled_replicas: usize,
    ready_replicas: usize,
    available_replicas: usize,
    /// None is written as null, which removes the field.
    terminating_replicas: Option<usize>,
    observed_generation: i64,
    conditions: Vec<Condition>,
    /// Fields of a newer Kubernetes.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A condition of a ReplicaSet. Unlike other conditions, it has no generation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    r#type: String,
    status: String,
    last_transition_time: Option<Timestamp>,
    reason: String,
    message: String,
}

/// What a pass has seen.
pub(crate) struct Observed<'a> {
    /// The generation of the set.
    pub(crate) generation: i64,
    /// The pods of the set, with those that are being deleted.
    pub(crate) pods: &'a [Pod],
    /// What selects pods with all labels of the template.
    pub(crate) template: &'a LabelSelector,
    /// How long a pod must be ready to be available.
    pub(crate) min_ready_seconds: i64,
    /// The time of the call.
    pub(crate) now: Timestamp,
    /// Whether pods that are being deleted are counted.
    pub(crate) counts_terminating: bool,
    /// Why pods could not be created or deleted: a reason and a message.
    pub(crate) failure: Option<(&'static str, String)>,
}

impl Status {
    /// The status that follows from what was seen, and when it changes by itself.
    pub(crate) fn after(&self, seen: Observed<'_>) -> (Self, Option<Timestamp>) {
        let active = || seen.pods.iter().filter(|pod| pod.is_active());
        let available_at = |pod: &Pod| pod.available_at(seen.min_ready_seconds);
        let is_available = |pod: &&Pod| available_at(pod).is_some_and(|at| at <= seen.now);
        let is_terminating = |pod: &&Pod| pod.metadata.is_deleting() && !pod.is_terminal();
        let status = Self {
            replicas: active().count(),
            fully_labeled_replicas: active()
                .filter(|pod| seen.template.matches(&pod.metadata.labels))
                .count(),
            ready_replicas: active().filter(|pod| pod.is_ready()).count(),
            available_replicas: active().filter(is_available).count(),
            terminating_replicas: seen
                .counts_terminating
                .then(|| seen.pods.iter().filter(is_terminating).count()),
            observed_generation: seen.generation,
            conditions: self.conditions_after(seen.failure, seen.now),
            rest: self.rest.clone(),
        };
        let next = active().filter_map(available_at);
        (status, next.filter(|at| *at > seen.now).min())
    }

    /// The condition `ReplicaFailure` is there while pods cannot be created or deleted. Others stay.
    fn conditions_after(
        &self,
        failure: Option<(&'static str, String)>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let mut conditions = self.conditions.clone();
        let held = |one: &Condition| one.r#type == "ReplicaFailure";
        match failure {
            None => conditions.retain(|one| !held(one)),
            Some((reason, message)) => {
                if !conditions.iter().any(held) {
                    conditions.push(Condition {
                        r#type: "ReplicaFailure".to_owned(),
                        status: "True".to_owned(),
                        last_transition_time: Timestamp::from_second(now.as_second()).ok(),
                        reason: reason.to_owned(),
                        message,
                    });
                }
            }
        }
        conditions
    }
}
