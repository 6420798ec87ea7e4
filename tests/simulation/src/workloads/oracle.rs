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

/// Everything that is wrong with workloads.
pub(crate) fn judge(run: &Evidence) -> Vec<Failure> {
    let mut oracles = Oracles::default();
    for fact in run.history.iter().filter_map(Fact::of) {
        oracles.see(&fact);
    }
    oracles.end()
}

impl Oracles {
    /// A write, in the order of the history.
    fn see(&mut self, fact: &Fact) {
        self.replicasets.see(fact);
        self.deployments.see(fact);
        self.jobs.see(fact);
    }

    /// At rest: what is wrong, now and before. The first of each kind is enough.
    fn end(mut self) -> Vec<Failure> {
        self.replicasets.end();
        self.deployments.end();
        self.jobs.end();
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
