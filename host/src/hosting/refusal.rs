//! Why a version is refused, and when it is tried again: pure.
//!
//! - What a version is itself to blame for stays so: only another component or another document helps.
//! - What the API server, the machine or another version is to blame for is tried again after a time.

mod fetch_problem;
mod rolled_back;
mod selection_problem;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

pub(super) use fetch_problem::FetchProblem;
pub(super) use rolled_back::RolledBack;
pub(super) use selection_problem::SelectionProblem;
use windlass_base::digest::Digest;
use windlass_base::error::Chain;
use windlass_base::text::counted;
use windlass_controller::metrics::{LoadStep, NotRunning, PluginStage};
use windlass_kube::api::ApiError;
use windlass_kube::crashes::{Killed, Sentence, WINDOW};
use windlass_policy::manifest::ROLLBACK_TO;
use windlass_sandbox::compiler::CompileError;
use windlass_sandbox::{CallError, LoadError};

/// When a component is read again that changed while it was.
const SOON: Duration = Duration::from_secs(1);

/// When a version is tried again that was refused for a reason that may pass.
const AGAIN: Duration = Duration::from_secs(30);

/// When a component is tried again that took more than the machine had.
const MUCH_LATER: Duration = Duration::from_secs(300);

/// The reason that is shown of a version which failed its trial.
pub(super) const ROLLED_BACK: &str = "RolledBack";

/// Why a version is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum RefusalReason {
    /// The component cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The component cannot be fetched. `is_pinned`: the document names its digest.
    #[error("{at}: {}", problem.text)]
    NotFetched {
        at: String,
        is_pinned: bool,
        problem: FetchProblem,
    },
    /// An annotation names a component that this host does not have.
    #[error("{}", not_kept(at, wanted, kept))]
    NotKept {
        at: String,
        wanted: Digest,
        kept: Vec<String>,
    },
    /// Its configuration, which is not in the document, cannot be had.
    #[error("{at} {problem}")]
    NotConfigured { at: String, problem: ConfigProblem },
    /// It is not known which namespaces its grants select.
    #[error("{at}: {problem}")]
    NotSelected {
        at: String,
        problem: SelectionProblem,
    },
    /// The component is not the one that was asked for any more.
    #[error("{0} has changed since it was looked at")]
    ChangedWhileRead(String),
    /// The component cannot be compiled or described. `was_short`: its plugin's account had no room meanwhile, and others
    /// held something on it.
    #[error("{at}: {}", Chain(error))]
    NotLoaded {
        at: String,
        error: LoadError,
        was_short: bool,
    },
    /// The plugin needs what its document does not grant, or its grants cannot work.
    #[error("{0}")]
    NotGranted(String),
    /// The API server did not say what has to be known first.
    #[error("cannot {what}: {error}")]
    Unanswered { what: String, error: String },
    /// It has another primary kind, and objects of the old one wait for its finalizer.
    #[error("{0}")]
    LeavesFinalizers(String),
    /// No object can be read for its smoke test.
    #[error(
        "{file}: the new version cannot be tested, since no object can be read for it: {error}"
    )]
    Untested { file: String, error: ApiError },
    /// Its smoke test failed. `was_short` as for [`RefusalReason::NotLoaded`].
    #[error(
        "{file}: the new version fails its smoke test, a call about {object} whose writes are not sent: {error}"
    )]
    FailsSmokeTest {
        file: String,
        object: String,
        error: CallError,
        was_short: bool,
    },
    /// It ran, and failed its trial.
    #[error("{0}")]
    RolledBack(RolledBack),
    /// The same, before this host started: what was said of it then.
    #[error("{0}")]
    RolledBackBefore(String),
    /// Somebody stopped it at run time.
    #[error(
        "plugin {plugin} is quarantined: {why}; it runs again when another version or another document of it is there"
    )]
    Stopped { plugin: String, why: String },
    /// It is suspected of crashing hosts.
    #[error("{}", suspected(digest, sentence))]
    CrashedHosts {
        digest: Digest,
        sentence: Sentence,
        now: Timestamp,
    },
    /// It killed the compiler.
    #[error("{}", killed_compiler(digest, killed))]
    KilledCompiler {
        digest: Digest,
        killed: Killed,
        now: Timestamp,
    },
}

/// Why the configuration of a plugin cannot be had, as what follows the name of the object.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigProblem {
    /// It is not there.
    #[error("{0}")]
    Absent(String),
    /// It is something else.
    #[error("{0}")]
    Invalid(String),
    /// Nobody may read it as who reads it.
    #[error("{0}")]
    Forbidden(String),
    /// The API server does not show it.
    #[error("{0}")]
    Unanswered(String),
}

