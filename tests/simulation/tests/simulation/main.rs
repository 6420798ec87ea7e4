//! Hosts, a user and an API server in one thread: every crash point, every fault alone, pairs of faults.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alone;
mod bugs;
mod life;
mod pairs;
mod same;
mod standby;

use windlass_simulation::run::Case;
use windlass_simulation::suite::{Verdict, judge_all, shrink};

/// Runs all cases; shows the first that fail, with as few faults as suffice.
pub(crate) fn all_hold(cases: &[Case]) {
    let failed = judge_all(cases, |verdict| {
        (!verdict.failures.is_empty()).then_some(verdict)
    });
    let failed = failed.unwrap();
    let count = failed.len();
    let shown = failed
        .into_iter()
        .take(5)
        .map(|verdict| shrink(verdict).unwrap());
    let shown: Vec<String> = shown.map(|verdict: Verdict| verdict.report()).collect();
    assert_eq!(
        count,
        0,
        "{} of {} fail:\n{}",
        count,
        cases.len(),
        shown.join("\n")
    );
}
