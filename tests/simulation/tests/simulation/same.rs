//! The same seed is the same run: without that, nothing that fails could be looked into.

use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

#[test]
fn the_same_seed_gives_the_same_trace_again() {
    hold((0..100).map(Case::of_seed).collect());
}

/// Three plugins wait for the same Leases, lists and signals.
#[test]
fn the_same_seed_of_workloads_gives_the_same_trace_again() {
    hold((0..6).map(Case::of_workloads).collect());
}

/// Each case is the same twice, and as no other.
fn hold(cases: Vec<Case>) {
    let count = cases.len();
    let cases: Vec<_> = cases
        .into_iter()
        .flat_map(|case| [case.clone(), case])
        .collect();
    let hashes = judge_all(&cases, |verdict| {
        Some((verdict.case.seed, verdict.evidence.hash()))
    });
    let hashes = hashes.unwrap();
    assert_eq!(hashes.len(), 2 * count);
    for pair in hashes.chunks(2) {
        assert_eq!(pair.first(), pair.last());
    }
    let mut distinct: Vec<_> = hashes.iter().map(|(_, hash)| hash).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), count, "another seed is another run");
}
