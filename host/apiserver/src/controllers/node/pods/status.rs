//! What a pod's status says at each step of its life on the simulated node.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{gates_are_open, is_of_job};
use crate::controllers::node::machine;
use crate::json::{list_at, text, text_at};
use crate::{conditions, meta};

/// The address of a pod.
#[derive(Clone, Debug)]
pub struct Address(pub String);

/// A pod that the node has accepted, and that does not run yet.
pub fn admitted(mut pod: Value, now: Timestamp) -> Value {
    let waiting = "PodInitializing";
    let reason = if list_at(&pod, "/spec/initContainers").is_empty() {
        "ContainerCreating"
    } else {
        waiting
    };
    let waits = |container: &Value, reason: &str| {
        json!({
            "name": text(container, "name"),
            "image": text(container, "image"),
            "imageID": "",
            "lastState": {},
            "ready": false,
            "restartCount": 0,
            "started": false,
            "state": { "waiting": { "reason": reason } },
        })
    };
    let (main, init) = statuses(
        &pod,
        |container| waits(container, reason),
        |container| waits(container, waiting),
    );
    let initialized = init.is_empty();
    put(&mut pod, "phase", "Pending".into());
    put(&mut pod, "startTime", meta::time(now).into());
    let host = machine::address(super::node(&pod));
    put(&mut pod, "hostIPs", json!([{ "ip": host }]));
    put(&mut pod, "hostIP", host.into());
    put_containers(&mut pod, main, init);
    condition(&mut pod, "PodReadyToStartContainers", Ok(false), now);
    let names = names(&pod, "/spec/initContainers");
    let why = format!("containers with incomplete status: [{names}]");
    let why = ("ContainersNotInitialized", why);
    condition(
        &mut pod,
        "Initialized",
        if initialized { Ok(true) } else { Err(why) },
        now,
    );
    let names = self::names(&pod, "/spec/containers");
    let why = (
        "ContainersNotReady",
        format!("containers with unready status: [{names}]"),
    );
    condition(&mut pod, "Ready", Err(why.clone()), now);
    condition(&mut pod, "ContainersReady", Err(why), now);
    condition(&mut pod, "PodScheduled", Ok(true), now);
    observed(pod)
}

/// A pod that runs.
pub fn running(
    mut pod: Value,
    address: &Address,
    number: impl Fn() -> u64,
    now: Timestamp,
) -> Value {
    let digest = || {
        (0..4)
            .map(|_| format!("{:016x}", number()))
            .collect::<String>()
    };
    let started = meta::time(now);
    let common = |container: &Value, state: Value| {
        let image = text(container, "image");
        json!({
            "name": text(container, "name"),
            "image": image,
            "imageID": format!("{image}@sha256:{}", digest()),
            "containerID": format!("windlass://{}", digest()),
            "lastState": {},
            "ready": true,
            "restartCount": 0,
            "started": true,
            "state": state,
        })
    };
    let runs =
        |container: &Value| common(container, json!({ "running": { "startedAt": started } }));
    let (main, init) = statuses(&pod, runs, |container| {
        if text(container, "restartPolicy") == "Always" {
            return runs(container);
        }
        let mut status = common(container, Value::Null);
        let ended = ended(text(&status, "containerID"), &started, &started);
        meta::put(&mut status, "state", ended);
        meta::put(&mut status, "started", false);
        status
    });
    put(&mut pod, "phase", "Running".into());
    put(&mut pod, "podIP", address.0.as_str().into());
    put(&mut pod, "podIPs", json!([{ "ip": address.0 }]));
    put_containers(&mut pod, main, init);
    for kind in [
        "PodReadyToStartContainers",
        "Initialized",
        "ContainersReady",
    ] {
        condition(&mut pod, kind, Ok(true), now);
    }
    refreshed(pod, now)
}

/// A running pod whose status says what it should.
pub fn refreshed(mut pod: Value, now: Timestamp) -> Value {
    let closed = (
        "ReadinessGatesNotReady",
        "corresponding condition of pod readiness gate is not \"True\"",
    );
    let ready = if gates_are_open(&pod) {
        Ok(true)
    } else {
        Err((closed.0, closed.1.to_owned()))
    };
    condition(&mut pod, "Ready", ready, now);
    observed(pod)
}

/// A pod of whose node nobody hears.
pub fn lost(mut pod: Value, now: Timestamp) -> Value {
    condition(&mut pod, "Ready", Err(("NodeNotReady", String::new())), now);
    pod
}

