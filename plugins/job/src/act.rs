//! What a pass reads and writes.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use windlass_kit::claim::{Claim, claim as claim_of};
use windlass_sdk::{
    Adoption, ChildrenQuery, Cluster, Code, DeleteOptions, Error, Event, Failure, Patch,
};

use crate::Job;
use crate::merge::merge;
use crate::metrics;
use crate::pod::{FINALIZER, Pod};
use crate::scale::NewPod;
use crate::status::Status;
use crate::template::{Owner, new_pod};

/// The namespace of a Job.
fn namespace(job: &Job) -> &str {
    job.metadata.namespace.as_deref().unwrap_or_default()
}

/// The pods that the Job controls, but for those that are gone. Pods with the UIDs in `released` have lost the finalizer, even
/// if the store of the host does not show this yet.
pub(crate) fn children(
    job: &Job,
    cluster: &dyn Cluster,
    released: &BTreeSet<String>,
) -> Result<Vec<Pod>, Error> {
    let query = ChildrenQuery::all("v1", "Pod").in_namespace(namespace(job));
    let mut pods: Vec<Pod> = cluster.list_children(&query)?;
    for pod in pods.iter_mut().filter(|pod| released.contains(pod.uid())) {
        pod.forget_finalizer();
    }
    pods.retain(|pod| !pod.is_gone());
    Ok(pods)
}

/// Adopts pods that match the selector and have no controller, and disowns pods that no longer match. Returns the pods
/// that the Job controls.
pub(crate) fn claim(job: &Job, cluster: &dyn Cluster) -> Result<Vec<Pod>, Failure> {
    let query = ChildrenQuery::all("v1", "Pod").in_namespace(namespace(job));
    let found: Vec<Pod> = cluster.list_children(&query.with_orphans())?;
    let adoption = Adoption {
        finalizer: Some(FINALIZER.to_owned()),
        ..Adoption::default()
    };
    let mut ours = Vec::with_capacity(found.len());
    for pod in found {
        let matches = job.spec.selector.matches(&pod.metadata().labels);
        match claim_of(pod.metadata(), &job.metadata.uid, matches) {
            Claim::Keep if pod.is_gone() => {}
            Claim::Keep => ours.push(pod),
            Claim::Disown => {
                cluster.disown_with(&pod.reference(), pod.uid(), &[], Some(FINALIZER))?;
            }
            Claim::Adopt => match cluster.adopt_json(&pod.reference(), pod.uid(), &adoption) {
                Ok(adopted) => ours.push(serde_json::from_value(adopted)?),
                // Somebody else has it, or it is gone.
                Err(error) if matches!(error.code, Code::Conflict | Code::NotFound) => {}
                Err(error) => return Err(error.into()),
            },
            Claim::Leave => {}
        }
    }
    Ok(ours)
}

/// Creates pods. Returns why one could not be created.
pub(crate) fn create(
    job: &Job,
    cluster: &dyn Cluster,
    pods: &[NewPod],
    reason: &str,
) -> Option<Error> {
    let reference = job.owner_reference();
    let owner = Owner {
        name: job.name(),
        namespace: namespace(job),
        reference: &reference,
    };
    let template = &job.spec.template;
    let objects = pods.iter().map(|pod| new_pod(owner, template, *pod));
    let mut refused = None;
    let (mut succeeded, mut failed) = (0, 0);
    for created in cluster.create_many(objects) {
        match created {
            Ok(pod) => {
                succeeded += 1;
                let name = pod.pointer("/metadata/name").and_then(Value::as_str);
                let note = format!("Created pod: {}", name.unwrap_or_default());
                cluster.event(Event::normal("SuccessfulCreate", "CreatePod", note));
            }
            // The namespace is going away: nobody can create a pod there.
            Err(error) if error.code == Code::Gone => {}
            Err(error) => {
                failed += 1;
                let note = format!("Error creating: {}", text(&error));
                cluster.event(Event::warning("FailedCreate", "CreatePod", note));
                refused = Some(error);
            }
        }
    }
    metrics::created(cluster, reason, "succeeded", succeeded);
    metrics::created(cluster, reason, "failed", failed);
    refused
}

/// Deletes pods. Returns why one could not be deleted.
pub(crate) fn delete(cluster: &dyn Cluster, pods: &[&Pod]) -> Option<Error> {
    let exactly = |pod: &&Pod| {
        let uid = Some(pod.uid().to_owned());
        (
            pod.reference(),
            DeleteOptions {
                uid,
                ..DeleteOptions::default()
            },
        )
    };
    let targets: Vec<_> = pods.iter().map(exactly).collect();
    let mut refused = None;
    for ((target, _), deleted) in targets.iter().zip(cluster.delete_many_with(&targets)) {
        match deleted {
            Ok(()) => {
                let note = format!("Deleted pod: {}", target.name);
                cluster.event(Event::normal("SuccessfulDelete", "DeletePod", note));
            }
            // It is gone, or another pod has its name.
            Err(error) if matches!(error.code, Code::NotFound | Code::Conflict) => {}
            Err(error) => {
                let note = format!("Error deleting: {}", text(&error));
                cluster.event(Event::warning("FailedDelete", "DeletePod", note));
                refused = Some(error);
            }
        }
    }
    refused
}

/// Takes the finalizer off pods. Returns the UIDs of those that no longer have it, and why one still has it. A pod that has
/// changed meanwhile keeps it: it may have finished, and then it is counted. A pass that sees the change comes soon, also if
/// the change is none that leads to a pass.
pub(crate) fn release(cluster: &dyn Cluster, pods: &[&Pod]) -> (BTreeSet<String>, Option<Error>) {
    let targets: Vec<_> = pods
        .iter()
        .map(|pod| (pod.reference(), pod.uid().to_owned()))
        .collect();
    if targets.is_empty() {
        return (BTreeSet::new(), None);
    }
    let (mut released, mut refused) = (BTreeSet::new(), None);
    for (pod, answer) in pods.iter().zip(cluster.release_many(&targets, FINALIZER)) {
        match answer {
            Ok(()) => {
                released.insert(pod.uid().to_owned());
            }
            Err(error) if error.code == Code::Conflict => cluster.wake_at(&soon(cluster)),
            Err(error) => refused = Some(error),
        }
    }
    (released, refused)
}

/// When a store has probably heard of a change.
fn soon(cluster: &dyn Cluster) -> String {
    let now = cluster.now();
    let later = now.parse::<Timestamp>().ok();
    let later = later.and_then(|now| now.checked_add(SignedDuration::from_secs(1)).ok());
    later.map_or(now, |later| later.to_string())
}

/// Writes what differs in the status, if the Job still has this version. Returns its new version.
pub(crate) fn write(
    job: &Job,
    cluster: &dyn Cluster,
    version: &str,
    (before, after): (&Status, &Status),
) -> Result<String, Failure> {
    let (before, after) = (serde_json::to_value(before)?, serde_json::to_value(after)?);
    let Some(status) = merge(&before, &after) else {
        return Ok(version.to_owned());
    };
    let fields = json!({ "metadata": { "resourceVersion": version }, "status": status });
    let answer = cluster.patch_subresource(&job.reference(), "status", &Patch::Merge(fields))?;
    let version = answer.pointer("/metadata/resourceVersion");
    let version = version.and_then(Value::as_str);
    version
        .map(str::to_owned)
        .ok_or_else(|| Failure::transient("the answer has no resourceVersion"))
}

/// What the API server says, or else what the host says.
fn text(error: &Error) -> String {
    match error.status.as_deref() {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}
