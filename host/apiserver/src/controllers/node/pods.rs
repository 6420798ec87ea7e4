//! The life of a pod on the simulated node: what is next.

pub(super) mod status;

use std::time::Duration;

use serde_json::Value;

use super::NAME;
use crate::write::{conditions, meta};

/// What a pod needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Nothing.
    Leave,
    /// To be put on the node.
    Bind,
    /// To be accepted there.
    Admit,
    /// To run.
    Start,
    /// To have its status brought up to date.
    Refresh,
    /// To end.
    Stop,
    /// To go.
    Remove,
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object
        .pointer(at)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list<'a>(object: &'a Value, at: &str) -> &'a [Value] {
    object
        .pointer(at)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// What a pod needs next.
pub(super) fn next(pod: &Value) -> Step {
    let phase = text(pod, "/status/phase");
    let ended = matches!(phase, "Succeeded" | "Failed");
    match text(pod, "/spec/nodeName") {
        "" => {
            let other = !matches!(text(pod, "/spec/schedulerName"), "" | "default-scheduler");
            let held = !list(pod, "/spec/schedulingGates").is_empty();
            let elsewhere = pod
                .pointer("/spec/nodeSelector")
                .is_some_and(|wanted| !suits(wanted));
            if meta::is_deleting(pod) || other || held || elsewhere || ended {
                Step::Leave
            } else {
                Step::Bind
            }
        }
        NAME => {
            if meta::is_deleting(pod) {
                let grace = meta::number(pod, "deletionGracePeriodSeconds").unwrap_or(0);
                return match (grace > 0, ended) {
                    (false, _) => Step::Leave,
                    (true, true) => Step::Remove,
                    (true, false) => Step::Stop,
                };
            }
            if ended {
                return Step::Leave;
            }
            match phase {
                "Running" if is_current(pod) => Step::Leave,
                "Running" => Step::Refresh,
                _ if text(pod, "/status/startTime").is_empty() => Step::Admit,
                _ => Step::Start,
            }
        }
        _ => Step::Leave,
    }
}

/// Whether the node has all labels of a node selector.
fn suits(selector: &Value) -> bool {
    let labels = [
        ("kubernetes.io/hostname", NAME),
        ("kubernetes.io/os", "linux"),
    ];
    let wanted = selector.as_object().into_iter().flatten();
    wanted.into_iter().all(|(name, value)| {
        let arch = name == "kubernetes.io/arch";
        arch || labels
            .iter()
            .any(|(held, label)| held == name && value.as_str() == Some(label))
    })
}

/// How long a step takes; nothing if it is taken at once.
pub(super) fn delay(step: Step, pod: &Value, delay: Duration) -> Option<Duration> {
    match step {
        Step::Start => Some(delay),
        Step::Stop => {
            let grace = meta::number(pod, "deletionGracePeriodSeconds").unwrap_or(0);
            Some(delay.min(Duration::from_secs(grace.unsigned_abs())))
        }
        Step::Leave | Step::Bind | Step::Admit | Step::Refresh | Step::Remove => None,
    }
}

/// Whether a running pod's status says all that it should.
fn is_current(pod: &Value) -> bool {
    let generation = meta::number(pod, "generation");
    let observed = pod
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64);
    generation.is_none_or(|generation| observed == Some(generation))
        && conditions::is_true(pod, "Ready") == gates_are_open(pod)
}

/// Whether everything says that the pod is ready that has a say in it.
fn gates_are_open(pod: &Value) -> bool {
    let gates = list(pod, "/spec/readinessGates");
    gates
        .iter()
        .all(|gate| conditions::is_true(pod, text(gate, "/conditionType")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) fn pod(node: &str, phase: &str, deleting: Option<i64>) -> Value {
        let mut pod = json!({
            "metadata": { "name": "a", "generation": 1 },
            "spec": {
                "nodeName": node,
                "containers": [{ "name": "b", "image": "i" }, { "name": "a", "image": "i" }],
            },
            "status": { "phase": phase },
        });
        if let Some(grace) = deleting {
            meta::set(
                &mut pod,
                "deletionTimestamp",
                Some("2026-11-21T09:30:00Z".into()),
            );
            meta::set(&mut pod, "deletionGracePeriodSeconds", Some(grace.into()));
        }
        pod
    }

    #[test]
    fn state_decides_what_a_pod_needs_next() {
        let cases = [
            (pod("", "Pending", None), Step::Bind),
            (pod("", "Pending", Some(0)), Step::Leave),
            (pod("other", "Pending", None), Step::Leave),
            (pod(NAME, "Pending", None), Step::Admit),
            (pod(NAME, "Running", None), Step::Refresh),
            (pod(NAME, "Succeeded", None), Step::Leave),
            (pod(NAME, "Running", Some(30)), Step::Stop),
            (pod(NAME, "Succeeded", Some(30)), Step::Remove),
            (pod(NAME, "Running", Some(0)), Step::Leave),
        ];
        for (pod, want) in cases {
            assert_eq!(next(&pod), want, "{pod}");
        }
        let held = |field: &str, value: Value| {
            let mut pod = pod("", "Pending", None);
            meta::set_in(&mut pod, "spec", field, Some(value));
            next(&pod)
        };
        assert_eq!(
            held("schedulingGates", json!([{ "name": "x" }])),
            Step::Leave
        );
        assert_eq!(held("schedulerName", json!("mine")), Step::Leave);
        assert_eq!(held("nodeSelector", json!({ "disk": "ssd" })), Step::Leave);
        assert_eq!(
            held("nodeSelector", json!({ "kubernetes.io/os": "linux" })),
            Step::Bind
        );
    }
}
