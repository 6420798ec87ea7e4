use std::time::Duration;

use super::*;

const LATER: Retry = Retry::After(Duration::from_secs(30));
const RELEASED: Retry = Retry::WhenReleased(Duration::from_secs(3600));

#[test]
fn a_proposal_is_checked_unless_it_runs_or_was_stopped_for_good() {
    let rows = [
        ("cannot be read", Proposal::Nothing, Admission::Keep),
        ("is what runs", Proposal::Current, Admission::Keep),
        (
            "was stopped by an order",
            Proposal::Stopped(Retry::OnChange),
            Admission::RefuseAgain,
        ),
        (
            "is in quarantine, perhaps no more",
            Proposal::Stopped(RELEASED),
            Admission::Check,
        ),
        (
            "was stopped for a while",
            Proposal::Stopped(LATER),
            Admission::Check,
        ),
        ("appears or changes", Proposal::New, Admission::Check),
    ];
    for (what, proposal, want) in rows {
        assert_eq!(admission(proposal), want, "{what}");
    }
}

#[test]
fn only_a_version_that_replaces_another_is_tested() {
    assert_eq!(checks(Runs::Nothing), [VersionCheck::Grants]);
    let all = [
        VersionCheck::Grants,
        VersionCheck::Finalizers,
        VersionCheck::SmokeTest,
    ];
    assert_eq!(checks(Runs::LastGood), all);
}

#[test]
fn the_last_good_version_is_resumed_unless_it_may_not_run_or_is_asked_for_anyway() {
    let rows = [
        (KeptVersion::Absent, Resume::Nothing),
        (KeptVersion::Lost, Resume::Nothing),
        (KeptVersion::Quarantined, Resume::TryPrevious),
        (KeptVersion::Stopped, Resume::TryPrevious),
        (KeptVersion::Asked, Resume::Nothing),
        (KeptVersion::Good, Resume::Admit),
    ];
    for (kept, want) in rows {
        assert_eq!(resume(kept), want, "{kept:?}");
    }
}

#[test]
fn a_kept_version_that_may_be_admitted_later_holds_back_what_would_replace_it() {
    let rows = [
        (Retry::OnChange, NotResumed::Forget),
        (LATER, NotResumed::HoldBack),
        (RELEASED, NotResumed::HoldBack),
    ];
    for (retry, want) in rows {
        assert_eq!(not_resumed(retry), want, "{retry:?}");
    }
}

#[test]
fn what_is_refused_leaves_the_last_good_version_in_place() {
    // (what happens; what is done if nothing runs; what is done if a version runs)
    let rows = [
        (
            AdmissionEvent::Admitted,
            AdmissionStep::KeepThenRun,
            AdmissionStep::RunThenKeep,
        ),
        (
            AdmissionEvent::Unchanged,
            AdmissionStep::Rest,
            AdmissionStep::Rest,
        ),
        (
            AdmissionEvent::Refused,
            AdmissionStep::Tell,
            AdmissionStep::Tell,
        ),
        (
            AdmissionEvent::Stopped,
            AdmissionStep::Stop,
            AdmissionStep::Stop,
        ),
        (
            AdmissionEvent::Paused,
            AdmissionStep::Pause,
            AdmissionStep::Pause,
        ),
    ];
    for (event, nothing, last_good) in rows {
        assert_eq!(admission_step(Runs::Nothing, event), nothing, "{event:?}");
        assert_eq!(
            admission_step(Runs::LastGood, event),
            last_good,
            "{event:?}"
        );
    }
}

/// What runs, what is next, what is done about a version that fits them so, and what ends if the kind is served in
/// another way.
type Row = (Fit, Fit, Rollout, Moved);

#[test]
fn a_version_is_swapped_in_where_it_fits_and_prepared_where_it_does_not() {
    use Fit::{Absent, Differs, Same, TakesOver};
    use Rollout::{Prepare, SwapNext, SwapRunning, Wait};
    let rows: [Row; 16] = [
        (Absent, Absent, Prepare, Moved::Nothing),
        (Absent, Same, Wait, Moved::Next),
        (Absent, TakesOver, SwapNext, Moved::Next),
        (Absent, Differs, Prepare, Moved::Next),
        (Same, Absent, Wait, Moved::Running),
        (Same, Same, Wait, Moved::Next),
        (Same, TakesOver, Wait, Moved::Next),
        (Same, Differs, Wait, Moved::Next),
        (TakesOver, Absent, SwapRunning, Moved::Running),
        (TakesOver, Same, Wait, Moved::Next),
        (TakesOver, TakesOver, SwapRunning, Moved::Next),
        (TakesOver, Differs, SwapRunning, Moved::Next),
        (Differs, Absent, Prepare, Moved::Running),
        (Differs, Same, Wait, Moved::Next),
        (Differs, TakesOver, SwapNext, Moved::Next),
        (Differs, Differs, Prepare, Moved::Next),
    ];
    for (running, next, newest, served) in rows {
        let here = Here { running, next };
        assert_eq!(rollout(here), newest, "{here:?}");
        assert_eq!(here.is_empty(), served == Moved::Nothing, "{here:?}");
        assert_eq!(moved(here), served, "{here:?}");
    }
}
