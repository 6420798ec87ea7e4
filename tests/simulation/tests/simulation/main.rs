//! Hosts, a user and an API server in one thread: every crash point, every fault alone, pairs of faults.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alone;
mod bugs;
mod drawn;
mod life;
mod pairs;
mod quarantine;
mod same;
mod squatter;
mod standby;
mod workloads;

use windlass_simulation::run::Case;
use windlass_simulation::suite::{Verdict, judge_all, shrink};

/// As [`all_hold`], of cases with a fault each at a request that a run without faults sends as well.
pub(crate) fn all_meet_and_hold(cases: &[Case]) {
    let met = |verdict: &Verdict| !verdict.evidence.hit.is_empty();
    let failed = judge_all(cases, |verdict| {
        (!verdict.failures.is_empty() || !met(&verdict)).then_some(verdict)
    });
    let failed = failed.unwrap();
    let never = failed.iter().filter(|verdict| !met(verdict));
    let never: Vec<_> = never.map(|verdict| verdict.case.to_string()).collect();
    assert!(never.is_empty(), "never happened: {never:#?}");
    show(failed, cases.len());
}

/// Runs all cases, and none fails.
pub(crate) fn all_hold(cases: &[Case]) {
    let failed = judge_all(cases, |verdict| {
        (!verdict.failures.is_empty()).then_some(verdict)
    });
    show(failed.unwrap(), cases.len());
}

/// Shows the first cases that failed, with as few faults as suffice.
pub(crate) fn show(failed: Vec<Verdict>, of: usize) {
    let count = failed.len();
    let shown = failed
        .into_iter()
        .take(5)
        .map(|verdict| shrink(verdict).unwrap());
    let shown: Vec<String> = shown.map(|verdict: Verdict| verdict.report()).collect();
    assert_eq!(count, 0, "{} of {} fail:\n{}", count, of, shown.join("\n"));
}
