use serde_json::{Value, json};

use super::*;
use crate::pod::tests::{indexed, pod};
use crate::seen::tests::seeing;
use crate::verdict::verdict;

/// The names of the pods that are deleted, the pods that are created, and when to look again.
fn planned(spec: Value, status: Value, pods: &[Pod]) -> (Vec<String>, Vec<NewPod>, Option<String>) {
    seeing(spec, status, pods, |seen| {
        let tally = seen.tally();
        let plan = plan(seen, &tally, &verdict(seen, &tally), &Config::default());
        (
            plan.delete.iter().map(|pod| pod.uid().to_owned()).collect(),
            plan.create,
            plan.wake.map(|wake| wake.to_string()),
        )
    })
}

fn live(names: &str) -> Vec<Pod> {
    let one = |name: char| pod(&name.to_string(), "Running", json!({}));
    names.chars().map(one).collect()
}

fn failed_at(name: &str, time: &str) -> Pod {
    let ended = json!([{ "state": { "terminated": { "exitCode": 1, "finishedAt": time } } }]);
    pod(
        name,
        "Failed",
        json!({ "status": { "containerStatuses": ended } }),
    )
}

#[test]
fn as_many_pods_run_as_are_wanted() {
    for (spec, status, pods, deleted, created) in [
        (json!({}), json!({}), "", 0, 1),
        (json!({ "parallelism": 3 }), json!({}), "a", 0, 2),
        (
            json!({ "parallelism": 3, "completions": 9 }),
            json!({ "succeeded": 7 }),
            "a",
            0,
            1,
        ),
        (
            json!({ "parallelism": 3, "completions": 9 }),
            json!({ "succeeded": 8 }),
            "ab",
            1,
            0,
        ),
        (
            json!({ "parallelism": 3, "completions": 9 }),
            json!({ "succeeded": 9 }),
            "ab",
            2,
            0,
        ),
        (json!({ "parallelism": 1 }), json!({}), "abc", 2, 0),
        // A work queue: when one has succeeded, no more are created, and the others go on.
        (
            json!({ "parallelism": 3 }),
            json!({ "succeeded": 1 }),
            "ab",
            0,
            0,
        ),
        (
            json!({ "parallelism": 1 }),
            json!({ "succeeded": 1 }),
            "ab",
            0,
            0,
        ),
        (json!({ "parallelism": 0 }), json!({}), "", 0, 0),
        (
            json!({ "parallelism": 3, "suspend": true }),
            json!({}),
            "ab",
            2,
            0,
        ),
    ] {
        let found = planned(spec.clone(), status.clone(), &live(pods));
        assert_eq!(
            (found.0.len(), found.1.len()),
            (deleted, created),
            "{spec} {status} {pods}"
        );
    }
}

#[test]
fn a_failed_pod_is_replaced_after_a_delay() {
    let spec = json!({ "parallelism": 1, "completions": 2 });
    for (pods, created, wake) in [
        (vec![failed_at("a", "2026-11-21T09:29:50Z")], 1, None),
        (
            vec![failed_at("a", "2026-11-21T09:29:51Z")],
            0,
            Some("2026-11-21T09:30:01Z"),
        ),
        (
            vec![
                failed_at("a", "2026-11-21T09:29:30Z"),
                failed_at("b", "2026-11-21T09:29:50Z"),
            ],
            0,
            Some("2026-11-21T09:30:10Z"),
        ),
    ] {
        let found = planned(spec.clone(), json!({}), &pods);
        assert_eq!(
            (found.1.len(), found.2.as_deref()),
            (created, wake),
            "{pods:?}"
        );
    }
}

#[test]
fn a_pod_that_is_being_deleted_holds_its_place_if_the_policy_says_so() {
    let deleted = json!({ "metadata": {
        "deletionTimestamp": "2026-11-21T09:00:00Z", "deletionGracePeriodSeconds": 0,
    } });
    let pods = [pod("a", "Running", deleted)];
    for (policy, created) in [("TerminatingOrFailed", 2), ("Failed", 1)] {
        let spec = json!({ "parallelism": 2, "podReplacementPolicy": policy });
        assert_eq!(planned(spec, json!({}), &pods).1.len(), created, "{policy}");
    }
}

#[test]
fn pods_get_the_first_indexes_that_are_free() {
    let spec = json!({ "parallelism": 3, "completions": 6, "completionMode": "Indexed" });
    let pods = [indexed("a", "Running", 2, 0)];
    let (deleted, created, _) = planned(spec, json!({ "completedIndexes": "0,3" }), &pods);
    let indexes: Vec<_> = created.iter().filter_map(|pod| pod.index).collect();
    assert_eq!((deleted.len(), indexes), (0, vec![1, 4]));
}

#[test]
fn pods_with_an_index_that_is_taken_or_out_of_range_are_deleted() {
    let spec = json!({ "parallelism": 3, "completions": 3, "completionMode": "Indexed" });
    let pods = [
        indexed("a", "Running", 0, 0),
        indexed("b", "Pending", 0, 0),
        indexed("c", "Running", 3, 0),
        pod("d", "Running", json!({})),
        indexed("e", "Running", 1, 0),
    ];
    let (mut deleted, created, _) = planned(spec, json!({}), &pods);
    deleted.sort();
    assert_eq!(deleted, ["b", "c", "d"]);
    assert_eq!(
        created
            .iter()
            .filter_map(|pod| pod.index)
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn each_index_waits_for_its_own_failures() {
    let spec = json!({
        "parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 3, "backoffLimit": 99,
    });
    // They failed when they were created: 30 minutes ago.
    let mut pods = vec![indexed("a", "Failed", 0, 1)];
    let late = json!({
        "metadata": { "annotations": { crate::pod::INDEX: "1", crate::pod::FAILURES: "1" } },
        "status": { "containerStatuses": [{ "state": { "terminated": { "finishedAt": "2026-11-21T09:29:55Z" } } }] },
    });
    pods.push(pod("b", "Failed", late));
    let (_, created, wake) = planned(spec, json!({}), &pods);
    let attempts = |failures| {
        Some(Attempts {
            failures,
            ignored: 0,
        })
    };
    let want = [(0, attempts(2)), (2, attempts(0))];
    let want = want.map(|(index, attempts)| NewPod {
        index: Some(index),
        attempts,
    });
    assert_eq!(created, want);
    assert_eq!(wake.as_deref(), Some("2026-11-21T09:30:15Z"));
}

#[test]
fn a_job_that_ends_keeps_no_pods() {
    let failing = json!({ "conditions": [{ "type": "FailureTarget", "status": "True" }] });
    let succeeding = json!({ "conditions": [{ "type": "SuccessCriteriaMet", "status": "True" }] });
    for (status, count) in [(failing, true), (succeeding, false)] {
        seeing(
            json!({ "parallelism": 5 }),
            status.clone(),
            &live("ab"),
            |seen| {
                let tally = seen.tally();
                let plan = plan(seen, &tally, &verdict(seen, &tally), &Config::default());
                let found = (plan.delete.len(), plan.create.len(), plan.deleted_count);
                assert_eq!(found, (2, 0, count), "{status}");
            },
        );
    }
}