impl ConfigProblem {
    /// The reason of the condition.
    fn reason(&self) -> &'static str {
        match self {
            Self::Absent(_) => "ConfigNotFound",
            Self::Invalid(_) => "ConfigInvalid",
            Self::Forbidden(_) => "ConfigForbidden",
            Self::Unanswered(_) => "ConfigUnavailable",
        }
    }
}

/// When a version that was refused is tried again as it is. Another version is tried at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Never: another component or another document is needed.
    OnChange,
    /// After so long.
    After(Duration),
    /// After so long, or before that if the component turns out not to be to blame.
    WhenReleased(Duration),
}

impl Retry {
    /// After how long, if ever.
    pub(super) fn delay(self) -> Option<Duration> {
        match self {
            Self::OnChange => None,
            Self::After(delay) | Self::WhenReleased(delay) => Some(delay),
        }
    }
}

impl RefusalReason {
    /// When the version is tried again.
    fn retry(&self) -> Retry {
        match self {
            Self::Unreadable(_)
            | Self::NotKept { .. }
            | Self::NotGranted(_)
            | Self::RolledBack(_)
            | Self::RolledBackBefore(_)
            | Self::Stopped { .. } => Retry::OnChange,
            Self::NotFetched {
                is_pinned, problem, ..
            } => problem.retry(*is_pinned),
            Self::ChangedWhileRead(_) => Retry::After(SOON),
            Self::NotLoaded {
                error, was_short, ..
            } => after_load(error, *was_short),
            Self::NotConfigured { .. }
            | Self::NotSelected { .. }
            | Self::Unanswered { .. }
            | Self::LeavesFinalizers(_)
            | Self::Untested { .. } => Retry::After(AGAIN),
            Self::FailsSmokeTest {
                error, was_short, ..
            } => after_call(error, *was_short),
            Self::CrashedHosts { sentence, now, .. } => released(Some(sentence.until), *now),
            Self::KilledCompiler { killed, now, .. } => released(killed.until(), *now),
        }
    }

    /// Whether the version is suspected of harm.
    fn is_quarantine(&self) -> bool {
        match self {
            Self::Stopped { .. } | Self::CrashedHosts { .. } | Self::KilledCompiler { .. } => true,
            Self::Unreadable(_)
            | Self::NotFetched { .. }
            | Self::NotKept { .. }
            | Self::NotConfigured { .. }
            | Self::NotSelected { .. }
            | Self::ChangedWhileRead(_)
            | Self::NotLoaded { .. }
            | Self::NotGranted(_)
            | Self::Unanswered { .. }
            | Self::LeavesFinalizers(_)
            | Self::Untested { .. }
            | Self::RolledBack(_)
            | Self::RolledBackBefore(_)
            | Self::FailsSmokeTest { .. } => false,
        }
    }
}

impl RefusalReason {
    /// The step at which it is refused, and the reason that conditions and Events show. The set is closed.
    fn step(&self) -> (LoadStep, &'static str) {
        match self {
            Self::Unreadable(_) => (LoadStep::Fetch, "SourceUnreadable"),
            Self::NotKept { .. } => (LoadStep::Fetch, "RollbackNotFound"),
            Self::ChangedWhileRead(_) => (LoadStep::Fetch, "SourceChanged"),
            Self::NotFetched { problem, .. } => (LoadStep::Fetch, problem.reason()),
            Self::NotConfigured { problem, .. } => (LoadStep::Fetch, problem.reason()),
            Self::NotSelected { problem, .. } => (LoadStep::Grant, problem.reason()),
            Self::NotLoaded { error, .. } => (LoadStep::Compile, load_reason(error)),
            Self::KilledCompiler { .. } => (LoadStep::Compile, "CompilerKilled"),
            Self::NotGranted(_) => (LoadStep::Grant, "GrantMissing"),
            Self::Unanswered { .. } => (LoadStep::Test, "APIServerUnavailable"),
            Self::LeavesFinalizers(_) => (LoadStep::Test, "FinalizersLeft"),
            Self::Untested { .. } => (LoadStep::Test, "NotTested"),
            Self::FailsSmokeTest { .. } => (LoadStep::Test, "SmokeTestFailed"),
            Self::RolledBack(_) | Self::RolledBackBefore(_) => (LoadStep::Test, ROLLED_BACK),
            Self::Stopped { .. } => (LoadStep::Test, "Quarantined"),
            Self::CrashedHosts { .. } => (LoadStep::Test, "CrashLooping"),
        }
    }
}

fn load_reason(error: &LoadError) -> &'static str {
    match error {
        LoadError::Refused(_) | LoadError::Compile(CompileError::Refused(_)) => "ComponentRefused",
        LoadError::Compile(_) => "CompileFailed",
        LoadError::Cache(_) => "CodeCacheFailed",
        LoadError::Describe(_) => "DescribeFailed",
        LoadError::Description(_) => "DescriptionInvalid",
    }
}

