//! The status of a Deployment, computed from its sets.
//!
//! Source: "Deployment status" in the documentation of Kubernetes, and KEP-3973 (replicas that terminate).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::conditions::Condition;
use crate::deployment::{Deployment, Spec};
use crate::set::{ReplicaSet, available, replicas};

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    pub(crate) observed_generation: i64,
    pub(crate) replicas: i64,
    pub(crate) updated_replicas: i64,
    pub(crate) ready_replicas: i64,
    pub(crate) available_replicas: i64,
    pub(crate) unavailable_replicas: i64,
    /// None is written as null, which removes the field.
    pub(crate) terminating_replicas: Option<i64>,
    pub(crate) collision_count: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
    /// Fields of a newer Kubernetes.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Status {
    /// The status that follows from the sets. Only the condition `Available` is new: the progress of a rollout is judged by what
    /// this changes.
    pub(crate) fn after(
        &self,
        deployment: &Deployment,
        new: Option<&ReplicaSet>,
        old: &[ReplicaSet],
        counts_terminating: bool,
        now: Timestamp,
    ) -> Self {
        let all = || old.iter().chain(new);
        let available = available(all());
        let mut status = Self {
            observed_generation: deployment.metadata.generation,
            replicas: all().map(|set| set.status.replicas).sum(),
            updated_replicas: new.map_or(0, |set| set.status.replicas),
            ready_replicas: all().map(|set| set.status.ready_replicas).sum(),
            available_replicas: available,
            unavailable_replicas: (replicas(all()) - available).max(0),
            terminating_replicas: counts_terminating.then(|| terminating(all())).flatten(),
            ..self.clone()
        };
        let is_enough = available >= deployment.spec.least_available();
        let condition = if is_enough {
            Condition::new("Available", "True", "MinimumReplicasAvailable", now)
                .saying("Deployment has minimum availability.")
        } else {
            Condition::new("Available", "False", "MinimumReplicasUnavailable", now)
                .saying("Deployment does not have minimum availability.")
        };
        condition.set(&mut status.conditions);
        status
    }

    /// Whether every replica is of the new version, and available.
    pub(crate) fn is_complete(&self, spec: &Spec, generation: i64) -> bool {
        let wanted = spec.replicas();
        self.updated_replicas == wanted
            && self.replicas == wanted
            && self.available_replicas == wanted
            && self.observed_generation >= generation
    }

    /// Whether the rollout has come further since `before`: more new replicas, fewer old ones, or more that are ready or
    /// available.
    pub(crate) fn has_come_further(&self, before: &Self) -> bool {
        self.updated_replicas > before.updated_replicas
            || self.replicas - self.updated_replicas < before.replicas - before.updated_replicas
            || self.ready_replicas > before.ready_replicas
            || self.available_replicas > before.available_replicas
    }
}

/// How many replicas terminate. None if a set does not say it.
fn terminating<'a>(sets: impl Iterator<Item = &'a ReplicaSet>) -> Option<i64> {
    sets.map(|set| set.status.terminating_replicas).sum()
}
