//! Kubernetes' controllers of workloads, together, with a script and two faults that are drawn.

use std::collections::BTreeSet;

use windlass_base::bugs::Bug;
use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

use crate::drawn::WORKLOADS;
use crate::{all_hold, show};

#[test]
fn a_dozen_pairs_of_faults_are_survived_by_workloads() {
    let failed = std::mem::take(&mut *WORKLOADS.failed.lock());
    show(failed, WORKLOADS.cases.len());
}

/// Seeds that have found something: in the host, in a plugin, or in an oracle.
#[test]
fn what_failed_once_holds_now() {
    let cases: Vec<_> = [2010, 2117, 2149, 2168, 2202, 2426, 2456]
        .map(Case::of_workloads)
        .to_vec();
    all_hold(&cases);
}

/// Seeds are judged until all oracles have found the bug.
#[test]
fn each_oracle_of_workloads_finds_hosts_that_lose_wake_ups() {
    let wanted = ["W1 replica sets", "W2 deployments", "W3 jobs"];
    let mut found = BTreeSet::new();
    let mut seeds = 3..75;
    while !wanted.iter().all(|check| found.contains(check)) {
        let batch: Vec<u64> = seeds.by_ref().take(6).collect();
        assert!(!batch.is_empty(), "only {found:?}");
        let cases = batch.into_iter().map(|seed| Case {
            bug: Some(Bug::ChangesDuringARunAreDropped),
            faults: Vec::new(),
            ..Case::of_workloads(seed)
        });
        let checks = judge_all(&cases.collect::<Vec<_>>(), |verdict| {
            let checks = verdict.failures.iter().map(|failure| failure.check);
            Some(checks.collect::<Vec<_>>())
        });
        found.extend(checks.unwrap().concat());
    }
}
