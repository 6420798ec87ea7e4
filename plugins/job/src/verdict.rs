//! Whether a Job goes on, fails or succeeds.

use jiff::{SignedDuration, Timestamp};

use crate::failure_policy::Action;
use crate::seen::{Seen, Tally};
use crate::status::Cause;

/// What becomes of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Running,
    /// It has failed, and its pods end.
    Failing(Cause),
    /// It has succeeded, and its pods end.
    Succeeding(Cause),
}

/// The verdict, before anything is created or deleted. One that was given before stays.
pub(crate) fn verdict(seen: &Seen<'_>, tally: &Tally) -> Verdict {
    let given = |kind| {
        let condition = seen.status.holds(kind)?;
        Some(Cause::new(&condition.reason, condition.message.clone()))
    };
    if let Some(cause) = given("FailureTarget") {
        return Verdict::Failing(cause);
    }
    if let Some(cause) = given("SuccessCriteriaMet") {
        return Verdict::Succeeding(cause);
    }
    if let Some(cause) = failure(seen, tally) {
        return Verdict::Failing(cause);
    }
    match early_success(seen, tally) {
        Some(cause) => Verdict::Succeeding(cause),
        None => Verdict::Running,
    }
}

/// The first reason for which a Job fails.
fn failure(seen: &Seen<'_>, tally: &Tally) -> Option<Cause> {
    failed_by_policy(seen)
        .or_else(|| too_many_failures(seen, tally))
        .or_else(|| too_late(seen))
        .or_else(|| failed_by_indexes(seen, tally))
}

fn failed_by_policy(seen: &Seen<'_>) -> Option<Cause> {
    let failed = seen.pods.iter().filter(|pod| seen.has_failed(pod));
    let mut matches = failed.filter_map(|pod| seen.matched(pod));
    let found = matches.find(|found| found.action == Action::FailJob)?;
    Some(Cause::new("PodFailurePolicy", found.message))
}

fn too_many_failures(seen: &Seen<'_>, tally: &Tally) -> Option<Cause> {
    let limit = seen.rules.backoff_limit;
    let is_over = tally.failed > limit || (seen.rules.restarts && too_many_restarts(seen, limit));
    is_over.then(|| {
        let message = "Job has reached the specified backoff limit";
        Cause::new("BackoffLimitExceeded", message)
    })
}

/// Whether containers that start again have done so too often.
fn too_many_restarts(seen: &Seen<'_>, limit: usize) -> bool {
    let live = seen
        .pods
        .iter()
        .filter(|pod| ["Pending", "Running"].contains(&pod.kit.phase()));
    let restarts: i64 = live.map(|pod| pod.restarts()).sum();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    restarts > 0 && restarts >= limit
}

fn too_late(seen: &Seen<'_>) -> Option<Cause> {
    (deadline(seen)? <= seen.now).then(|| {
        let message = "Job was active longer than specified deadline";
        Cause::new("DeadlineExceeded", message)
    })
}

/// Until when the Job may run. It does not run while it is suspended.
pub(crate) fn deadline(seen: &Seen<'_>) -> Option<Timestamp> {
    let seconds = seen.rules.deadline.filter(|_| !seen.rules.suspended)?;
    let start = seen.status.start_time?;
    start.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn failed_by_indexes(seen: &Seen<'_>, tally: &Tally) -> Option<Cause> {
    seen.rules.index_limit?;
    let failed = tally.failed_indexes.len();
    if seen
        .rules
        .max_failed_indexes
        .is_some_and(|most| failed > most)
    {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Cause::new("MaxFailedIndexesExceeded", message));
    }
    let is_all = failed + tally.succeeded >= seen.rules.index_end();
    (failed > 0 && is_all).then(|| Cause::new("FailedIndexes", "Job has failed indexes"))
}

fn early_success(seen: &Seen<'_>, tally: &Tally) -> Option<Cause> {
    let policy = seen.rules.success_policy?;
    let rule = policy.fulfilled(&tally.succeeded_indexes, seen.rules.index_end())?;
    Some(Cause::new(
        "SuccessPolicy",
        format!("Matched rules at index {rule}"),
    ))
}

