//! Which finished pods are counted in a pass, and the status before they lose the finalizer.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempts;
use crate::failure_policy::Action;
use crate::pod::Pod;
use crate::seen::{Seen, Tally};
use crate::status::{Cause, Status};
use crate::verdict::Verdict;

/// The first half of counting.
#[derive(Debug)]
pub(crate) struct Tracked<'a> {
    /// The status, with the UIDs of the finished pods.
    pub(crate) status: Status,
    /// These pods lose the finalizer.
    pub(crate) release: Vec<&'a Pod>,
    /// Whether more pods are left for another pass.
    pub(crate) is_cut: bool,
    /// The actions of the failure policy that led to this.
    pub(crate) actions: Vec<Action>,
    /// How many failed pods are new, with those that a policy ignores.
    pub(crate) failures: usize,
}

/// How a pod is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    Failure,
}

/// Counts at most `most` finished pods.
pub(crate) fn track<'a>(
    seen: &Seen<'a>,
    tally: &Tally,
    verdict: &Verdict,
    keeps_last: bool,
    most: usize,
) -> Tracked<'a> {
    let mut status = seen.status.clone();
    let before = status.clone();
    let (succeeded, failed) = before.uncounted();
    let known: BTreeSet<&str> = succeeded.iter().map(String::as_str).collect();
    let known_failed: BTreeSet<&str> = failed.iter().map(String::as_str).collect();
    let keeps_last = keeps_last && *verdict == Verdict::Running && seen.rules.index_limit.is_some();
    let last = if keeps_last {
        attempts::last(seen)
    } else {
        BTreeMap::new()
    };
    let mut uncounted = status.uncounted_terminated_pods.take().unwrap_or_default();
    let (mut release, mut actions, mut is_cut) = (Vec::new(), Vec::new(), false);
    let mut failures = 0;
    for pod in seen.pods.iter().filter(|pod| pod.is_tracked()) {
        let is_known_failed = known_failed.contains(pod.uid());
        let Some(end) = end(seen, verdict, is_known_failed, pod) else {
            continue;
        };
        if keeps_last && attempts::is_kept(seen, tally, &last, pod) {
            continue;
        }
        if release.len() >= most {
            is_cut = true;
            break;
        }
        release.push(pod);
        // An index is enough to count a success once.
        let is_new = match end {
            End::Success => !seen.rules.indexed && !known.contains(pod.uid()),
            End::Failure => seen.is_in_range(pod) && !is_known_failed,
        };
        if !is_new {
            continue;
        }
        failures += usize::from(end == End::Failure);
        let matched = seen.matched(pod).filter(|_| end == End::Failure);
        let action = matched.map(|found| found.action);
        actions.extend(action);
        match end {
            End::Success => uncounted.succeeded.push(pod.uid().to_owned()),
            End::Failure if action == Some(Action::Ignore) => {}
            End::Failure => uncounted.failed.push(pod.uid().to_owned()),
        }
    }
    status.uncounted_terminated_pods = Some(uncounted);
    if seen.rules.indexed {
        status.completed_indexes = tally.succeeded_indexes.to_string();
        status.succeeded = tally.succeeded;
    }
    let limits_indexes = seen.rules.index_limit.is_some();
    status.failed_indexes = limits_indexes.then(|| tally.failed_indexes.to_string());
    add_interim(seen, verdict, &mut status);
    Tracked {
        status,
        release,
        is_cut,
        actions,
        failures,
    }
}

/// Whether a status has to be written before a pod loses the finalizer: it knows of a pod or an index that the one before does
/// not know, or what becomes of the Job.
pub(crate) fn writes_first(before: &Status, after: &Status) -> bool {
    let fate = |status: &Status| {
        let fate = status
            .holds("FailureTarget")
            .or(status.holds("SuccessCriteriaMet"));
        fate.is_some()
    };
    before.uncounted() != after.uncounted()
        || before.completed_indexes != after.completed_indexes
        || before.failed_indexes.as_deref().unwrap_or_default()
            != after.failed_indexes.as_deref().unwrap_or_default()
        || fate(before) != fate(after)
}

