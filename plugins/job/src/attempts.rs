//! The attempts at an index, for a Job that limits the failures of each index (KEP-3850).
//!
//! A pod carries how often its index has failed before it. So the last pod of an index that has failed keeps the finalizer
//! until there is another one.

use std::collections::BTreeMap;

use crate::backoff::Failures;
use crate::failure_policy::Action;
use crate::pod::{FAILURES, IGNORED, Pod};
use crate::seen::{Seen, Tally};

/// How often an index has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Failures that count.
    pub(crate) failures: usize,
    /// Failures that a policy ignores.
    pub(crate) ignored: usize,
}

impl Attempts {
    /// What a pod says of those before it.
    fn before(pod: &Pod) -> Self {
        Self {
            failures: pod.number(FAILURES),
            ignored: pod.number(IGNORED),
        }
    }

    fn total(self) -> usize {
        self.failures + self.ignored
    }
}

/// The indexes of tracked pods that have failed too often, or in a way that fails the index at once.
pub(crate) fn failed_indexes(seen: &Seen<'_>, limit: usize) -> impl Iterator<Item = usize> {
    let failed = seen.tracked().filter(|pod| seen.has_failed(pod));
    failed.filter_map(move |pod| {
        let is_over = match seen.matched(pod).map(|found| found.action) {
            Some(Action::FailIndex) => true,
            Some(Action::Ignore) => false,
            _ => pod.number(FAILURES) >= limit,
        };
        pod.index.filter(|_| is_over)
    })
}

/// The last pod of each index that has one with the finalizer.
pub(crate) fn last<'a>(seen: &Seen<'a>) -> BTreeMap<usize, &'a Pod> {
    let mut last = BTreeMap::new();
    let order = |pod: &Pod| (Attempts::before(pod).total(), pod.finished_at());
    for pod in seen.tracked() {
        let Some(index) = pod.index else { continue };
        let held = last.entry(index).or_insert(pod);
        if order(held) < order(pod) {
            *held = pod;
        }
    }
    last
}

/// What the next pod of an index carries, and the failures that delay it.
pub(crate) fn next(seen: &Seen<'_>, last: Option<&&Pod>) -> (Attempts, Failures) {
    let Some(pod) = last.filter(|pod| seen.has_failed(pod)) else {
        return Default::default();
    };
    let mut attempts = Attempts::before(pod);
    if seen.counts(pod) {
        attempts.failures += 1;
    } else {
        attempts.ignored += 1;
    }
    let failures = Failures {
        count: attempts.total(),
        last: Some(pod.finished_at()),
    };
    (attempts, failures)
}

/// Whether a pod keeps the finalizer, since the next pod of its index has yet to learn from it.
pub(crate) fn is_kept(
    seen: &Seen<'_>,
    tally: &Tally,
    last: &BTreeMap<usize, &Pod>,
    pod: &Pod,
) -> bool {
    let Some(index) = pod.index else { return false };
    let is_last = last.get(&index).is_some_and(|held| held.uid() == pod.uid());
    let is_over = tally.succeeded_indexes.contains(index) || tally.failed_indexes.contains(index);
    is_last && !is_over && seen.has_failed(pod)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::tests::{indexed, pod};
    use crate::seen::tests::seeing;

    #[test]
    fn an_index_fails_with_one_failure_more_than_its_limit() {
        let pods = [
            indexed("a", "Failed", 0, 1),
            indexed("b", "Failed", 1, 2),
            indexed("c", "Running", 2, 2),
            indexed("d", "Failed", 3, 2),
            indexed("e", "Succeeded", 3, 1),
        ];
        let spec =
            json!({ "completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 2 });
        let tally = seeing(spec, json!({ "failedIndexes": "" }), &pods, |seen| {
            seen.tally()
        });
        // An index that has succeeded as well does not fail.
        assert_eq!(tally.failed_indexes.to_string(), "1");
    }

    #[test]
    fn the_next_pod_counts_the_failures_before_it() {
        let policy =
            json!({ "rules": [{ "action": "Ignore", "onPodConditions": [{ "type": "X" }] }] });
        let spec = json!({
            "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 5, "podFailurePolicy": policy,
        });
        let annotations = json!({ crate::pod::INDEX: "1", FAILURES: "2", IGNORED: "1" });
        let ignored = json!({
            "metadata": { "annotations": annotations },
            "status": { "conditions": [{ "type": "X", "status": "True" }] },
        });
        let pods = [
            indexed("a", "Failed", 0, 0),
            indexed("b", "Failed", 0, 1),
            pod("c", "Failed", ignored),
            indexed("d", "Running", 2, 3),
        ];
        seeing(spec, json!({}), &pods, |seen| {
            let last = last(seen);
            let next = |index| {
                let (attempts, failures) = next(seen, last.get(&index));
                (attempts.failures, attempts.ignored, failures.count)
            };
            assert_eq!(next(0), (2, 0, 2));
            assert_eq!(next(1), (2, 2, 4));
            assert_eq!(next(2), (0, 0, 0));
            assert_eq!(next(7), (0, 0, 0));
        });
    }

    #[test]
    fn the_last_failed_pod_of_an_index_is_kept_until_there_is_another() {
        let pods = [
            indexed("a", "Failed", 0, 0),
            indexed("b", "Running", 0, 1),
            indexed("c", "Failed", 1, 0),
            indexed("d", "Failed", 2, 1),
            indexed("e", "Failed", 9, 0),
        ];
        let spec =
            json!({ "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1 });
        seeing(spec, json!({}), &pods, |seen| {
            let (tally, last) = (seen.tally(), last(seen));
            let kept = pods.iter().filter(|pod| is_kept(seen, &tally, &last, pod));
            assert_eq!(kept.map(Pod::uid).collect::<Vec<_>>(), ["c"]);
        });
    }
}
