//! What a pass sees: a Job and its pods, and how many of them are what.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::attempts;
use crate::backoff::{Failures, Finish};
use crate::failure_policy::{Action, Match};
use crate::indexes::Indexes;
use crate::pod::Pod;
use crate::spec::Rules;
use crate::status::Status;

/// A Job and its pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) rules: &'a Rules<'a>,
    pub(crate) status: &'a Status,
    pub(crate) pods: &'a [Pod],
    /// The time of the call.
    pub(crate) now: Timestamp,
    /// Whether the Job ends: that its pods are deleted then says nothing about their indexes.
    pub(crate) ends: bool,
    /// The failures since the last success that earlier passes have counted.
    pub(crate) counted: Failures,
}

/// Numbers of pods and sets of indexes, with finished pods that are not counted in the status yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) active: usize,
    pub(crate) ready: usize,
    pub(crate) terminating: usize,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
    pub(crate) succeeded_indexes: Indexes,
    pub(crate) failed_indexes: Indexes,
}

impl<'a> Seen<'a> {
    /// Whether a pod is over and did not succeed.
    pub(crate) fn has_failed(&self, pod: &Pod) -> bool {
        pod.kit.phase() == "Failed" || (pod.is_terminating() && !self.rules.waits_for_end)
    }

    /// Whether a pod belongs to the work that is to be done.
    pub(crate) fn is_in_range(&self, pod: &Pod) -> bool {
        let end = self.rules.index_end();
        !self.rules.indexed || pod.index.is_some_and(|index| index < end)
    }

    /// What the policy says of a failed pod.
    pub(crate) fn matched(&self, pod: &Pod) -> Option<Match> {
        let policy = self.rules.failure_policy?;
        policy.first_match(pod, self.rules.index_limit.is_some())
    }

    /// Whether the failure of a pod counts.
    pub(crate) fn counts(&self, pod: &Pod) -> bool {
        self.matched(pod)
            .is_none_or(|found| found.action != Action::Ignore)
    }

