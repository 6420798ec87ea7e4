//! The life of a pod on the simulated node: what is next.

pub mod status;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{machine, number_of};
use crate::json::{list_at, text, text_at};
use crate::options::Options;
use crate::{conditions, meta};

/// What a pod needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodStep {
    /// Nothing.
    Leave,
    /// To be put on a node.
    Schedule,
    /// To be accepted there.
    Admit,
    /// To run.
    Start,
    /// To have its status brought up to date.
    Refresh,
    /// To end, because its work is done.
    Finish,
    /// To end, because its work fails.
    Fail,
    /// To end, because it has been active for too long.
    Expire,
    /// To end, because it is deleted.
    Stop,
    /// To go.
    Remove,
}

/// What a pod needs next.
pub fn next(pod: &Value) -> PodStep {
    let phase = text_at(pod, "/status/phase");
    let ended = matches!(phase, "Succeeded" | "Failed");
    match node(pod) {
        "" => {
            let other = !matches!(
                text_at(pod, "/spec/schedulerName"),
                "" | "default-scheduler"
            );
            let held = !list_at(pod, "/spec/schedulingGates").is_empty();
            if meta::is_deleting(pod) || other || held || ended {
                PodStep::Leave
            } else {
                PodStep::Schedule
            }
        }
        node if number_of(node).is_some() => {
            if meta::is_deleting(pod) {
                let grace = meta::number(pod, "deletionGracePeriodSeconds").unwrap_or(0);
                return match (grace > 0, ended) {
                    (false, _) => PodStep::Leave,
                    (true, true) => PodStep::Remove,
                    (true, false) => PodStep::Stop,
                };
            }
            if ended {
                return PodStep::Leave;
            }
            match phase {
                "Running" if is_current(pod) => PodStep::Leave,
                "Running" => PodStep::Refresh,
                _ if text_at(pod, "/status/startTime").is_empty() => PodStep::Admit,
                _ if text_at(pod, machine::SIMULATE) == "stuck" => PodStep::Leave,
                _ => PodStep::Start,
            }
        }
        _ => PodStep::Leave,
    }
}

/// The node of a pod; empty before it has one.
pub fn node(pod: &Value) -> &str {
    text_at(pod, "/spec/nodeName")
}

