//! The conditions of a Deployment: whether its rollout comes further.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::deployment::{Deployment, seconds};
use crate::set::ReplicaSet;
use crate::status::Status;

/// The rollout is complete.
const COMPLETE: &str = "NewReplicaSetAvailable";
/// It has rested for too long.
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
/// Nothing is rolled out while the Deployment is paused.
const PAUSED: &str = "DeploymentPaused";

/// A condition of a Deployment. It has two times: of its last change, and of the last progress.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    r#type: String,
    status: String,
    last_update_time: Option<Timestamp>,
    last_transition_time: Option<Timestamp>,
    reason: String,
    message: String,
}

impl Condition {
    /// A condition that begins now.
    pub(crate) fn new(r#type: &str, status: &str, reason: &str, now: Timestamp) -> Self {
        Self {
            r#type: r#type.to_owned(),
            status: status.to_owned(),
            last_update_time: Some(seconds(now)),
            last_transition_time: Some(seconds(now)),
            reason: reason.to_owned(),
            message: String::new(),
        }
    }

    /// The same with a message.
    pub(crate) fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Puts it in place of the one of its type. It keeps the time of the last change while its status is the same, and nothing
    /// changes while its reason is the same too.
    pub(crate) fn set(mut self, conditions: &mut Vec<Self>) {
        let before = conditions.iter().find(|one| one.r#type == self.r#type);
        if let Some(before) = before.filter(|before| before.status == self.status) {
            if before.reason == self.reason {
                return;
            }
            self.last_transition_time = before.last_transition_time;
        }
        self.replace(conditions);
    }

    /// Puts it at the end, and removes the one of its type.
    fn replace(self, conditions: &mut Vec<Self>) {
        conditions.retain(|one| one.r#type != self.r#type);
        conditions.push(self);
    }
}

/// The condition of this type.
pub(crate) fn find<'a>(conditions: &'a [Condition], r#type: &str) -> Option<&'a Condition> {
    conditions.iter().find(|one| one.r#type == r#type)
}

/// Notes in `conditions` that the Deployment is paused, or is no longer.
pub(crate) fn note_pause(deployment: &Deployment, conditions: &mut Vec<Condition>, now: Timestamp) {
    let reason = find(conditions, "Progressing").map_or("", |one| &one.reason);
    if deployment.spec.deadline().is_none() || reason == TIMED_OUT {
        return;
    }
    let (reason, message) = match (deployment.spec.paused, reason == PAUSED) {
        (true, false) => (PAUSED, "Deployment is paused"),
        (false, true) => ("DeploymentResumed", "Deployment is resumed"),
        _ => return,
    };
    let condition = Condition::new("Progressing", "Unknown", reason, now);
    condition.saying(message).set(conditions);
}

/// Notes in `conditions` that a set for the template is there, or was made.
pub(crate) fn note_new_set(
    deployment: &Deployment,
    conditions: &mut Vec<Condition>,
    set: &ReplicaSet,
    is_made: bool,
    now: Timestamp,
) {
    let is_first = find(conditions, "Progressing").is_none();
    if deployment.spec.deadline().is_none() || !(is_made || is_first) {
        return;
    }
    let name = &set.metadata.name;
    // A pass has made it and said nothing, if nobody has seen it yet.
    let (reason, message) = if is_made || set.status.observed_generation == 0 {
        (
            "NewReplicaSetCreated",
            format!("Created new replica set {name:?}"),
        )
    } else {
        (
            "FoundNewReplicaSet",
            format!("Found new replica set {name:?}"),
        )
    };
    let condition = Condition::new("Progressing", "True", reason, now);
    condition.saying(message).set(conditions);
}

/// Judges the progress of a rollout in `status`. `before` is the status that the Deployment has.
///
/// Returns when the rollout counts as failed, if nothing changes before.
pub(crate) fn judge_progress(
    deployment: &Deployment,
    before: &Status,
    status: &mut Status,
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> Option<Timestamp> {
    let Some(deadline) = deployment.spec.deadline() else {
        status.conditions.retain(|one| one.r#type != "Progressing");
        return None;
    };
    let current = find(&status.conditions, "Progressing").cloned();
    let was_complete = current.as_ref().is_some_and(|one| one.reason == COMPLETE);
    let is_complete = status.is_complete(&deployment.spec, deployment.metadata.generation);
    let what = new.map_or_else(
        || format!("Deployment {:?}", deployment.name()),
        |set| format!("ReplicaSet {:?}", set.metadata.name),
    );
    let due = |condition: &Condition| condition.last_update_time?.checked_add(deadline).ok();
    if was_complete && status.replicas == status.updated_replicas {
        // A replica that fails later does not undo the rollout.
    } else if is_complete {
        let condition = Condition::new("Progressing", "True", COMPLETE, now);
        let message = format!("{what} has successfully progressed.");
        condition.saying(message).set(&mut status.conditions);
    } else if status.has_come_further(before) {
        let mut condition = Condition::new("Progressing", "True", "ReplicaSetUpdated", now)
            .saying(format!("{what} is progressing."));
        if let Some(current) = current.filter(|current| current.status == "True") {
            condition.last_transition_time = current.last_transition_time;
        }
        condition.replace(&mut status.conditions);
    } else if let Some(current) = current {
        let is_late = due(&current).is_some_and(|due| due < now);
        if current.reason == TIMED_OUT || (current.reason != COMPLETE && is_late) {
            let condition = Condition::new("Progressing", "False", TIMED_OUT, now);
            let message = format!("{what} has timed out progressing.");
            condition.saying(message).set(&mut status.conditions);
        }
    }
    let current = find(&status.conditions, "Progressing")?;
    if is_complete || current.reason == TIMED_OUT || current.reason == COMPLETE {
        return None;
    }
    due(current)?
        .checked_add(jiff::SignedDuration::from_secs(1))
        .ok()
}

/// Takes over the condition `ReplicaFailure` of the sets, of the new one first.
pub(crate) fn take_failure(
    conditions: &mut Vec<Condition>,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
    now: Timestamp,
) {
    let mut sets = new.into_iter().chain(old);
    let failure = sets.find_map(|set| {
        let mut of_set = set.status.conditions.iter();
        of_set.find(|one| one.r#type == "ReplicaFailure")
    });
    match failure {
        None => conditions.retain(|one| one.r#type != "ReplicaFailure"),
        Some(failure) => Condition::new("ReplicaFailure", &failure.status, &failure.reason, now)
            .saying(&*failure.message)
            .set(conditions),
    }
}

/// Notes in `conditions` that no set could be made.
pub(crate) fn note_refusal(
    conditions: &mut Vec<Condition>,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let condition = Condition::new("Progressing", "False", reason, now);
    condition.saying(message).set(conditions);
}