/// A pod whose containers have ended because it is deleted, or because their work is done.
pub fn stopped(mut pod: Value, now: Timestamp) -> Value {
    let now_text = meta::time(now);
    let held = list_at(&pod, "/status/containerStatuses").iter();
    let main = held.map(|status| {
        let mut status = status.clone();
        let started = text_at(&status, "/state/running/startedAt");
        let started = if started.is_empty() {
            &now_text
        } else {
            started
        };
        let ended = ended(text(&status, "containerID"), started, &now_text);
        meta::put(&mut status, "state", ended);
        meta::put(&mut status, "ready", false);
        meta::put(&mut status, "started", false);
        status
    });
    let main: Vec<Value> = main.collect();
    put(&mut pod, "phase", "Succeeded".into());
    put(&mut pod, "containerStatuses", Value::Array(main));
    condition(&mut pod, "PodReadyToStartContainers", Ok(false), now);
    for kind in ["Ready", "ContainersReady"] {
        condition(&mut pod, kind, Err(("PodCompleted", String::new())), now);
    }
    observed(pod)
}

/// A pod that is deleted. If its containers never ran, it has failed (kubernetes `pkg/kubelet/status/status_manager.go`:
/// `TerminatePod`), also if it waits for an image. A server that runs ends well; the work of a Job is cut off by the signal,
/// and has failed.
pub fn deleted(pod: Value, now: Timestamp) -> Value {
    if text_at(&pod, "/status/phase") == "Running" {
        return match is_of_job(&pod) {
            true => ended_with(143, pod, now),
            false => stopped(pod, now),
        };
    }
    let mut pod = ended_with(137, pod, now);
    let held = list_at(&pod, "/status/containerStatuses").iter();
    let lost = held.map(|status| {
        let mut status = status.clone();
        if let Some(ended) = status.pointer_mut("/state/terminated") {
            *ended = json!({
                "exitCode": 137, "reason": "ContainerStatusUnknown",
                "message": "The container could not be located when the pod was terminated",
                "startedAt": null, "finishedAt": null,
            });
        }
        status
    });
    let lost: Vec<Value> = lost.collect();
    put(&mut pod, "containerStatuses", Value::Array(lost));
    pod
}

/// A pod whose containers were stopped because it was active for longer than it may be (kubernetes
/// `pkg/kubelet/active_deadline.go`).
pub fn expired(pod: Value, now: Timestamp) -> Value {
    let mut pod = ended_with(137, pod, now);
    put(&mut pod, "reason", "DeadlineExceeded".into());
    let why = "Pod was active on the node longer than the specified deadline";
    put(&mut pod, "message", why.into());
    pod
}

/// A pod whose containers have failed.
pub fn failed(pod: Value, now: Timestamp) -> Value {
    ended_with(1, pod, now)
}

/// A pod whose containers have ended with an exit code other than 0.
fn ended_with(code: u8, pod: Value, now: Timestamp) -> Value {
    let mut pod = stopped(pod, now);
    put(&mut pod, "phase", "Failed".into());
    let held = list_at(&pod, "/status/containerStatuses").iter();
    let main = held.map(|status| {
        let mut status = status.clone();
        if let Some(ended) = status.pointer_mut("/state/terminated") {
            meta::put(ended, "exitCode", code);
            meta::put(ended, "reason", "Error");
        }
        status
    });
    let main: Vec<Value> = main.collect();
    put(&mut pod, "containerStatuses", Value::Array(main));
    for kind in ["Ready", "ContainersReady"] {
        condition(&mut pod, kind, Err(("PodFailed", String::new())), now);
    }
    pod
}

fn ended(container: &str, started: &str, finished: &str) -> Value {
    json!({ "terminated": {
        "containerID": container,
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": started,
        "finishedAt": finished,
    } })
}

/// The statuses of a pod's containers, in the order of their names, and of its init containers.
fn statuses(
    pod: &Value,
    main: impl Fn(&Value) -> Value,
    init: impl Fn(&Value) -> Value,
) -> (Vec<Value>, Vec<Value>) {
    let mut main: Vec<Value> = list_at(pod, "/spec/containers").iter().map(main).collect();
    main.sort_by_key(|status| text(status, "name").to_owned());
    let init = list_at(pod, "/spec/initContainers").iter().map(init);
    (main, init.collect())
}

fn put_containers(pod: &mut Value, main: Vec<Value>, init: Vec<Value>) {
    put(pod, "containerStatuses", Value::Array(main));
    if !init.is_empty() {
        put(pod, "initContainerStatuses", Value::Array(init));
    }
}

fn names(pod: &Value, at: &str) -> String {
    let names: Vec<&str> = list_at(pod, at)
        .iter()
        .map(|container| text(container, "name"))
        .collect();
    names.join(" ")
}

fn put(pod: &mut Value, field: &str, value: Value) {
    meta::set_in(pod, "status", field, Some(value));
}

fn observed(mut pod: Value) -> Value {
    if let Some(generation) = meta::number(&pod, "generation") {
        put(&mut pod, "observedGeneration", generation.into());
    }
    pod
}