/// Whether a pod's containers have ended for good.
pub fn has_ended(pod: &Value) -> bool {
    matches!(text_at(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// What a pod needs next, and how long that takes; nothing if it is done at once.
pub fn timed(pod: &Value, options: &Options, now: Timestamp) -> (PodStep, Option<Duration>) {
    match next(pod) {
        PodStep::Start => (PodStep::Start, Some(options.pod_delay)),
        PodStep::Stop => {
            let grace = meta::number(pod, "deletionGracePeriodSeconds").unwrap_or(0);
            let grace = Duration::from_secs(grace.unsigned_abs());
            (PodStep::Stop, Some(options.pod_delay.min(grace)))
        }
        PodStep::Leave => match end(pod, options) {
            Some(PodStep::Expire) => (PodStep::Expire, Some(remaining(pod, now))),
            Some(end) => (end, Some(options.job_duration)),
            None => (PodStep::Leave, None),
        },
        other => (other, None),
    }
}

/// How a running pod that nobody deletes comes to its end: those of Jobs when their work is done, and any that
/// has a deadline when that has passed, whatever comes first.
fn end(pod: &Value, options: &Options) -> Option<PodStep> {
    let runs = number_of(node(pod)).is_some() && text_at(pod, "/status/phase") == "Running";
    if !runs || meta::is_deleting(pod) {
        return None;
    }
    let deadline = deadline(pod);
    let works = is_of_job(pod).then_some(options.pod_delay + options.job_duration);
    match (works, deadline) {
        (Some(works), Some(deadline)) if deadline < works => Some(PodStep::Expire),
        (Some(_), _) if text_at(pod, machine::SIMULATE) == "fail" => Some(PodStep::Fail),
        (Some(_), _) => Some(PodStep::Finish),
        (None, Some(_)) => Some(PodStep::Expire),
        (None, None) => None,
    }
}

fn deadline(pod: &Value) -> Option<Duration> {
    let seconds = pod.pointer("/spec/activeDeadlineSeconds")?.as_i64()?;
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

/// How long a pod may still be active.
fn remaining(pod: &Value, now: Timestamp) -> Duration {
    let started: Option<Timestamp> = text_at(pod, "/status/startTime").parse().ok();
    let active = started.map(|started| now.duration_since(started));
    let active = active.and_then(|active| Duration::try_from(active).ok());
    let deadline = deadline(pod).unwrap_or_default();
    deadline.saturating_sub(active.unwrap_or_default())
}

fn is_of_job(pod: &Value) -> bool {
    let owners = list_at(pod, "/metadata/ownerReferences").iter();
    let mut controllers =
        owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let ends = matches!(text_at(pod, "/spec/restartPolicy"), "Never" | "OnFailure");
    ends && controllers.any(|owner| {
        text(owner, "kind") == "Job" && text(owner, "apiVersion").starts_with("batch/")
    })
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
    let gates = list_at(pod, "/spec/readinessGates");
    gates
        .iter()
        .all(|gate| conditions::is_true(pod, text(gate, "conditionType")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::NAME;
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
            (pod("", "Pending", None), PodStep::Schedule),
            (pod("", "Pending", Some(0)), PodStep::Leave),
            (pod("other", "Pending", None), PodStep::Leave),
            (pod(NAME, "Pending", None), PodStep::Admit),
            (pod(NAME, "Running", None), PodStep::Refresh),
            (pod(NAME, "Succeeded", None), PodStep::Leave),
            (pod(NAME, "Running", Some(30)), PodStep::Stop),
            (pod(NAME, "Succeeded", Some(30)), PodStep::Remove),
            (pod(NAME, "Running", Some(0)), PodStep::Leave),
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
            PodStep::Leave
        );
        assert_eq!(held("schedulerName", json!("mine")), PodStep::Leave);
    }

    #[test]
    fn an_annotation_says_what_is_simulated() {
        let simulated = |what: &str, mut pod: Value| {
            pod["metadata"]["annotations"] = json!({ "nodes.windlass.dev/simulate": what });
            pod["status"]["startTime"] = "2026-11-21T09:30:00Z".into();
            pod
        };
        let starts = |what| next(&simulated(what, pod(NAME, "Pending", None)));
        assert_eq!(starts("stuck"), PodStep::Leave);
        assert_eq!(starts("other"), PodStep::Start);
        let mut job = simulated("fail", pod(NAME, "Running", None));
        job["metadata"]["ownerReferences"] =
            json!([{ "apiVersion": "batch/v1", "kind": "Job", "controller": true }]);
        job["spec"]["restartPolicy"] = "Never".into();
        job["status"]["observedGeneration"] = 1.into();
        job["status"]["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
        let now = "2026-11-21T09:30:02Z".parse().unwrap();
        assert_eq!(timed(&job, &Options::default(), now).0, PodStep::Fail);
    }

    #[test]
    fn a_pod_of_a_job_ends_when_its_work_is_done_or_its_deadline_has_passed() {
        let options = Options {
            pod_delay: Duration::from_secs(1),
            job_duration: Duration::from_secs(4),
            ..Options::default()
        };
        let now: Timestamp = "2026-11-21T09:30:02Z".parse().unwrap();
        let ends = |kind: &str, policy: &str, deadline: Value| {
            let mut pod = pod(NAME, "Running", None);
            pod["metadata"]["ownerReferences"] =
                json!([{ "apiVersion": "batch/v1", "kind": kind, "controller": true }]);
            pod["spec"]["restartPolicy"] = policy.into();
            pod["spec"]["activeDeadlineSeconds"] = deadline;
            pod["status"]["startTime"] = "2026-11-21T09:30:00Z".into();
            pod["status"]["observedGeneration"] = 1.into();
            pod["status"]["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
            timed(&pod, &options, now)
        };
        let finish = (PodStep::Finish, Some(Duration::from_secs(4)));
        let expire = |seconds| (PodStep::Expire, Some(Duration::from_secs(seconds)));
        let leave = (PodStep::Leave, None);
        assert_eq!(ends("Job", "Never", Value::Null), finish);
        assert_eq!(ends("Job", "OnFailure", json!(5)), finish);
        assert_eq!(ends("Job", "Never", json!(4)), expire(2));
        assert_eq!(ends("Job", "Always", Value::Null), leave);
        assert_eq!(ends("ReplicaSet", "Never", Value::Null), leave);
        assert_eq!(ends("ReplicaSet", "Always", json!(1)), expire(0));
    }
}
