//! A pod as far as a ReplicaSet reads it, and which pod is deleted first.

use std::cmp::{Ordering, Reverse};

use jiff::Timestamp;
use serde::Deserialize;
use windlass_sdk::{Metadata, ObjectRef};

/// The fields that the plugin declares, and no others.
pub(crate) const FIELDS: [&str; 5] = [
    ".spec.nodeName",
    ".status.phase",
    ".status.conditions",
    ".status.containerStatuses[*].restartCount",
    ".status.initContainerStatuses",
];

/// Lower goes first when a set is scaled down. The default is 0.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Pod {
    /// What every object has.
    pub(crate) metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    conditions: Vec<Condition>,
    container_statuses: Vec<Container>,
    init_container_statuses: Vec<InitContainer>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    restart_count: i64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitContainer {
    restart_count: i64,
    started: Option<bool>,
}

impl Pod {
    /// The UID of the owner that manages it.
    pub(crate) fn controller(&self) -> Option<&str> {
        let owners = &self.metadata.owner_references;
        let controller = owners.iter().find(|owner| owner.controller)?;
        Some(&controller.uid)
    }

    /// Whether somebody has deleted it.
    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether its containers have ended, and do not start again.
    pub(crate) fn is_terminal(&self) -> bool {
        ["Succeeded", "Failed"].contains(&self.status.phase.as_str())
    }

    /// Whether it counts as one of the wanted replicas.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_deleting()
    }

    /// Whether it is ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// When it is available: ready for `min_ready_seconds`. None if it is not ready, or nobody says since when.
    pub(crate) fn available_at(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        let ready = self.ready()?;
        if min_ready_seconds <= 0 {
            return Some(Timestamp::MIN);
        }
        let after = jiff::SignedDuration::from_secs(min_ready_seconds);
        ready.last_transition_time?.checked_add(after).ok()
    }

    /// The node that runs it; empty before it is scheduled.
    pub(crate) fn node(&self) -> &str {
        &self.spec.node_name
    }

    /// Its reference.
    pub(crate) fn reference(&self) -> ObjectRef {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        ObjectRef::new("v1", "Pod", namespace, &*self.metadata.name)
    }

    fn ready(&self) -> Option<&Condition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|one| one.r#type == "Ready" && one.status == "True")
    }

    /// The most restarts of a container, and of an init container that runs beside the others.
    fn restarts(&self) -> (i64, i64) {
        let status = &self.status;
        let containers = status.container_statuses.iter();
        let sidecars = status.init_container_statuses.iter();
        let sidecars = sidecars.filter(|one| one.started == Some(true));
        (
            containers.map(|one| one.restart_count).max().unwrap_or(0),
            sidecars.map(|one| one.restart_count).max().unwrap_or(0),
        )
    }

    fn deletion_cost(&self) -> i32 {
        let text = self.metadata.annotations.get(DELETION_COST);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

/// What decides which pods are deleted first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The time of the call.
    pub(crate) now: Timestamp,
    /// Whether the annotation with the cost of a deletion counts.
    pub(crate) by_cost: bool,
}

impl Order {
    /// Which of two pods is deleted first: the lesser. Each pod comes with the number of active pods on its node that belong
    /// to the same Deployment.
    ///
    /// Rules, in this order: not scheduled; pending, then unknown; not ready; lower cost; more pods on the same node; ready for
    /// a shorter time; more restarts; younger. Times are compared by their order of magnitude, so that old pods do not
    /// always survive.
    ///
    /// Source: "ReplicaSet: scaling" in the documentation of Kubernetes, KEP-2185 (times) and KEP-2255 (cost).
    pub(crate) fn compare(
        &self,
        (a, beside_a): (&Pod, usize),
        (b, beside_b): (&Pod, usize),
    ) -> Ordering {
        let first = |pod: &Pod| {
            let phase = match pod.status.phase.as_str() {
                "Pending" => 0,
                "Unknown" => 1,
                _ => 2,
            };
            let cost = if self.by_cost { pod.deletion_cost() } else { 0 };
            (!pod.node().is_empty(), phase, pod.is_ready(), cost)
        };
        let last = |pod: &Pod| {
            let ready = pod.ready().and_then(|ready| ready.last_transition_time);
            let created = pod.metadata.creation_timestamp();
            let created = created.and_then(|text| text.parse().ok());
            (
                if pod.is_ready() { self.age(ready) } else { 0 },
                Reverse(pod.restarts()),
                self.age(created),
                pod.metadata.uid.clone(),
            )
        };
        first(a)
            .cmp(&first(b))
            .then(beside_b.cmp(&beside_a))
            .then_with(|| last(a).cmp(&last(b)))
    }

    /// The order of magnitude of the seconds since a time, from 1; 0 if nobody says when it was.
    fn age(&self, since: Option<Timestamp>) -> u32 {
        let seconds = since.map(|since| (self.now.as_second() - since.as_second()).max(0));
        seconds.map_or(0, |seconds| {
            seconds.checked_ilog2().map_or(1, |log| log + 2)
        })
    }
}
