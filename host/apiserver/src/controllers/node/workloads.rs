//! The status of workloads as if their pods ran (kubernetes `pkg/controller/{deployment,replicaset,
//! statefulset,daemon,job}`).

mod deployment;
mod follow;
mod job;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::scheduler::Room;
use crate::meta;
use crate::options::controllers as names;
use crate::store::GroupResource;
pub(super) use follow::follow;

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    DaemonSet,
    Job,
}

/// How far a workload's pods have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// They are there, and start.
    Starting,
    /// They run, or those of a job have ended.
    Done,
    /// There is no room for all of them.
    Stuck(Room),
    /// Those of a job took too long.
    Expired,
}

impl Workload {
    /// The workloads that lie at a place.
    pub(super) fn of(place: &GroupResource) -> Option<Self> {
        Some(match (place.group.as_str(), place.plural.as_str()) {
            ("apps", "deployments") => Self::Deployment,
            ("apps", "replicasets") => Self::ReplicaSet,
            ("", "replicationcontrollers") => Self::ReplicationController,
            ("apps", "statefulsets") => Self::StatefulSet,
            ("apps", "daemonsets") => Self::DaemonSet,
            ("batch", "jobs") => Self::Job,
            _ => return None,
        })
    }

    /// The controller of kube-controller-manager that has them in its care.
    fn controller(self) -> &'static str {
        match self {
            Self::Deployment => names::DEPLOYMENTS,
            Self::ReplicaSet => names::REPLICA_SETS,
            Self::ReplicationController => names::REPLICATION_CONTROLLERS,
            Self::StatefulSet => names::STATEFUL_SETS,
            Self::DaemonSet => names::DAEMON_SETS,
            Self::Job => names::JOBS,
        }
    }

    /// The stage that comes next; nothing if there is none.
    fn stage(self, object: &Value) -> Option<Stage> {
        if self == Self::Job {
            return job::stage(object);
        }
        let observed = object
            .pointer("/status/observedGeneration")
            .and_then(Value::as_i64);
        let seen = observed == Some(meta::number(object, "generation").unwrap_or(0));
        Some(if seen { Stage::Done } else { Stage::Starting })
    }

    /// The stage that comes instead, for there is only so much room.
    fn limited(self, object: &Value, stage: Stage, room: Room) -> Stage {
        let wanted = match self {
            Self::DaemonSet | Self::Job => 1,
            _ => wanted(object),
        };
        match stage {
            Stage::Done if room.copies < wanted || !room.suits && self == Self::DaemonSet => {
                Stage::Stuck(room)
            }
            other => other,
        }
    }

    /// What the status says in a stage.
    fn status(self, object: &Value, stage: Stage, now: Timestamp) -> Value {
        let mut status = match self {
            Self::Deployment => deployment::status(object, stage, now),
            Self::ReplicaSet | Self::ReplicationController => self.replicas(object, stage),
            Self::StatefulSet => stateful(object, stage),
            Self::DaemonSet => daemon(stage),
            Self::Job => return job::status(object, stage, now),
        };
        let generation = meta::number(object, "generation").unwrap_or(0);
        meta::put(&mut status, "observedGeneration", generation);
        status
    }

    fn replicas(self, object: &Value, stage: Stage) -> Value {
        let wanted = wanted(object);
        let ready = ready(object, stage);
        let mut status = json!({ "replicas": wanted });
        counts(
            &mut status,
            &[
                ("fullyLabeledReplicas", wanted),
                ("readyReplicas", ready),
                ("availableReplicas", ready),
            ],
        );
        if self == Self::ReplicaSet {
            meta::put(&mut status, "terminatingReplicas", 0);
        }
        status
    }
}

fn number(object: &Value, at: &str) -> i64 {
    object.pointer(at).and_then(Value::as_i64).unwrap_or(0)
}

/// How many pods there should be.
fn wanted(object: &Value) -> i64 {
    let said = object.pointer("/spec/replicas").and_then(Value::as_i64);
    said.unwrap_or(1)
}

/// How many of them are ready: those that were before, until all are.
fn ready(object: &Value, stage: Stage) -> i64 {
    let before = number(object, "/status/readyReplicas");
    match stage {
        Stage::Starting | Stage::Expired => before.min(wanted(object)),
        Stage::Stuck(room) => before.max(room.copies).min(wanted(object)),
        Stage::Done => wanted(object),
    }
}

