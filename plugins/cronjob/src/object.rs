//! A CronJob and its Jobs, as far as the controller reads and writes them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use windlass_kit::finished::{Finish, JobCondition, finished};
use windlass_kit::metadata::Metadata;
use windlass_sdk::Object;

use crate::job;

/// A CronJob.
pub(crate) type CronJob = Object<Spec, Status>;

/// What is wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    pub(crate) schedule: String,
    pub(crate) time_zone: Option<String>,
    pub(crate) starting_deadline_seconds: Option<i64>,
    #[serde(default)]
    pub(crate) concurrency_policy: ConcurrencyPolicy,
    pub(crate) suspend: Option<bool>,
    pub(crate) successful_jobs_history_limit: Option<usize>,
    pub(crate) failed_jobs_history_limit: Option<usize>,
    pub(crate) job_template: Template,
}

/// What happens when a Job is due while an earlier one still runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum ConcurrencyPolicy {
    /// Both run.
    #[default]
    Allow,
    /// The new one does not start.
    Forbid,
    /// The earlier one is deleted.
    Replace,
}

/// The Job that is created.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Template {
    #[serde(default)]
    pub(crate) metadata: TemplateMetadata,
    #[serde(default)]
    pub(crate) spec: Value,
}

/// What of the template's metadata a Job gets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateMetadata {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    #[serde(serialize_with = "null_if_empty")]
    pub(crate) active: Vec<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_schedule_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_successful_time: Option<Timestamp>,
    /// Fields of a newer Kubernetes.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// In a merge patch, null removes the field.
fn null_if_empty<S: Serializer>(active: &[Reference], serializer: S) -> Result<S::Ok, S::Error> {
    if active.is_empty() {
        serializer.serialize_none()
    } else {
        serializer.collect_seq(active)
    }
}

/// A Job that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Reference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// What the original controller writes as well: the version.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The fields that the plugin declares for Jobs, and no others.
pub(crate) const FIELDS: [&str; 3] = [
    windlass_kit::finished::FIELD,
    ".status.startTime",
    ".status.completionTime",
];

/// A Job of the CronJob.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Child {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    status: ChildStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ChildStatus {
    conditions: Vec<JobCondition>,
    start_time: Option<Timestamp>,
    completion_time: Option<Timestamp>,
}

impl Child {
    /// How it has finished.
    pub(crate) fn finish(&self) -> Option<Finish> {
        finished(&self.status.conditions).map(|(how, _)| how)
    }

    /// When its pods were started.
    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        self.status.start_time
    }

    /// When it was complete.
    pub(crate) fn completed_at(&self) -> Option<Timestamp> {
        self.status.completion_time
    }

    /// The time of the schedule for which the controller has created it. None if somebody else has created it, for example
    /// with `kubectl create job --from`.
    pub(crate) fn scheduled_for(&self, cron: &str) -> Option<Timestamp> {
        let text = self.metadata.annotations.get(job::SCHEDULED)?;
        let time = text.parse().ok()?;
        (job::name(cron, time) == self.metadata.name).then_some(time)
    }

    /// What the status says of it.
    pub(crate) fn reference(&self) -> Reference {
        Reference {
            api_version: job::API_VERSION.to_owned(),
            kind: job::KIND.to_owned(),
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
            uid: self.metadata.uid.clone(),
            rest: Map::new(),
        }
    }
}