fn after_load(error: &LoadError, was_short: bool) -> Retry {
    match error {
        LoadError::Compile(CompileError::Starved(_) | CompileError::Died(_)) => {
            Retry::After(MUCH_LATER)
        }
        LoadError::Compile(CompileError::Failed(_)) | LoadError::Cache(_) => Retry::After(AGAIN),
        LoadError::Describe(error) => after_call(error, was_short),
        LoadError::Compile(CompileError::Refused(_) | CompileError::Exhausted(_))
        | LoadError::Refused(_)
        | LoadError::Description(_) => Retry::OnChange,
    }
}

/// After a call of a version that is tried. `was_short`: the version that runs may have filled the account of both.
fn after_call(error: &CallError, was_short: bool) -> Retry {
    match error {
        // Late may be the API server, and the other two are the host.
        CallError::DeadlineExceeded { .. }
        | CallError::Host(_)
        | CallError::Stopped
        | CallError::Undecided => Retry::After(AGAIN),
        CallError::Trapped(_) if was_short => Retry::After(AGAIN),
        CallError::Trapped(_) | CallError::Failed(_) | CallError::CpuExceeded(_) => Retry::OnChange,
    }
}

fn not_kept(at: &str, wanted: &Digest, kept: &[String]) -> String {
    let kept = match kept {
        [] => "this host keeps no component of it".to_owned(),
        kept => format!("this host keeps {}", kept.join(", ")),
    };
    format!(
        "{at}: the annotation {ROLLBACK_TO} names sha256:{}, which is not there: {kept}. Name one of those, or remove the annotation",
        wanted.hex()
    )
}

fn released(until: Option<Timestamp>, now: Timestamp) -> Retry {
    match until {
        Some(until) => Retry::WhenReleased(until.duration_since(now).unsigned_abs()),
        None => Retry::OnChange,
    }
}

fn suspected(digest: &Digest, sentence: &Sentence) -> String {
    let Sentence {
        since,
        until,
        others,
    } = sentence;
    let minutes = WINDOW.as_mins();
    let beside = match others {
        0 => String::new(),
        others => {
            format!(", and so were {others} other components: they are tried one after the other")
        }
    };
    format!(
        "component {digest} is quarantined: it was at work in two crashes of a host within {minutes} minutes, the last at {since:.0}{beside}. It is tried again at {until:.0}; a version with another digest runs at once"
    )
}

fn killed_compiler(digest: &Digest, killed: &Killed) -> String {
    let Killed { last, how, .. } = killed;
    let times = counted(killed.times(), "time");
    let again = match killed.until() {
        Some(until) => format!(
            "The machine may have had too little memory or time for it: it is compiled again at {until:.0}. If it fails then too, give the host more memory, or split the plugin"
        ),
        None => "It is not compiled again on this host: split the plugin, or leave out what it does not use".to_owned(),
    };
    format!(
        "component {digest} is quarantined: it killed the compiler {times}, the last at {last}: compiling it {how}. {again}"
    )
}

/// A version that is refused, and when that may be over.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Everything that a person needs to fix it.
    pub(super) why: String,
    /// When it is tried again.
    pub(super) retry: Retry,
    step: LoadStep,
    reason: &'static str,
    is_quarantine: bool,
}

impl Refusal {
    /// Whether the configuration that the version names is not there, is not one, or may not be read. The API server has said
    /// so.
    pub(super) fn lacks_configuration(&self) -> bool {
        matches!(
            self.reason,
            "ConfigNotFound" | "ConfigInvalid" | "ConfigForbidden"
        )
    }
}

impl From<RefusalReason> for Refusal {
    fn from(reason: RefusalReason) -> Self {
        let (step, name) = reason.step();
        Self {
            step,
            reason: name,
            why: reason.to_string(),
            retry: reason.retry(),
            is_quarantine: reason.is_quarantine(),
        }
    }
}

impl Refusal {
    /// Whether the version is suspected of harm.
    pub(super) fn is_quarantine(&self) -> bool {
        self.is_quarantine
    }

    /// The reason that conditions show.
    pub(super) fn reason(&self) -> &'static str {
        self.reason
    }

    /// How far a plugin is that has no other version.
    pub(super) fn stage(&self) -> PluginStage {
        let why = self.why.clone();
        if self.is_quarantine {
            PluginStage::Quarantined(why)
        } else {
            PluginStage::Refused(why)
        }
    }

    /// What people are told of it.
    pub(super) fn not_running(&self, document: Option<Arc<str>>) -> NotRunning {
        NotRunning {
            document,
            step: self.step,
            reason: self.reason,
            why: self.why.clone(),
            is_quarantined: self.is_quarantine,
            is_final: self.retry == Retry::OnChange,
        }
    }
}

#[cfg(test)]
mod tests;
