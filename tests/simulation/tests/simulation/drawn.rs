//! Runs of drawn cases that two tests look at: one at their verdicts, and one at their traces.

use std::sync::LazyLock;

use parking_lot::Mutex;
use windlass_simulation::run::Case;
use windlass_simulation::suite::{Verdict, judge_all};

/// Two faults at once, a script and one or two hosts.
pub(crate) static PAIRS: LazyLock<Drawn> = LazyLock::new(|| Drawn::run(0..300, Case::of_seed));

/// Three plugins, a script and two faults.
pub(crate) static WORKLOADS: LazyLock<Drawn> =
    LazyLock::new(|| Drawn::run(0..12, Case::of_workloads));

/// Cases, each run once.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// The cases, in the order of their seeds.
    pub(crate) cases: Vec<Case>,
    /// The hash of each case's trace.
    pub(crate) hashes: Vec<[u8; 32]>,
    /// The verdicts of the cases that failed. The test of verdicts takes them.
    pub(crate) failed: Mutex<Vec<Verdict>>,
}

impl Drawn {
    fn run(seeds: std::ops::Range<u64>, case: impl Fn(u64) -> Case) -> Self {
        let cases: Vec<_> = seeds.map(case).collect();
        let runs = judge_all(&cases, |verdict| {
            let hash = verdict.evidence.hash();
            Some((hash, (!verdict.failures.is_empty()).then_some(verdict)))
        });
        let (hashes, failed): (_, Vec<_>) = runs.unwrap().into_iter().unzip();
        let failed = Mutex::new(failed.into_iter().flatten().collect());
        Self {
            cases,
            hashes,
            failed,
        }
    }
}