/// Whether all that is to be done is done, and no pod is active.
pub(crate) fn completion(seen: &Seen<'_>, tally: &Tally) -> Option<Cause> {
    let is_done = match seen.rules.completions {
        Some(wanted) => tally.succeeded >= wanted,
        None => tally.succeeded > 0,
    };
    let cause = if seen.rules.names_success {
        Cause::new(
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        )
    } else {
        Cause::new("", "")
    };
    (is_done && tally.active == 0).then_some(cause)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::Pod;
    use crate::pod::tests::{indexed, pod};
    use crate::seen::tests::seeing;

    /// How a Job is judged: a word and a reason.
    fn judged(spec: Value, status: Value, pods: &[Pod]) -> String {
        let found = seeing(spec, status, pods, |seen| verdict(seen, &seen.tally()));
        match found {
            Verdict::Running => "running".to_owned(),
            Verdict::Failing(cause) => format!("failing {}", cause.reason),
            Verdict::Succeeding(cause) => format!("succeeding {}", cause.reason),
        }
    }

    #[test]
    fn too_many_failures_fail_a_job() {
        let failed = [pod("a", "Failed", json!({})), pod("b", "Failed", json!({}))];
        for (limit, counted, want) in [
            (2, 0, "running"),
            (2, 1, "failing BackoffLimitExceeded"),
            (1, 0, "failing BackoffLimitExceeded"),
        ] {
            let status = json!({ "failed": counted });
            let found = judged(json!({ "backoffLimit": limit }), status, &failed);
            assert_eq!(found, want, "{limit} {counted}");
        }
    }

    #[test]
    fn restarts_count_for_pods_that_restart() {
        let with = |restarts: i64| {
            let containers = json!([{ "restartCount": restarts }]);
            [pod(
                "a",
                "Running",
                json!({ "status": { "containerStatuses": containers } }),
            )]
        };
        for (policy, limit, restarts, want) in [
            ("OnFailure", 0, 0, "running"),
            ("OnFailure", 0, 1, "failing BackoffLimitExceeded"),
            ("OnFailure", 2, 1, "running"),
            ("OnFailure", 2, 2, "failing BackoffLimitExceeded"),
            ("Never", 2, 2, "running"),
        ] {
            let spec = json!({ "backoffLimit": limit, "template": { "spec": { "restartPolicy": policy } } });
            assert_eq!(
                judged(spec, json!({}), &with(restarts)),
                want,
                "{policy} {limit} {restarts}"
            );
        }
    }

    #[test]
    fn a_deadline_counts_from_the_start() {
        let status = json!({ "startTime": "2026-11-21T09:29:00Z" });
        for (spec, want) in [
            (json!({ "activeDeadlineSeconds": 61 }), "running"),
            (
                json!({ "activeDeadlineSeconds": 60 }),
                "failing DeadlineExceeded",
            ),
            (
                json!({ "activeDeadlineSeconds": 60, "suspend": true }),
                "running",
            ),
        ] {
            assert_eq!(judged(spec.clone(), status.clone(), &[]), want, "{spec}");
        }
    }

    #[test]
    fn failed_indexes_fail_a_job_at_the_end_or_when_they_are_too_many() {
        for (completed, failed, most, want) in [
            ("", "", json!(null), "running"),
            ("0,1", "2", json!(null), "running"),
            ("0,1", "2,3", json!(null), "failing FailedIndexes"),
            ("0-3", "", json!(null), "running"),
            ("", "0", json!(0), "failing MaxFailedIndexesExceeded"),
            ("", "0", json!(1), "running"),
        ] {
            let spec = json!({
                "completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 1, "maxFailedIndexes": most,
            });
            let status = json!({ "completedIndexes": completed, "failedIndexes": failed });
            assert_eq!(
                judged(spec, status, &[]),
                want,
                "{completed:?} {failed:?} {most}"
            );
        }
    }

    #[test]
    fn a_policy_ends_a_job_early() {
        let fails =
            json!({ "rules": [{ "action": "FailJob", "onPodConditions": [{ "type": "X" }] }] });
        let held = json!({ "status": { "conditions": [{ "type": "X", "status": "True" }] } });
        let found = judged(
            json!({ "podFailurePolicy": fails }),
            json!({}),
            &[pod("a", "Failed", held)],
        );
        assert_eq!(found, "failing PodFailurePolicy");
        let spec = json!({
            "completionMode": "Indexed", "completions": 3, "successPolicy": { "rules": [{ "succeededIndexes": "1" }] },
        });
        let found = judged(spec.clone(), json!({}), &[indexed("a", "Succeeded", 1, 0)]);
        assert_eq!(found, "succeeding SuccessPolicy");
        assert_eq!(
            judged(spec, json!({}), &[indexed("a", "Succeeded", 2, 0)]),
            "running"
        );
    }

    #[test]
    fn a_verdict_stays() {
        for (kind, want) in [
            ("FailureTarget", "failing R"),
            ("SuccessCriteriaMet", "succeeding R"),
        ] {
            let status =
                json!({ "conditions": [{ "type": kind, "status": "True", "reason": "R" }] });
            assert_eq!(judged(json!({}), status, &[]), want);
        }
    }

    #[test]
    fn a_job_is_complete_without_active_pods_only() {
        let is_complete = |spec: Value, pods: &[Pod]| {
            seeing(spec, json!({}), pods, |seen| {
                completion(seen, &seen.tally()).is_some()
            })
        };
        let [done, live] = [
            pod("a", "Succeeded", json!({})),
            pod("b", "Running", json!({})),
        ];
        assert!(is_complete(json!({ "completions": 0 }), &[]));
        assert!(is_complete(
            json!({ "completions": 1 }),
            std::slice::from_ref(&done)
        ));
        assert!(!is_complete(
            json!({ "completions": 2 }),
            std::slice::from_ref(&done)
        ));
        assert!(is_complete(json!({}), std::slice::from_ref(&done)));
        assert!(!is_complete(json!({}), &[done, live]));
        assert!(!is_complete(json!({}), &[]));
    }
}