/// Sets a condition of a pod: whether it holds, or why it does not.
fn condition(pod: &mut Value, kind: &str, holds: Result<bool, (&str, String)>, now: Timestamp) {
    let status = if holds == Ok(true) { "True" } else { "False" };
    let mut condition = json!({
        "type": kind,
        "status": status,
        "lastProbeTime": null,
        "lastTransitionTime": meta::time(now),
    });
    if let Some(generation) = meta::number(pod, "generation") {
        meta::put(&mut condition, "observedGeneration", generation);
    }
    if let Err((reason, message)) = holds {
        meta::put(&mut condition, "reason", reason);
        if !message.is_empty() {
            meta::put(&mut condition, "message", message);
        }
    }
    conditions::put(pod, condition);
}

#[cfg(test)]
mod tests {
    use super::super::super::NAME;
    use super::super::tests::pod;
    use super::super::{PodStep, next};
    use super::*;

    #[test]
    fn a_pod_is_accepted_then_runs_then_ends() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let accepted = admitted(pod(NAME, "Pending", None), now);
        assert_eq!(next(&accepted), PodStep::Start);
        assert!(!conditions::is_true(&accepted, "Ready"));
        let runs = running(accepted, &Address("10.244.0.1".to_owned()), || 7, now);
        assert_eq!(next(&runs), PodStep::Leave);
        assert!(conditions::is_true(&runs, "Ready"));
        let names: Vec<&str> = list_at(&runs, "/status/containerStatuses")
            .iter()
            .map(|held| text(held, "name"))
            .collect();
        assert_eq!(names, ["a", "b"]);
        let late = expired(runs.clone(), now);
        assert_eq!(text_at(&late, "/status/phase"), "Failed");
        assert_eq!(text_at(&late, "/status/reason"), "DeadlineExceeded");
        let ended = "/status/containerStatuses/0/state/terminated/exitCode";
        assert_eq!(late.pointer(ended), Some(&json!(137)));
        for ends in [stopped(runs.clone(), now), deleted(runs, now)] {
            assert_eq!(text_at(&ends, "/status/phase"), "Succeeded");
            assert!(!conditions::is_true(&ends, "Ready"));
        }
    }

    #[test]
    fn a_pod_that_is_deleted_before_its_containers_run_has_failed() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let pending = pod(NAME, "Pending", None);
        for pod in [pending.clone(), admitted(pending, now)] {
            let ends = deleted(pod, now);
            assert_eq!(text_at(&ends, "/status/phase"), "Failed");
            for status in list_at(&ends, "/status/containerStatuses") {
                let ended = status.pointer("/state/terminated").unwrap();
                assert_eq!(ended["exitCode"], 137);
                assert_eq!(ended["reason"], "ContainerStatusUnknown");
            }
        }
    }

    #[test]
    fn the_work_of_a_job_that_is_deleted_before_its_end_has_failed() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let rows = [
            ("Job", "Never", ("Failed", 143)),
            ("Job", "OnFailure", ("Failed", 143)),
            ("ReplicaSet", "Always", ("Succeeded", 0)),
        ];
        for (kind, policy, (phase, code)) in rows {
            let mut pod = pod(NAME, "Pending", None);
            pod["metadata"]["ownerReferences"] =
                json!([{ "apiVersion": "batch/v1", "kind": kind, "controller": true }]);
            pod["spec"]["restartPolicy"] = policy.into();
            let mut evicted = running(pod, &Address("10.244.0.1".to_owned()), || 7, now);
            condition(&mut evicted, "DisruptionTarget", Ok(true), now);
            let ended = deleted(evicted, now);
            assert!(conditions::is_true(&ended, "DisruptionTarget"));
            assert_eq!(text_at(&ended, "/status/phase"), phase);
            let at = "/status/containerStatuses/0/state/terminated/exitCode";
            assert_eq!(ended.pointer(at), Some(&json!(code)), "{kind} {policy}");
        }
    }

    #[test]
    fn a_readiness_gate_has_its_say() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let mut gated = pod(NAME, "Pending", None);
        meta::set_in(
            &mut gated,
            "spec",
            "readinessGates",
            Some(json!([{ "conditionType": "example.com/lb" }])),
        );
        let runs = running(
            admitted(gated, now),
            &Address("10.244.0.1".to_owned()),
            || 7,
            now,
        );
        assert_eq!(next(&runs), PodStep::Leave);
        assert!(!conditions::is_true(&runs, "Ready"));
        let mut open = runs;
        conditions::put(
            &mut open,
            json!({ "type": "example.com/lb", "status": "True" }),
        );
        assert_eq!(next(&open), PodStep::Refresh);
        assert!(conditions::is_true(&refreshed(open, now), "Ready"));
    }
}
