//! Fixture files: what is given, what is called, and the expected results.
//!
//! A file has one or more YAML documents; each is a [`Step`] on the cluster that the steps before
//! it have left. The host runs the same files through the real sandbox.
//!
//! ```yaml
//! given:
//!   config: { image: busybox }
//!   objects: [{ apiVersion: v1, kind: Namespace, metadata: { name: greetings } }]
//!   edits: { ConfigMap/default/a: { data: { k: v } } }
//!   removals: [ConfigMap/default/b]
//! when: { reconcile: Greeting/default/ada, clock: 2026-11-21T09:30:00.000Z } # or finalize
//! then:
//!   answer: awaitChange # requeueAfter: 10s, done, pending: 5s, transient: ..., terminal: ..., notCalled
//!   wakeAt: 2026-11-21T09:31:00Z # the time of wake-at, if it was called
//!   writes: [{ apply: ConfigMap/default/ada }, { delete: ConfigMap/default/c }]
//!   status: { observedGeneration: 1 }
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::check;
use super::store::FakeCluster;
use super::wait;
use super::write::Write;
use super::yaml;
use crate::query::ObjectRef;

/// A fixture file.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The file.
    pub path: PathBuf,
    /// Its documents, in order.
    pub steps: Vec<Step>,
}

/// One call, with what comes before and after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// How the cluster is changed before the call.
    #[serde(default)]
    pub given: Given,
    /// The call.
    pub when: When,
    /// The expected results.
    pub then: Then,
    /// For `windlass test --chaos` alone.
    #[serde(default)]
    pub keeps: Vec<String>,
}

/// How the cluster is changed before a call, in this order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// The operator's configuration; without it, as before.
    #[serde(deserialize_with = "yaml::untyped")]
    pub config: Option<Value>,
    /// Objects that are put there, and their namespaces with them.
    #[serde(deserialize_with = "yaml::untyped")]
    pub objects: Vec<Value>,
    /// JSON merge patches, by the object: `ConfigMap/default/ada`.
    #[serde(deserialize_with = "yaml::untyped")]
    pub edits: BTreeMap<String, Value>,
    /// Objects that somebody removes: `ConfigMap/default/ada`.
    pub removals: Vec<String>,
}

/// The call: either `reconcile` or `finalize`, and the primary as `Greeting/default/ada`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The primary to reconcile.
    pub reconcile: Option<String>,
    /// The primary to finalize.
    pub finalize: Option<String>,
    /// The clock of the call; without it, as before.
    pub clock: Option<String>,
    /// How often the primary has failed before the call.
    #[serde(default)]
    pub attempt: u32,
}

