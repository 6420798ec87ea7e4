//! What happens to the versions of a plugin: pure. The tables are the tests.
//!
//! - What is admitted takes the place of what runs. What is refused costs nothing: the last good version runs on.
//! - A version that wants what the one before it wanted is swapped in between two passes. Any other one is prepared
//!   beside it, and takes over when its lists are in.

use super::refusal::Retry;

/// What runs of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Nothing.
    Nothing,
    /// A version, which is the last good one.
    LastGood,
}

impl Runs {
    /// `LastGood` if there is a version.
    pub(super) fn of<T>(version: Option<&T>) -> Self {
        version.map_or(Self::Nothing, |_| Self::LastGood)
    }
}

/// What the config folder asks for, beside what runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proposal {
    /// Nothing: the document cannot be read now.
    Nothing,
    /// What runs.
    Current,
    /// What ran and was stopped.
    Stopped(Retry),
    /// Something else.
    New,
}

/// What is done about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// What runs, runs on.
    Keep,
    /// It is refused as before, without a look at it.
    RefuseAgain,
    /// It is checked.
    Check,
}

/// Chooses what is done about `proposal`.
pub(super) fn admission(proposal: Proposal) -> Admission {
    match proposal {
        Proposal::Nothing | Proposal::Current => Admission::Keep,
        Proposal::Stopped(Retry::OnChange) => Admission::RefuseAgain,
        Proposal::Stopped(Retry::After(_) | Retry::WhenReleased(_)) | Proposal::New => {
            Admission::Check
        }
    }
}

/// A check of a version that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionCheck {
    /// Whether its grants can work.
    Grants,
    /// Whether it leaves objects behind that wait for its finalizer.
    Finalizers,
    /// Whether it survives a call.
    SmokeTest,
}

/// The checks of a version, in order. Without a version to fall back on there is nothing to lose: its failures are its
/// own.
pub(super) fn checks(runs: Runs) -> &'static [VersionCheck] {
    match runs {
        Runs::Nothing => &[VersionCheck::Grants],
        Runs::LastGood => &[
            VersionCheck::Grants,
            VersionCheck::Finalizers,
            VersionCheck::SmokeTest,
        ],
    }
}

/// A version that an earlier run of the host has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptVersion {
    /// There is none.
    Absent,
    /// It cannot be read, or was changed.
    Lost,
    /// Its component is quarantined.
    Quarantined,
    /// It was stopped in this run.
    Stopped,
    /// It is what the config folder asks for.
    Asked,
    /// None of these.
    Good,
}

/// What is done about a version that was kept, while nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// It is admitted, and runs until what is asked for takes its place.
    Admit,
    /// The one before it, which has another component, is looked at.
    TryPrevious,
    /// Nothing: what is asked for is the first to run.
    Nothing,
}

/// Chooses what is done about `kept`.
pub(super) fn resume(kept: KeptVersion) -> Resume {
    match kept {
        KeptVersion::Absent | KeptVersion::Lost | KeptVersion::Asked => Resume::Nothing,
        KeptVersion::Quarantined | KeptVersion::Stopped => Resume::TryPrevious,
        KeptVersion::Good => Resume::Admit,
    }
}

/// What is done if a kept version is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotResumed {
    /// It is lost: what is asked for is the first to run.
    Forget,
    /// Nothing runs until it is admitted: the reason may pass, and it already manages objects.
    HoldBack,
}

/// Chooses what is done about a kept version that is refused so.
pub(super) fn not_resumed(retry: Retry) -> NotResumed {
    match retry {
        Retry::OnChange => NotResumed::Forget,
        Retry::After(_) | Retry::WhenReleased(_) => NotResumed::HoldBack,
    }
}

/// What has come of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdmissionEvent {
    /// It passed all checks.
    Admitted,
    /// It is the version that runs.
    Unchanged,
    /// It failed a check.
    Refused,
    /// What runs may not run any more: an order came, or its component is quarantined.
    Stopped,
    /// Nothing is to be rolled out.
    Paused,
}

/// What is done then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdmissionStep {
    /// It is kept as the last good version, and then runs: what has run can be run again after a crash.
    KeepThenRun,
    /// It runs, and is then kept: the disk is not waited for, since the one before it is kept.
    RunThenKeep,
    /// Nothing. Any earlier refusal is cleared.
    Rest,
    /// Nothing, and people are told that it is so.
    Pause,
    /// People are told why it does not run.
    Tell,
    /// What runs is stopped, and the proposal is looked at again.
    Stop,
}

/// Chooses what is done after `event`.
pub(super) fn admission_step(runs: Runs, event: AdmissionEvent) -> AdmissionStep {
    match (event, runs) {
        (AdmissionEvent::Admitted, Runs::Nothing) => AdmissionStep::KeepThenRun,
        (AdmissionEvent::Admitted, Runs::LastGood) => AdmissionStep::RunThenKeep,
        (AdmissionEvent::Unchanged, _) => AdmissionStep::Rest,
        (AdmissionEvent::Refused, _) => AdmissionStep::Tell,
        (AdmissionEvent::Stopped, _) => AdmissionStep::Stop,
        (AdmissionEvent::Paused, _) => AdmissionStep::Pause,
    }
}

/// How the newest version that was admitted fits a version that is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// There is none here.
    Absent,
    /// It is that one.
    Same,
    /// It can be called in its place.
    TakesOver,
    /// It needs a controller of its own.
    Differs,
}

/// How the newest version fits what is here of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Here {
    /// What makes passes.
    pub(super) running: Fit,
    /// What begins when it may: it has a list of everything, and waits for the Lease or for the passes that run.
    pub(super) next: Fit,
}

impl Here {
    /// Nothing is here.
    pub(super) fn is_empty(self) -> bool {
        (self.running, self.next) == (Fit::Absent, Fit::Absent)
    }
}

/// What is done about the newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollout {
    /// Nothing: it is here, or there is none.
    Wait,
    /// It is called in the place of what runs, from the next pass on. What is next is dropped.
    SwapRunning,
    /// It is called in the place of what is next.
    SwapNext,
    /// A controller is prepared for it. What is here goes on meanwhile.
    Prepare,
}

/// Chooses what is done about the newest version, which fits so.
pub(super) fn rollout(here: Here) -> Rollout {
    match (here.running, here.next) {
        (Fit::Same, _) | (_, Fit::Same) => Rollout::Wait,
        (Fit::TakesOver, _) => Rollout::SwapRunning,
        (_, Fit::TakesOver) => Rollout::SwapNext,
        (Fit::Absent | Fit::Differs, Fit::Absent | Fit::Differs) => Rollout::Prepare,
    }
}

/// What ends when a primary kind is served in another way than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// Nothing is here.
    Nothing,
    /// What is next. What runs goes on until the same version is prepared again.
    Next,
    /// What runs.
    Running,
}

/// Chooses what ends. Only whether each side is absent matters.
pub(super) fn moved(here: Here) -> Moved {
    match (here.running, here.next) {
        (Fit::Absent, Fit::Absent) => Moved::Nothing,
        (_, Fit::Absent) => Moved::Running,
        (_, _) => Moved::Next,
    }
}

#[cfg(test)]
mod tests;