/// How a pod with the finalizer is counted; None if it is not over.
fn end(seen: &Seen<'_>, verdict: &Verdict, is_known_failed: bool, pod: &Pod) -> Option<End> {
    // A pod of a Job that fails has no chance any more, although its containers may still run.
    let is_lost = matches!(verdict, Verdict::Failing(_)) && pod.is_terminating();
    if is_known_failed || is_lost || seen.has_failed(pod) {
        Some(End::Failure)
    } else {
        pod.has_succeeded().then_some(End::Success)
    }
}

/// Says what becomes of the Job, before its pods have ended.
fn add_interim(seen: &Seen<'_>, verdict: &Verdict, status: &mut Status) {
    let (kind, cause) = match verdict {
        Verdict::Running => return,
        Verdict::Failing(cause) => ("FailureTarget", cause),
        Verdict::Succeeding(cause) => ("SuccessCriteriaMet", cause),
    };
    let by_policy = ["PodFailurePolicy", "SuccessPolicy"].contains(&cause.reason.as_str());
    if seen.rules.ends_last || by_policy {
        status.set(kind, true, cause, seen.now);
    }
}

/// The last condition of a Job, if all its pods are counted and, depending on the rules, over.
pub(crate) fn ending(
    seen: &Seen<'_>,
    tally: &Tally,
    verdict: &Verdict,
) -> Option<(&'static str, Cause)> {
    let (succeeded, failed) = seen.status.uncounted();
    let is_tracked = seen.pods.iter().any(Pod::is_tracked);
    let is_counted = succeeded.is_empty() && failed.is_empty() && !is_tracked;
    let is_over = tally.active == 0 && (tally.terminating == 0 || !seen.rules.ends_last);
    match verdict {
        _ if !is_counted || !is_over => None,
        Verdict::Running => None,
        Verdict::Failing(cause) => Some(("Failed", cause.clone())),
        Verdict::Succeeding(cause) => Some(("Complete", cause.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::tests::{indexed, pod};
    use crate::seen::tests::seeing;
    use crate::verdict::verdict;

    /// The UIDs that are not counted yet, and of the pods that lose the finalizer; and whether the status is written first.
    fn tracked(spec: Value, status: Value, pods: &[Pod]) -> (String, String, String, bool) {
        seeing(spec, status, pods, |seen| {
            let tally = seen.tally();
            let tracked = track(seen, &tally, &verdict(seen, &tally), true, 3);
            let (succeeded, failed) = tracked.status.uncounted();
            let release = tracked.release.iter().map(|pod| pod.uid()).collect();
            let first = writes_first(seen.status, &tracked.status);
            (succeeded.concat(), failed.concat(), release, first)
        })
    }

    fn ended(names: &str, phase: &str) -> Vec<Pod> {
        let one = |name: char| pod(&name.to_string(), phase, json!({}));
        names.chars().map(one).collect()
    }

    #[test]
    fn finished_pods_are_noted_before_they_lose_the_finalizer() {
        let pods = [
            ended("a", "Running"),
            ended("b", "Succeeded"),
            ended("c", "Failed"),
        ]
        .concat();
        let spec = json!({ "completions": 9 });
        let noted = json!({ "uncountedTerminatedPods": { "succeeded": ["b"], "failed": ["c"] } });
        let text = |text: &str| text.to_owned();
        let want = |first| (text("b"), text("c"), text("bc"), first);
        assert_eq!(tracked(spec.clone(), json!({}), &pods), want(true));
        assert_eq!(tracked(spec, noted, &pods), want(false));
    }

    #[test]
    fn a_pod_that_was_noted_as_failed_stays_failed() {
        let noted = json!({ "uncountedTerminatedPods": { "failed": ["a"] } });
        let found = tracked(json!({ "completions": 9 }), noted, &ended("a", "Succeeded"));
        assert_eq!(
            found,
            (String::new(), "a".to_owned(), "a".to_owned(), false)
        );
    }

    #[test]
    fn a_pass_counts_some_pods_only() {
        let found = tracked(
            json!({ "completions": 9 }),
            json!({}),
            &ended("abcd", "Succeeded"),
        );
        assert_eq!((found.0.as_str(), found.2.as_str()), ("abc", "abc"));
    }

    #[test]
    fn indexes_need_no_uids() {
        let pods = [
            indexed("a", "Succeeded", 1, 0),
            indexed("b", "Succeeded", 7, 0),
            indexed("c", "Failed", 7, 0),
        ];
        let spec = json!({ "completions": 3, "completionMode": "Indexed" });
        seeing(spec, json!({}), &pods, |seen| {
            let tally = seen.tally();
            let tracked = track(seen, &tally, &Verdict::Running, true, 9);
            assert_eq!(tracked.status.completed_indexes, "1");
            assert_eq!(tracked.status.succeeded, 1);
            assert_eq!(tracked.status.failed_indexes, None);
            assert_eq!(tracked.status.uncounted(), (&[][..], &[][..]));
            assert_eq!(tracked.release.len(), 3);
            assert!(writes_first(seen.status, &tracked.status));
        });
    }

    #[test]
    fn pods_of_a_job_that_fails_count_as_failed_when_they_are_deleted() {
        let deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-21T09:10:00Z" } });
        let pods = [pod("a", "Running", deleted)];
        let spec = json!({ "podReplacementPolicy": "Failed" });
        let none = (String::new(), String::new(), String::new());
        let found = tracked(
            spec.clone(),
            json!({ "uncountedTerminatedPods": {} }),
            &pods,
        );
        assert_eq!((found.0, found.1, found.2), none);
        let failing = json!({ "conditions": [{ "type": "FailureTarget", "status": "True" }] });
        let found = tracked(spec, failing, &pods);
        assert_eq!((found.1.as_str(), found.2.as_str()), ("a", "a"));
    }

    #[test]
    fn the_last_attempt_at_an_index_keeps_the_finalizer_while_the_job_goes_on() {
        let pods = [indexed("a", "Failed", 0, 0)];
        let spec =
            json!({ "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 2 });
        assert_eq!(tracked(spec.clone(), json!({}), &pods).2, "");
        let failing = json!({ "conditions": [{ "type": "FailureTarget", "status": "True" }] });
        assert_eq!(tracked(spec, failing, &pods).2, "a");
    }

    #[test]
    fn ignored_failures_are_released_and_not_counted() {
        let policy =
            json!({ "rules": [{ "action": "Ignore", "onPodConditions": [{ "type": "X" }] }] });
        let held = json!({ "status": { "conditions": [{ "type": "X", "status": "True" }] } });
        let found = tracked(
            json!({ "podFailurePolicy": policy }),
            json!({}),
            &[pod("a", "Failed", held)],
        );
        assert_eq!((found.1.as_str(), found.2.as_str()), ("", "a"));
    }

    #[test]
    fn a_job_ends_when_its_pods_are_counted_and_over() {
        let cause = Cause::new("R", "");
        let failing = Verdict::Failing(cause.clone());
        let deleted = json!({ "metadata": { "deletionTimestamp": "2026-11-21T09:10:00Z", "finalizers": [] } });
        let terminating = pod("a", "Running", deleted);
        for (status, pods, verdict, want) in [
            (json!({}), vec![], &failing, Some("Failed")),
            (
                json!({}),
                vec![],
                &Verdict::Succeeding(cause),
                Some("Complete"),
            ),
            (json!({}), vec![], &Verdict::Running, None),
            (json!({}), ended("a", "Running"), &failing, None),
            (json!({}), vec![terminating], &failing, None),
            (
                json!({ "uncountedTerminatedPods": { "failed": ["x"] } }),
                vec![],
                &failing,
                None,
            ),
        ] {
            let found = seeing(json!({}), status, &pods, |seen| {
                ending(seen, &seen.tally(), verdict)
            });
            assert_eq!(found.map(|(kind, _)| kind), want);
        }
    }
}
