//! A pod, as far as controllers of workloads read it.

use jiff::Timestamp;
use serde::Deserialize;

use crate::metadata::Metadata;

/// The fields that a plugin declares for pods, and no others.
pub const FIELDS: [&str; 5] = [
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
pub struct Pod {
    /// What every object has.
    pub metadata: Metadata,
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
pub(crate) struct Condition {
    r#type: String,
    status: String,
    pub(crate) last_transition_time: Option<Timestamp>,
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
    /// Whether its containers have ended, and do not start again.
    pub fn is_terminal(&self) -> bool {
        ["Succeeded", "Failed"].contains(&self.status.phase.as_str())
    }

    /// Whether it counts as one of the wanted replicas.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.metadata.is_deleting()
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// When it is available: ready for `min_ready_seconds`. None if it is not ready, or nobody says since when.
    pub fn available_at(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        let ready = self.ready()?;
        if min_ready_seconds <= 0 {
            return Some(Timestamp::MIN);
        }
        let after = jiff::SignedDuration::from_secs(min_ready_seconds);
        ready.last_transition_time?.checked_add(after).ok()
    }

    /// The node that runs it; empty before it is scheduled.
    pub fn node(&self) -> &str {
        &self.spec.node_name
    }

    /// Its phase: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; empty before anyone has set it.
    pub fn phase(&self) -> &str {
        &self.status.phase
    }

    pub(crate) fn ready(&self) -> Option<&Condition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|one| one.r#type == "Ready" && one.status == "True")
    }

    /// The most restarts of a container, and of an init container that runs beside the others.
    pub(crate) fn restarts(&self) -> (i64, i64) {
        let status = &self.status;
        let containers = status.container_statuses.iter();
        let sidecars = status.init_container_statuses.iter();
        let sidecars = sidecars.filter(|one| one.started == Some(true));
        (
            containers.map(|one| one.restart_count).max().unwrap_or(0),
            sidecars.map(|one| one.restart_count).max().unwrap_or(0),
        )
    }

    pub(crate) fn deletion_cost(&self) -> i32 {
        let text = self.metadata.annotations.get(DELETION_COST);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}