    /// The active pods.
    pub(crate) fn active(&self) -> impl Iterator<Item = &'a Pod> {
        self.pods.iter().filter(|pod| pod.is_active())
    }

    /// Pods that still have the finalizer, and are in range.
    pub(crate) fn tracked(&self) -> impl Iterator<Item = &'a Pod> {
        let seen = *self;
        let pods = self.pods.iter();
        pods.filter(move |pod| pod.is_tracked() && seen.is_in_range(pod))
    }

    /// The pods that have finished. A pod that the controller itself has deleted did not fail.
    pub(crate) fn finishes(&self) -> Vec<Finish> {
        let (succeeded, failed) = self.status.uncounted();
        let known: BTreeSet<&str> = succeeded.iter().chain(failed).map(String::as_str).collect();
        let finished = self.pods.iter().filter_map(|pod| {
            let success = pod.has_succeeded();
            let failure = self.has_failed(pod) && (pod.is_tracked() || pod.kit.is_terminal());
            (success || failure).then(|| Finish {
                at: pod.finished_at(),
                success,
                is_new: pod.is_tracked() && !known.contains(pod.uid()),
            })
        });
        finished.collect()
    }

    /// Counts all.
    pub(crate) fn tally(&self) -> Tally {
        let (succeeded, failed) = self.status.uncounted();
        let failed: BTreeSet<&str> = failed.iter().map(String::as_str).collect();
        let failures = self
            .tracked()
            .filter(|pod| self.has_failed(pod) && !failed.contains(pod.uid()))
            .filter(|pod| self.counts(pod));
        let mut tally = Tally {
            active: self.active().count(),
            ready: self.active().filter(|pod| pod.kit.is_ready()).count(),
            terminating: self.pods.iter().filter(|pod| pod.is_terminating()).count(),
            failed: self.status.failed + failed.len() + failures.count(),
            ..Tally::default()
        };
        let successes = || {
            self.tracked()
                .filter(|pod| pod.has_succeeded() && !failed.contains(pod.uid()))
        };
        if self.rules.indexed {
            let end = self.rules.index_end();
            let before = Indexes::parse(&self.status.completed_indexes, end);
            tally.succeeded_indexes = before.with(successes().filter_map(|pod| pod.index));
            tally.succeeded = tally.succeeded_indexes.len();
        } else {
            let known: BTreeSet<&str> = succeeded.iter().map(String::as_str).collect();
            let new = successes().filter(|pod| !known.contains(pod.uid()));
            tally.succeeded = self.status.succeeded + known.len() + new.count();
        }
        if let Some(limit) = self.rules.index_limit {
            let text = self.status.failed_indexes.as_deref().unwrap_or_default();
            let before = Indexes::parse(text, self.rules.index_end());
            let failed = attempts::failed_indexes(self, limit).filter(|_| !self.ends);
            let failed = failed.filter(|index| !tally.succeeded_indexes.contains(*index));
            tally.failed_indexes = before.with(failed);
        }
        tally
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Config;
    use crate::pod::tests::{indexed, pod};
    use crate::spec::Spec;

    /// What `look` finds, for a Job and its pods at half past nine.
    pub(crate) fn seeing<T>(
        spec: Value,
        status: Value,
        pods: &[Pod],
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> T {
        let spec: Spec = serde_json::from_value(spec).unwrap();
        let status: Status = serde_json::from_value(status).unwrap();
        look(&Seen {
            rules: &spec.rules(&Config::default()),
            status: &status,
            pods,
            now: "2026-11-21T09:30:00Z".parse().unwrap(),
            ends: false,
            counted: Failures::default(),
        })
    }

    #[test]
    fn each_finished_pod_is_counted_once() {
        let untracked = json!({ "metadata": { "finalizers": [] } });
        let deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-21T09:10:00Z" } });
        let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        let pods = [
            pod("a", "Running", ready),
            pod("b", "Succeeded", json!({})),
            pod("c", "Succeeded", untracked.clone()),
            pod("d", "Failed", json!({})),
            pod("e", "Failed", untracked),
            pod("f", "Running", deleted),
            pod("g", "Succeeded", json!({})),
        ];
        let status = json!({ "succeeded": 3, "failed": 1, "uncountedTerminatedPods": { "succeeded": ["b"], "failed": ["d", "x"] } });
        let want = Tally {
            active: 1,
            ready: 1,
            terminating: 1,
            succeeded: 5,
            failed: 4,
            ..Tally::default()
        };
        let found = seeing(json!({ "completions": 9 }), status.clone(), &pods, |seen| {
            seen.tally()
        });
        assert_eq!(found, want);
        // With this policy, a pod that is being deleted fails when it ends.
        let spec = json!({ "completions": 9, "podReplacementPolicy": "Failed" });
        assert_eq!(seeing(spec, status, &pods, |seen| seen.tally()).failed, 3);
    }

    #[test]
    fn indexes_out_of_range_do_not_count() {
        let pods = [
            indexed("a", "Succeeded", 0, 0),
            indexed("b", "Succeeded", 0, 0),
            indexed("c", "Succeeded", 5, 0),
            indexed("d", "Failed", 5, 0),
            indexed("e", "Failed", 1, 0),
        ];
        let spec = json!({ "completionMode": "Indexed", "completions": 4 });
        let status = json!({ "completedIndexes": "2,7", "failed": 1 });
        let tally = seeing(spec, status, &pods, |seen| seen.tally());
        assert_eq!(tally.succeeded_indexes.to_string(), "0,2");
        assert_eq!((tally.succeeded, tally.failed), (2, 2));
    }

    #[test]
    fn no_index_fails_because_the_job_ends() {
        let deleted = json!({ "metadata": {
            "annotations": { crate::pod::INDEX: "1" }, "deletionTimestamp": "2026-11-21T09:10:00Z",
        } });
        let pods = [pod("a", "Running", deleted)];
        let spec =
            json!({ "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 0 });
        for (ends, want) in [(false, "0,1"), (true, "0")] {
            let status = json!({ "failedIndexes": "0" });
            let tally = seeing(spec.clone(), status, &pods, |seen| {
                Seen { ends, ..*seen }.tally()
            });
            assert_eq!(tally.failed_indexes.to_string(), want);
            assert_eq!(tally.failed, 1);
        }
    }

    #[test]
    fn ignored_failures_do_not_count() {
        let policy =
            json!({ "rules": [{ "action": "Ignore", "onPodConditions": [{ "type": "X" }] }] });
        let held = json!({ "status": { "conditions": [{ "type": "X", "status": "True" }] } });
        let pods = [pod("a", "Failed", held), pod("b", "Failed", json!({}))];
        let tally = seeing(
            json!({ "podFailurePolicy": policy }),
            json!({}),
            &pods,
            |seen| seen.tally(),
        );
        assert_eq!(tally.failed, 1);
    }
}
