//! The same seed is the same run: without that, nothing that fails could be looked into.

use windlass_simulation::suite::judge_all;

use crate::drawn::{Drawn, PAIRS, WORKLOADS};

#[test]
fn the_same_seed_gives_the_same_trace_again() {
    hold(&PAIRS, 100);
}

/// Three plugins wait for the same Leases, lists and signals.
#[test]
fn the_same_seed_of_workloads_gives_the_same_trace_again() {
    hold(&WORKLOADS, 6);
}

/// So many of the cases have the same trace when they run again, and none has the trace of another one.
fn hold(drawn: &Drawn, count: usize) {
    let some = drawn.cases.get(..count).unwrap();
    let again = judge_all(some, |verdict| {
        Some((verdict.case.seed, verdict.evidence.hash()))
    });
    let again = again.unwrap();
    assert_eq!(again.len(), count);
    let changed = again.iter().zip(&drawn.hashes);
    let changed = changed.filter(|((_, hash), before)| hash != *before);
    let changed: Vec<u64> = changed.map(|((seed, _), _)| *seed).collect();
    assert_eq!(changed, [0; 0], "seeds with another trace");
    let mut distinct = drawn.hashes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(
        distinct.len(),
        drawn.hashes.len(),
        "another seed is another run"
    );
}
