//! The judge is judged: hosts with a bug on purpose fail in the seed that found it.

use windlass_base::bugs::Bug;
use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

/// The first seed that finds each bug, and one of the properties that do not hold then:
/// `make judge-the-judge` searches again.
const FOUND: &[(Bug, u64, &str)] = &[
    (Bug::RelistsLoseTombstones, 397, "O5 wake-ups"),
    (Bug::RelistsGoBack, 2630, "O5 back in time"),
    (Bug::AnswersAreDroppedEarly, 71, "O5 back in time"),
    (Bug::AbsentReadsAreNotTracked, 5, "O5 wake-ups"),
    (Bug::ListsAreNotTracked, 30, "O5 wake-ups"),
    (Bug::LeavingAListIsNotHeard, 30, "O5 wake-ups"),
    (Bug::IdlePatchesHideChanges, 469, "O5 wake-ups"),
    (Bug::OldOwnersAreNotWoken, 3, "O5 wake-ups"),
    (Bug::ChangesDuringARunAreDropped, 0, "O4 stable"),
    (Bug::DeletionsRunLow, 28, "O12 deletions"),
    (Bug::EventsCountAsFailures, 12, "O12 failures"),
    (Bug::NewGenerationsWaitOn, 4, "O12 failures"),
    (Bug::ThrottlingCountsAsFailure, 119, "O12 failures"),
    (Bug::PendingLetsGo, 0, "O1 final state"),
    (Bug::FinalizersComeBack, 0, "O12 deletions"),
    (Bug::DeletionsNameNoUid, 1, "O3 deletes"),
    (Bug::DroppedFieldsAreNotSeen, 9, "O1 final state"),
    (Bug::SetsTakeWhatIsThere, 4, "O13 others' objects"),
    (Bug::ListsAreNotWaitedFor, 76, "O5 never there"),
    (Bug::TheBarrierIsOff, 205, "O5 take-over"),
    (Bug::TheGateIsOpen, 336, "O6 epochs"),
    (Bug::TheLeaseIsReleasedFirst, 41, "O6 epochs"),
    (Bug::TheListIsNotHeeded, 18, "O5 wake-ups"),
];

#[test]
fn every_bug_is_found_in_its_seed() {
    let bugs: Vec<_> = FOUND.iter().map(|(bug, _, _)| *bug).collect();
    assert_eq!(bugs, Bug::ALL);
    let cases: Vec<_> = FOUND
        .iter()
        .map(|(bug, seed, _)| Case::with_bug(*bug, *seed))
        .collect();
    let failed = judge_all(&cases, |verdict| {
        let checks = verdict.failures.iter().map(|failure| failure.check);
        Some(checks.collect::<Vec<_>>())
    });
    let missed: Vec<_> = FOUND
        .iter()
        .zip(failed.unwrap())
        .filter(|((_, _, check), checks)| !checks.contains(check))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