/// Puts numbers into a status; none that is zero, as Kubernetes leaves them out.
fn counts(status: &mut Value, numbers: &[(&str, i64)]) {
    for (name, number) in numbers.iter().filter(|(_, number)| *number != 0) {
        meta::put(status, name, *number);
    }
}

fn stateful(object: &Value, stage: Stage) -> Value {
    let (wanted, ready) = (wanted(object), ready(object, stage));
    let revision = format!("{}-{}", meta::text(object, "name"), template_hash(object));
    let held = object
        .pointer("/status/currentRevision")
        .and_then(Value::as_str);
    let current = match (stage, held) {
        (Stage::Starting | Stage::Stuck(_), Some(held)) => held,
        _ => &revision,
    };
    let mut status = json!({
        "replicas": wanted,
        "availableReplicas": ready,
        "collisionCount": 0,
        "currentRevision": current,
        "updateRevision": revision,
    });
    let updated = if current == revision { wanted } else { 0 };
    counts(
        &mut status,
        &[
            ("readyReplicas", ready),
            ("currentReplicas", wanted),
            ("updatedReplicas", updated),
        ],
    );
    status
}

/// There is one node, so there is one pod, unless it may not be there.
fn daemon(stage: Stage) -> Value {
    if matches!(stage, Stage::Stuck(room) if !room.suits) {
        return json!({
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        });
    }
    let mut status = json!({
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": i32::from(stage == Stage::Done),
        "updatedNumberScheduled": 1,
    });
    let field = match stage {
        Stage::Done => "numberAvailable",
        Stage::Starting | Stage::Stuck(_) | Stage::Expired => "numberUnavailable",
    };
    meta::put(&mut status, field, 1);
    status
}

/// A short text that changes with the pod template, as names of ReplicaSets and revisions end.
fn template_hash(object: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let template = object
        .pointer("/spec/template")
        .map(Value::to_string)
        .unwrap_or_default();
    let hash = template.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let digits = hash.to_string().into_bytes();
    let letter = |digit: u8| LETTERS.get(usize::from(digit) % LETTERS.len()).copied();
    digits
        .into_iter()
        .filter_map(letter)
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(replicas: i64) -> Value {
        json!({
            "metadata": { "name": "web", "generation": 1 },
            "spec": { "replicas": replicas, "template": {} },
        })
    }

    fn done(workload: Workload, object: &Value) -> Value {
        workload.status(object, Stage::Done, "2026-11-21T09:30:00Z".parse().unwrap())
    }

    #[test]
    fn statuses_are_as_the_real_controllers_write_them() {
        let all = |more: Value| {
            let status = json!({
                "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "observedGeneration": 1,
            });
            crate::patch::merge(&status, &more).unwrap()
        };
        assert_eq!(
            done(Workload::ReplicaSet, &object(2)),
            all(json!({ "fullyLabeledReplicas": 2, "terminatingReplicas": 0 }))
        );
        assert_eq!(
            done(Workload::ReplicationController, &object(2)),
            all(json!({ "fullyLabeledReplicas": 2 }))
        );
        assert_eq!(
            done(Workload::ReplicaSet, &object(0)),
            json!({ "replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0 })
        );
        let set = done(Workload::StatefulSet, &object(2));
        assert_eq!(set["currentRevision"], set["updateRevision"]);
        let set = crate::patch::merge(
            &set,
            &json!({ "currentRevision": null, "updateRevision": null }),
        )
        .unwrap();
        assert_eq!(
            set,
            all(json!({ "collisionCount": 0, "currentReplicas": 2, "updatedReplicas": 2 }))
        );
        assert_eq!(
            done(Workload::DaemonSet, &object(0)),
            json!({
                "currentNumberScheduled": 1, "desiredNumberScheduled": 1, "numberAvailable": 1,
                "numberMisscheduled": 0, "numberReady": 1, "observedGeneration": 1,
                "updatedNumberScheduled": 1,
            })
        );
    }

    #[test]
    fn a_workload_is_done_when_its_generation_has_been_seen() {
        let mut object = object(1);
        assert_eq!(Workload::Deployment.stage(&object), Some(Stage::Starting));
        meta::set_in(&mut object, "status", "observedGeneration", Some(1.into()));
        assert_eq!(Workload::Deployment.stage(&object), Some(Stage::Done));
        meta::set(&mut object, "generation", Some(2.into()));
        assert_eq!(Workload::Deployment.stage(&object), Some(Stage::Starting));
    }
}
