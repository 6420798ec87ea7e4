//! The judge is judged: hosts with a bug on purpose fail in the seed that found it.

use windlass::bugs::Bug;
use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

/// The first seed that finds each bug, and one of the properties that do not hold then:
/// `make judge-the-judge` searches anew.
const FOUND: &[(Bug, u64, &str)] = &[
    (Bug::AnswersAreDroppedEarly, 19, "O5 back in time"),
    (Bug::AbsentReadsAreNotTracked, 0, "O5 wake-ups"),
    (Bug::ListsAreNotTracked, 42, "O5 wake-ups"),
    (Bug::LeavingAListIsNotHeard, 50, "O5 wake-ups"),
    (Bug::OldOwnersAreNotWoken, 0, "O1 final state"),
    (Bug::ChangesDuringARunAreDropped, 1, "O1 final state"),
    (Bug::DeletionsRunLow, 20, "O12 deletions"),
];

#[test]
fn every_bug_is_found_in_its_seed() {
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
