//! Kubernetes' controllers of workloads, together, with a script and two faults that are drawn.

use std::collections::BTreeSet;

use windlass_host::bugs::Bug;
use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

use crate::all_hold;

#[test]
fn two_dozen_pairs_of_faults_are_survived_by_workloads() {
    let cases: Vec<_> = (0..24).map(Case::of_workloads).collect();
    all_hold(&cases);
}

#[test]
fn each_oracle_of_workloads_finds_hosts_that_lose_wake_ups() {
    let cases = (3..8).map(|seed| Case {
        bug: Some(Bug::ChangesDuringARunAreDropped),
        faults: Vec::new(),
        ..Case::of_workloads(seed)
    });
    let checks = judge_all(&cases.collect::<Vec<_>>(), |verdict| {
        let checks = verdict.failures.iter().map(|failure| failure.check);
        Some(checks.collect::<Vec<_>>())
    });
    let found: BTreeSet<_> = checks.unwrap().concat().into_iter().collect();
    for check in ["W1 replica sets", "W2 deployments", "W3 jobs"] {
        assert!(found.contains(check), "only {found:?}");
    }
}
