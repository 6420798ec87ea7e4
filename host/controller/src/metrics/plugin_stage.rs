//! How far a plugin is, which version of it runs, and why another one does not.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How far a plugin is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PluginStage {
    /// Its first version is being checked and compiled.
    #[default]
    Loading,
    /// Its first version was refused, for this reason.
    Refused(String),
    /// No version of it may run, since it is suspected of harm, for this reason.
    Quarantined(String),
    /// It waits for something that others must do, such as to install its kind.
    Waiting(String),
    /// It waits until its service account may watch its primary kinds, for this reason.
    Forbidden(String),
    /// Its first lists are not in yet.
    Syncing,
    /// Its lists are in, and it makes no pass yet: another host has its Lease, or it is about to take over.
    StandingBy,
    /// It makes passes.
    Running,
    /// It makes fewer passes than it could, since most of its calls trap or time out.
    SlowedDown(String),
}

/// Why the newest version that was asked for does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRunning {
    /// The step at which it was refused.
    pub step: LoadStep,
    /// One of a closed set, in CamelCase.
    pub reason: &'static str,
    /// A sentence.
    pub why: String,
    /// The text of the document that asked for it; none if nobody knows it any more.
    pub document: Option<Arc<str>>,
    /// Whether it may not run since it is suspected of harm.
    pub is_quarantined: bool,
    /// Whether it stays refused until another component or another document is there.
    pub is_final: bool,
}

/// The steps of a version on its way to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadStep {
    /// Its component is fetched or read.
    Fetch,
    /// Its component is checked, compiled and described.
    Compile,
    /// Its needs are compared with its grants.
    Grant,
    /// It is tried, and compared with what runs.
    Test,
}

impl PluginStage {
    /// All labels.
    pub(super) const LABELS: [&str; 9] = [
        "loading",
        "refused",
        "quarantined",
        "waiting",
        "forbidden",
        "syncing",
        "standing_by",
        "running",
        "slowed_down",
    ];

    /// Names the stage in metrics. The set is closed.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Refused(_) => "refused",
            Self::Quarantined(_) => "quarantined",
            Self::Waiting(_) => "waiting",
            Self::Forbidden(_) => "forbidden",
            Self::Syncing => "syncing",
            Self::StandingBy => "standing_by",
            Self::Running => "running",
            Self::SlowedDown(_) => "slowed_down",
        }
    }

    /// Whether it makes passes.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running | Self::SlowedDown(_))
    }
}

/// The version of a plugin that runs, or stands by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningVersion {
    /// What it says its version is.
    pub version: String,
    /// The digest of its component, as people are shown it.
    pub digest: String,
    /// All of that digest: `sha256:` and 64 digits.
    pub component: String,
    /// The kinds that it reconciles.
    pub kinds: Vec<ReconciledKind>,
    /// Whether it may put its finalizer on objects.
    pub finalizes: bool,
    /// Whether it observes: nothing is written.
    pub observes: bool,
    /// The text of the document that asked for it.
    pub document: Arc<str>,
}

/// A kind that a plugin reconciles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconciledKind {
    /// Its group and version.
    pub api_version: String,
    /// Its name.
    pub kind: String,
}
