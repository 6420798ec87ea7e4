//! The same seed is the same run: without that, nothing that fails could be looked into.

use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

#[test]
fn the_same_seed_gives_the_same_trace_again() {
    let cases: Vec<_> = (0..100)
        .flat_map(|seed| [Case::of_seed(seed), Case::of_seed(seed)])
        .collect();
    let hashes = judge_all(&cases, |verdict| {
        Some((verdict.case.seed, verdict.evidence.hash()))
    });
    let hashes = hashes.unwrap();
    assert_eq!(hashes.len(), 200);
    for pair in hashes.chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
    let mut distinct: Vec<_> = hashes.iter().map(|(_, hash)| hash).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 100, "another seed is another run");
}