/// The expected results of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// What the plugin answers.
    pub answer: Answer,
    /// When the plugin wants to be called again, by [`Cluster::wake_at`](crate::Cluster::wake_at); none means that it does
    /// not say so.
    #[serde(default, rename = "wakeAt")]
    pub wake_at: Option<String>,
    /// All writes but those of the primary's status, in order.
    #[serde(default)]
    pub writes: Vec<Wrote>,
    /// The status that is applied to the primary, at last; none means that it is not written.
    #[serde(default, deserialize_with = "yaml::untyped")]
    pub status: Option<Value>,
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
    RequeueAfter(#[serde(deserialize_with = "wait::read")] Duration),
    /// `finalize` has nothing left to undo.
    Done,
    /// `finalize` waits.
    Pending(#[serde(deserialize_with = "wait::read")] Duration),
    /// A failure that may go away.
    Transient(String),
    /// A failure that stays.
    Terminal(String),
}

/// A write that must be made: the whole body, or only its object as `ConfigMap/default/ada`. The
/// UID of an applied object and the label of a set are not compared: the host may add them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wrote {
    /// The whole of what is applied.
    Apply(#[serde(deserialize_with = "yaml::untyped")] Value),
    /// The whole of what is applied as the status of anything but the primary.
    ApplyStatus(#[serde(deserialize_with = "yaml::untyped")] Value),
    /// The whole of what is created.
    Create(#[serde(deserialize_with = "yaml::untyped")] Value),
    /// The patch.
    Patch(#[serde(deserialize_with = "yaml::untyped")] Value),
    /// `ConfigMap/default/ada`.
    Delete(#[serde(deserialize_with = "yaml::untyped")] Value),
}

/// The results of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the plugin answered.
    pub answer: Answer,
    /// When it wants to be called again, if it said so.
    pub wake_at: Option<String>,
    /// What [`FakeCluster::take_writes`] recorded.
    pub writes: Vec<Write>,
}

/// Why a fixture cannot be used, or does not hold.
#[derive(Clone, PartialEq, Eq)]
pub struct FixtureError(pub(super) String);

impl Fixture {
    /// Reads a fixture file.
    ///
    /// # Errors
    /// If it is not there or not a fixture; the text says where and why.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FixtureError> {
        let path = path.as_ref();
        let wrong = |error: String| FixtureError(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let steps: Vec<Step> = yaml::documents(&text).map_err(|error| wrong(error.to_string()))?;
        for Step { when, .. } in &steps {
            if when.reconcile.is_some() == when.finalize.is_some() {
                return Err(wrong("when: say either reconcile or finalize".to_owned()));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            steps,
        })
    }

    /// The cluster as it is before the first call.
    ///
    /// # Errors
    /// If a given object does not say what it is.
    pub fn cluster(&self) -> Result<FakeCluster, FixtureError> {
        let mut cluster = FakeCluster::new();
        if let Some(step) = self.steps.first() {
            step.prepare(&mut cluster)?;
        }
        Ok(cluster)
    }
}

impl Step {
    /// Changes `cluster` to what is given before this step's call.
    ///
    /// # Errors
    /// If an object does not say what it is, or one to edit is absent.
    pub fn prepare(&self, cluster: &mut FakeCluster) -> Result<(), FixtureError> {
        let wrong = |code| FixtureError(format!("given: {code}"));
        if let Some(config) = &self.given.config {
            cluster.set_config(config.clone());
        }
        if let Some(clock) = &self.when.clock {
            cluster.set_clock(clock);
        }
        cluster.attempt = self.when.attempt;
        for object in &self.given.objects {
            cluster.put(object.clone()).map_err(wrong)?;
        }
        for (title, patch) in &self.given.edits {
            cluster
                .edit(title, patch)
                .map_err(|code| FixtureError(format!("given: cannot edit {title}: {code}")))?;
        }
        for title in &self.given.removals {
            let target = cluster.find(title).ok_or_else(|| {
                FixtureError(format!("given: {title} is not there to be removed"))
            })?;
            cluster.remove(&target);
        }
        Ok(())
    }

    /// The primary of the call, which is of this version.
    pub fn primary(&self, api_version: &str) -> ObjectRef {
        let title = self
            .when
            .reconcile
            .as_ref()
            .or(self.when.finalize.as_ref())
            .map(String::as_str)
            .unwrap_or_default();
        let (kind, name) = title.split_once('/').unwrap_or((title, ""));
        match name.split_once('/') {
            Some((namespace, name)) => ObjectRef::new(api_version, kind, namespace, name),
            None => ObjectRef::cluster_scoped(api_version, kind, name),
        }
    }

    /// Compares the results of the call, for the primary `primary`, with the expected results.
    ///
    /// # Errors
    /// If there is a difference; the text shows it.
    pub fn check(&self, primary: &ObjectRef, outcome: &Outcome) -> Result<(), FixtureError> {
        check::check(&self.then, primary, outcome).map_err(FixtureError)
    }
}

impl fmt::Display for FixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As [`fmt::Display`], since tests show errors by `unwrap`.
impl fmt::Debug for FixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FixtureError {}
