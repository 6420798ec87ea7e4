//! The status as a document: what `?o=json` answers, and what all other forms are made of.

use serde::{Deserialize, Serialize};

use windlass_base::text::clean_name;
use windlass_controller::metrics::ReconciledKind;
use windlass_kube::api::group_of;

/// What a host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `windlass.dev/v1alpha1`.
    pub api_version: String,
    /// `Status`.
    pub kind: String,
    /// The host's name in Leases and Events.
    pub host: String,
    /// The host's version.
    pub version: String,
    /// For how long it has run.
    pub up_ms: u64,
    /// What is wrong with the host as a whole: documents that it cannot read, an API server that gives no answer.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Its plugins, by name.
    pub plugins: Vec<PluginStatus>,
}

/// What one plugin does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// Its name.
    pub name: String,
    /// `loading`, `refused`, `quarantined`, `waiting`, `syncing`, `standing_by`, `running`, `observing` or `slowed_down`.
    pub state: String,
    /// Why, if it does not run or another version was refused.
    pub message: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The digest of its component.
    pub digest: Option<String>,
    /// The kinds that it reconciles.
    #[serde(default)]
    pub reconciles: Vec<ReconciledKind>,
    /// Keys that wait for a worker.
    pub depth: usize,
    /// Of those, the ones that wait for the others.
    pub low: usize,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// Keys that workers have.
    pub running: usize,
    /// How long the key has waited that has waited longest for a worker.
    pub oldest_ms: u64,
    /// Objects whose last pass failed.
    #[serde(default)]
    pub failing: usize,
    /// Objects that are not reconciled, since somebody has paused them.
    #[serde(default)]
    pub paused: u64,
    /// Whether it observes: what it would write is shown, and not sent.
    #[serde(default)]
    pub observes: bool,
    /// Objects that it would write to, if it observes.
    #[serde(default)]
    pub differing: u64,
    /// What its passes did.
    pub passes: Passes,
    /// The guest's memory at its peak so far, in bytes.
    pub memory_peak: u64,
    /// The most that it may take.
    pub memory_limit: Option<u64>,
    /// CPU time of its calls, in seconds.
    pub cpu_seconds: f64,
    /// Passes in each five seconds of the last ten minutes, the oldest first; shorter for a younger plugin.
    pub sparkline: Vec<u32>,
    /// What somebody should look at.
    pub warnings: Vec<Warning>,
}

impl PluginStatus {
    /// The names of the kinds that it reconciles, for people.
    pub fn kinds(&self) -> String {
        let kinds: Vec<&str> = self.reconciles.iter().map(|one| &*one.kind).collect();
        if kinds.is_empty() {
            "<none>".to_owned()
        } else {
            kinds.join(", ")
        }
    }

    /// Its message, unless one of its warnings says the same.
    pub fn own_message(&self) -> Option<&str> {
        let message = self.message.as_deref()?;
        let mut warnings = self.warnings.iter();
        let is_said = warnings.any(|warning| warning.message.contains(message));
        (!is_said).then_some(message)
    }
}

/// One plugin, closer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginDetails {
    /// `windlass.dev/v1alpha1`.
    pub api_version: String,
    /// `PluginStatus`.
    pub kind: String,
    /// What it does.
    pub status: PluginStatus,
    /// Objects whose last pass failed, the newest first; not all of them, if they are many.
    pub failing: Vec<KeyStatus>,
    /// Objects whose last remembered pass took longest.
    pub slowest: Vec<KeyStatus>,
    /// What it is granted, and has never used since the host began.
    pub unused_grants: Vec<GrantStatus>,
}

/// Verbs on a resource that a plugin is granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantStatus {
    /// `deployments.apps/scale`.
    pub resource: String,
    /// `delete`.
    pub verbs: Vec<String>,
}

/// The last remembered pass over an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyStatus {
    /// The group and version of the object's kind.
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// How long the pass took, in microseconds.
    pub took_us: u64,
    /// How often it has failed in a row, this pass included; 0 if it ended well.
    pub failures: u32,
    /// Since when, if it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// How long until it is tried again, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<u64>,
    /// How it ended.
    pub returned: String,
    /// What went wrong.
    pub error: Option<String>,
}

impl KeyStatus {
    /// What to ask `/why` about it: the query of the URL.
    pub fn query(&self) -> String {
        let dotted = match group_of(&self.api_version) {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        };
        form_urlencoded::Serializer::new(String::new())
            .append_pair("kind", &dotted)
            .append_pair("namespace", self.namespace.as_deref().unwrap_or_default())
            .append_pair("name", &self.name)
            .finish()
    }
}

/// `Greeting team-a/ada`
impl std::fmt::Display for KeyStatus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, name) = (&self.kind, clean_name(&self.name));
        match &self.namespace {
            Some(namespace) => write!(out, "{kind} {namespace}/{name}"),
            None => write!(out, "{kind} {name}"),
        }
    }
}

/// What passes did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passes {
    /// How many there were.
    pub total: u64,
    /// How many of those failed.
    pub failed: u64,
    /// How many there were in the last minute.
    pub last_minute: u64,
    /// Half of the remembered ones took no longer, in microseconds.
    pub p50_us: u64,
    /// Nearly all took no longer.
    pub p99_us: u64,
}

/// What somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// A word of a closed set.
    pub reason: String,
    /// A sentence, with what to do.
    pub message: String,
}
