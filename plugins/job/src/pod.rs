//! A pod of a Job: what the kit knows of it, and how its containers ended.

use jiff::{SignedDuration, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use windlass_kit::metadata::Metadata;
use windlass_sdk::ObjectRef;

/// The finalizer that keeps a pod until it is counted.
pub(crate) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// The annotation and the label with the index of a pod.
pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The annotation that counts earlier failures of the index.
pub(crate) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// The annotation that counts earlier failures of the index that a policy ignores.
pub(crate) const IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// The fields of pods that the plugin reads.
pub(crate) const FIELDS: [&str; 7] = [
    ".spec.nodeName",
    ".status.phase",
    ".status.conditions",
    ".status.containerStatuses[*].name",
    ".status.containerStatuses[*].restartCount",
    ".status.containerStatuses[*].state.terminated",
    ".status.initContainerStatuses",
];

/// A pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pod {
    /// What all controllers of pods read.
    pub(crate) kit: windlass_kit::pod::Pod,
    /// Its index; none if it has none, or a text that is not a number.
    pub(crate) index: Option<usize>,
    outcome: Outcome,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Outcome {
    metadata: Deletion,
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Deletion {
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    conditions: Vec<Condition>,
    init_container_statuses: Vec<Container>,
    container_statuses: Vec<Container>,
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
    name: String,
    restart_count: i64,
    state: State,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    terminated: Option<Terminated>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Terminated {
    exit_code: i64,
    finished_at: Option<Timestamp>,
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let kit = windlass_kit::pod::Pod::deserialize(&value).map_err(D::Error::custom)?;
        let outcome = Outcome::deserialize(&value).map_err(D::Error::custom)?;
        let index = kit.metadata.annotations.get(INDEX);
        Ok(Self {
            index: index.and_then(|text| text.parse().ok()),
            kit,
            outcome,
        })
    }
}

impl Pod {
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.kit.metadata
    }

    pub(crate) fn uid(&self) -> &str {
        &self.kit.metadata.uid
    }

    /// Whether the finalizer keeps it: it is not counted yet.
    pub(crate) fn is_tracked(&self) -> bool {
        self.metadata()
            .finalizers
            .iter()
            .any(|held| held == FINALIZER)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.kit.is_active()
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.kit.phase() == "Succeeded"
    }

    /// Whether somebody has deleted it, and its containers may still run.
    pub(crate) fn is_terminating(&self) -> bool {
        self.metadata().is_deleting() && !self.kit.is_terminal()
    }

    /// Whether nothing keeps it any more. The API server removes it in the write that has led to this.
    pub(crate) fn is_gone(&self) -> bool {
        let grace = self.outcome.metadata.deletion_grace_period_seconds;
        self.metadata().is_deleting()
            && self.metadata().finalizers.is_empty()
            && grace.unwrap_or(0) == 0
    }

    /// Leaves the finalizer out: it has been taken off.
    pub(crate) fn forget_finalizer(&mut self) {
        self.kit
            .metadata
            .finalizers
            .retain(|held| held != FINALIZER);
    }

    /// The number in an annotation; 0 without one.
    pub(crate) fn number(&self, annotation: &str) -> usize {
        let text = self.metadata().annotations.get(annotation);
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The containers that have ended, each with its exit code.
    pub(crate) fn exits(&self) -> impl Iterator<Item = (&str, i64)> {
        let ended = |one: &'_ Container| one.state.terminated.as_ref().map(|end| end.exit_code);
        self.containers()
            .filter_map(move |one| Some((one.name.as_str(), ended(one)?)))
    }

    fn containers(&self) -> impl Iterator<Item = &Container> {
        let status = &self.outcome.status;
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
    }

    /// Whether it has a condition with this status.
    pub(crate) fn has_condition(&self, kind: &str, status: &str) -> bool {
        let mut conditions = self.outcome.status.conditions.iter();
        conditions.any(|one| one.r#type == kind && one.status == status)
    }

    /// How often its containers have started again.
    pub(crate) fn restarts(&self) -> i64 {
        self.containers().map(|one| one.restart_count).sum()
    }

    /// When it finished: when its last container ended, or else when it was no longer ready, when it was deleted, or when
    /// it was created.
    pub(crate) fn finished_at(&self) -> Timestamp {
        let metadata = self.metadata();
        let grace = self.outcome.metadata.deletion_grace_period_seconds;
        let deleted = metadata.deletion_timestamp.map(|at| {
            let grace = SignedDuration::from_secs(grace.unwrap_or(0));
            at.checked_sub(grace).unwrap_or(at)
        });
        self.ended_at()
            .or_else(|| self.unready_at())
            .or(deleted)
            .or(metadata.creation_timestamp)
            .unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn ended_at(&self) -> Option<Timestamp> {
        let containers = self.outcome.status.container_statuses.iter();
        let ends = containers.map(|one| one.state.terminated.as_ref()?.finished_at);
        ends.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    fn unready_at(&self) -> Option<Timestamp> {
        let mut conditions = self.outcome.status.conditions.iter();
        let unready = conditions.find(|one| one.r#type == "Ready" && one.status == "False");
        unready?.last_transition_time
    }

    /// The reference of the pod.
    pub(crate) fn reference(&self) -> ObjectRef {
        let metadata = self.metadata();
        ObjectRef::new("v1", "Pod", &metadata.namespace, &*metadata.name)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A pod with a name that is its UID, as `fields` say.
    pub(crate) fn pod(name: &str, phase: &str, fields: Value) -> Pod {
        let mut value = json!({
            "metadata": {
                "name": name, "namespace": "default", "uid": name, "finalizers": [FINALIZER],
                "creationTimestamp": "2026-11-21T09:00:00Z",
            },
            "status": { "phase": phase },
        });
        merge(&mut value, fields);
        serde_json::from_value(value).unwrap()
    }

    /// The same, with an index.
    pub(crate) fn indexed(name: &str, phase: &str, index: usize, failures: usize) -> Pod {
        let annotations = json!({ INDEX: index.to_string(), FAILURES: failures.to_string() });
        pod(
            name,
            phase,
            json!({ "metadata": { "annotations": annotations } }),
        )
    }

    fn merge(into: &mut Value, fields: Value) {
        match (into, fields) {
            (Value::Object(into), Value::Object(fields)) => {
                for (name, value) in fields {
                    merge(into.entry(name).or_insert(Value::Null), value);
                }
            }
            (into, value) => *into = value,
        }
    }

    #[test]
    fn a_pod_finishes_when_the_best_source_says_so() {
        let ended = |at: &str| json!({ "state": { "terminated": { "finishedAt": at } } });
        let unready = json!([{ "type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T09:04:00Z" }]);
        let deleted = json!({ "deletionTimestamp": "2026-11-21T09:03:30Z", "deletionGracePeriodSeconds": 30 });
        for (fields, want) in [
            (json!({}), "2026-11-21T09:00:00Z"),
            (json!({ "metadata": deleted }), "2026-11-21T09:03:00Z"),
            (
                json!({ "metadata": deleted, "status": { "conditions": unready } }),
                "2026-11-21T09:04:00Z",
            ),
            (
                json!({ "status": { "conditions": unready, "containerStatuses": [
                    ended("2026-11-21T09:01:00Z"), ended("2026-11-21T09:02:00Z"),
                ] } }),
                "2026-11-21T09:02:00Z",
            ),
            (
                json!({ "status": { "conditions": unready, "containerStatuses": [
                    ended("2026-11-21T09:01:00Z"), { "state": { "running": {} } },
                ] } }),
                "2026-11-21T09:04:00Z",
            ),
        ] {
            let found = pod("a", "Failed", fields.clone()).finished_at();
            assert_eq!(found.to_string(), want, "{fields}");
        }
    }

    #[test]
    fn a_deleted_pod_without_finalizers_and_grace_is_gone() {
        for (fields, want) in [
            (json!({ "finalizers": [] }), false),
            (
                json!({ "deletionTimestamp": "2026-11-21T09:03:00Z", "deletionGracePeriodSeconds": 0 }),
                false,
            ),
            (
                json!({ "finalizers": [], "deletionTimestamp": "2026-11-21T09:03:00Z", "deletionGracePeriodSeconds": 30 }),
                false,
            ),
            (
                json!({ "finalizers": [], "deletionTimestamp": "2026-11-21T09:03:00Z", "deletionGracePeriodSeconds": 0 }),
                true,
            ),
        ] {
            assert_eq!(
                pod("a", "Pending", json!({ "metadata": fields })).is_gone(),
                want,
                "{fields}"
            );
        }
    }
}
