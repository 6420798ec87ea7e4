//! What came of a pass.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::fetch::FetchRequest;
use crate::report::{Event, Metric};

/// What a pass did.
#[derive(Clone, Debug)]
pub struct Pass {
    /// What the plugin answered.
    pub answer: Answer,
    /// When it wants to be called again, by [`Cluster::wake_at`](crate::Cluster::wake_at), if it said so.
    pub wake_at: Option<String>,
    /// What it changed in the cluster, in order. What changes nothing is not here.
    pub writes: Vec<Write>,
    /// The Events that it published.
    pub events: Vec<Event>,
    /// The lines that it logged: `Info: message key=value`.
    pub logs: Vec<String>,
    /// Its metrics.
    pub metrics: Vec<Metric>,
    /// The HTTP requests that it made.
    pub requests: Vec<FetchRequest>,
    /// The lines that the host logged, such as why a call was denied.
    pub host_log: String,
}

impl Pass {
    /// What was written, by name, in order: `ConfigMap/default/ada`.
    pub fn written(&self) -> Vec<&str> {
        self.writes.iter().map(|write| &*write.target).collect()
    }
}

/// What a plugin answers, or that it was not asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The primary is absent, or (not) being deleted.
    NotCalled,
    /// `reconcile` waits for a change.
    AwaitChange,
    /// `reconcile` wants to be called again.
    RequeueAfter(#[serde(deserialize_with = "millis")] Duration),
    /// `finalize` has nothing left to undo.
    Done,
    /// `finalize` waits.
    Pending(#[serde(deserialize_with = "millis")] Duration),
    /// A failure that may go away.
    Transient(String),
    /// A failure that stays.
    Terminal(String),
    /// The host could not make the pass, and why.
    Broken(String),
}

fn millis<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// A change that a plugin made in the cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Write {
    /// How.
    pub verb: Verb,
    /// Of what: `ConfigMap/default/ada`.
    pub target: String,
    /// What was applied, created or patched with, as the plugin gave it; null for a delete.
    pub object: Value,
}

/// The ways to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Server-side apply.
    Apply,
    /// Server-side apply of the status.
    ApplyStatus,
    /// Creation.
    Create,
    /// A patch of either form.
    Patch,
    /// A subresource is replaced.
    Update,
    /// Delete.
    Delete,
}
