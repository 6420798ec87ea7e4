//! What is wrong with a run of workloads, judged by the writes that the server accepted: one oracle for each controller.
//!
//! - A controller may act on what was true a moment ago. So each bound is the loosest of those since its controllers have
//!   shown that they know the newest one.

mod deployments;
mod jobs;
mod replicasets;
#[cfg(test)]
mod tests;

use super::fact::Fact;
use crate::oracle::Failure;
use crate::run::Evidence;
use deployments::Deployments;
use jobs::Jobs;
use replicasets::ReplicaSets;

/// All three oracles.
#[derive(Debug, Default)]
struct Oracles {
    replicasets: ReplicaSets,
    deployments: Deployments,
    jobs: Jobs,
}

/// Everything that is wrong with workloads. They must be right when all is to be stable: later writes are repairs.
pub(crate) fn judge(run: &Evidence) -> Vec<Failure> {
    let mut oracles = Oracles::default();
    let (before, later): (Vec<_>, Vec<_>) = run
        .history
        .iter()
        .partition(|record| record.revision <= run.stable);
    for fact in before.into_iter().filter_map(Fact::of) {
        oracles.see(&fact);
    }
    oracles.rest();
    for fact in later.into_iter().filter_map(Fact::of) {
        oracles.see(&fact);
    }
    oracles.failures()
}

impl Oracles {
    /// A write, in the order of the history.
    fn see(&mut self, fact: &Fact) {
        self.replicasets.see(fact);
        self.deployments.see(fact);
        self.jobs.see(fact);
    }

    /// Everything rests.
    fn rest(&mut self) {
        self.replicasets.rest();
        self.deployments.rest();
        self.jobs.rest();
    }

    /// What is wrong. The first of each kind is enough.
    fn failures(self) -> Vec<Failure> {
        let all = [
            ("W1 replica sets", self.replicasets.errors),
            ("W2 deployments", self.deployments.errors),
            ("W3 jobs", self.jobs.errors),
        ];
        let all = all.into_iter();
        all.filter_map(|(check, errors)| Some(Failure::new(check, errors.into_iter().next()?)))
            .collect()
    }
}
