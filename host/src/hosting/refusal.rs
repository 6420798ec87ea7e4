//! Why a version is not let in, and when it is tried again.

use std::sync::Arc;
use std::time::Duration;

use super::version::Version;
use crate::metrics::{NotRunning, PluginStage};
use crate::plugin::compiler::CompileError;
use crate::plugin::{CallError, LoadError};

/// When a version is tried again that was refused for a reason that may pass.
pub(super) const AGAIN: Duration = Duration::from_secs(30);

/// When a component is tried again that took more than the machine had.
const MUCH_LATER: Duration = Duration::from_secs(300);

/// Why a version is not let in.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Everything that a person needs to fix it.
    pub(super) why: String,
    /// When it may be let in as it is, if that could be: the machine or the API server is to blame.
    pub(super) again: Option<Duration>,
    /// It may not run, whatever it is: it is suspected of harm.
    pub(super) is_quarantine: bool,
}

impl Refusal {
    pub(super) fn new(why: String) -> Self {
        Self {
            why,
            again: None,
            is_quarantine: false,
        }
    }

    pub(super) fn quarantined(why: String, again: Option<Duration>) -> Self {
        Self {
            why,
            again,
            is_quarantine: true,
        }
    }

    pub(super) fn passing(why: String) -> Self {
        Self {
            again: Some(AGAIN),
            ..Self::new(why)
        }
    }
}

impl Refusal {
    /// Whether it may be let in by now: that is to be asked again.
    pub(super) fn may_be_over(&self) -> bool {
        self.again.is_some()
    }

    /// How far a plugin is that has no other version.
    pub(super) fn stage(&self) -> PluginStage {
        match self.is_quarantine {
            true => PluginStage::Quarantined(self.why.clone()),
            false => PluginStage::Refused(self.why.clone()),
        }
    }

    /// What people are told of it.
    pub(super) fn held(&self) -> NotRunning {
        let why = self.why.clone();
        match self.is_quarantine {
            true => NotRunning::Quarantined(why),
            false => NotRunning::Refused(why),
        }
    }
}

/// When a component that was refused for this could be let in as it is. `was_short`: its plugin's account had no room
/// meanwhile, and others held something on it.
pub(super) fn again(error: &LoadError, was_short: bool) -> Option<Duration> {
    match error {
        LoadError::Compile(CompileError::Starved(_) | CompileError::Died(_)) => Some(MUCH_LATER),
        LoadError::Compile(CompileError::Failed(_)) | LoadError::Cache(_) => Some(AGAIN),
        LoadError::Describe(error) => passes(error, was_short).then_some(AGAIN),
        LoadError::Compile(CompileError::Refused(_) | CompileError::Exhausted(_))
        | LoadError::Refused(_)
        | LoadError::Description(_) => None,
    }
}

/// Whether a call of a version that is tried may end otherwise the next time. `was_short` as in [`again`]: then the version
/// that runs may have filled the account of both.
pub(super) fn passes(error: &CallError, was_short: bool) -> bool {
    match error {
        // Late may be the API server, and the other two are the host.
        CallError::DeadlineExceeded { .. } | CallError::Host(_) | CallError::Stopped => true,
        CallError::Trapped(_) => was_short,
        CallError::Failed(_) | CallError::CpuExceeded(_) => false,
    }
}

pub(super) fn say(plugin: &str, refusal: &Refusal, runs: Option<&Arc<Version>>) {
    let why = &refusal.why;
    match runs {
        Some(runs) => {
            let digest = runs.digest.to_string();
            tracing::error!(plugin, digest, "{why}; the last good version runs on");
        }
        None => tracing::error!(plugin, "{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_tried_again_if_others_had_filled_its_account() {
        let trapped = || CallError::Trapped("unreachable".into());
        let cpu = || CallError::CpuExceeded(Duration::from_secs(1));
        let host = || CallError::Host("full".into());
        // (how its call ended; whether it is tried again; the same if its account had no room)
        let rows = [
            (trapped(), false, true),
            (cpu(), false, false),
            (host(), true, true),
            (CallError::Stopped, true, true),
        ];
        for (error, with_room, without) in rows {
            for (was_short, wanted) in [(false, with_room), (true, without)] {
                assert_eq!(passes(&error, was_short), wanted, "{error} {was_short}");
                let described = LoadError::Describe(error.clone());
                assert_eq!(again(&described, was_short).is_some(), wanted, "{error}");
            }
        }
    }
}
