//! Pods whose Job is gone: they lose the finalizer, since nobody counts them any more.
//!
//! Each pod of a Job reads the Job, and so would run again when the status of the Job changes. So a pod remembers that it has
//! seen its Job, and does not read it again for a while. If the Job is deleted, the garbage collector deletes the pod or takes
//! the owner off it, and the pod runs again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_kit::metadata::{Metadata, Owner};
use windlass_sdk::{
    Action, Cluster, Code, Consistency, Error, Failure, Finalize, Needs, ObjectRef, Progress,
    Reconciler, Watch, need,
};

use crate::pod::FINALIZER;

/// For how long a pod that stays trusts that its Job is there.
const TRUST: SignedDuration = SignedDuration::from_mins(10);
/// The same for a pod that is being deleted, and how long it waits at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// The controller of pods with the finalizer.
#[derive(Default)]
pub struct Orphans;

/// A pod.
#[derive(Deserialize)]
pub struct AnyPod {
    metadata: Metadata,
}

/// When a pod has seen its Job.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Sighting {
    at: Timestamp,
    /// Whether the pod was being deleted.
    is_deleting: bool,
}

impl Reconciler for Orphans {
    const WATCHES: (&'static str, &'static str) = ("v1", "Pod");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    type Object = AnyPod;

    fn needs() -> Needs {
        need("batch/v1", "Job", &["get", "list", "watch"])
    }

    fn watch() -> Watch {
        // The Job puts the finalizer on, and the label.
        Watch::default()
            .labelled("batch.kubernetes.io/controller-uid")
            .finalize_on_request()
            .spec_changes_only()
            .fields([".spec.nodeName"])
    }

    fn reconcile(&self, pod: &AnyPod, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let metadata = &pod.metadata;
        let is_held = metadata.finalizers.iter().any(|held| held == FINALIZER);
        if is_held && is_orphan(metadata, cluster)? {
            let target = ObjectRef::new("v1", "Pod", &metadata.namespace, &*metadata.name);
            cluster.release(&target, &metadata.uid, FINALIZER)?;
        }
        Ok(Action::AwaitChange)
    }
}

impl Orphans {
    /// A pod that is being deleted waits until its Job has counted it, or is gone.
    fn finalize(&self, pod: &AnyPod, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        if is_orphan(&pod.metadata, cluster)? {
            Ok(Progress::Done)
        } else {
            Ok(Progress::Pending(PATIENCE))
        }
    }
}

/// Whether the Job of a pod is gone. A pod of another kind of controller is left to that.
fn is_orphan(pod: &Metadata, cluster: &dyn Cluster) -> Result<bool, Failure> {
    let is_job = |owner: &Owner| owner.kind == "Job" && owner.api_version.starts_with("batch/");
    let owner = match pod.controller() {
        None => return Ok(true),
        Some(owner) if is_job(owner) => owner,
        Some(_) => return Ok(false),
    };
    let now: Timestamp = cluster.now().parse().unwrap_or_default();
    let seen = cluster.recall_json::<Sighting>();
    if seen.is_some_and(|seen| is_trusted(seen, pod.is_deleting(), now)) {
        return Ok(false);
    }
    let job = ObjectRef::new("batch/v1", "Job", &pod.namespace, &*owner.name);
    // The store of Jobs may be behind the store of pods.
    let is_there = is_there(&job, &owner.uid, cluster, Consistency::Stored)?
        || is_there(&job, &owner.uid, cluster, Consistency::Latest)?;
    if is_there {
        cluster.keep_json(Sighting {
            at: now,
            is_deleting: pod.is_deleting(),
        });
    }
    Ok(!is_there)
}

/// Whether a pod need not look for its Job again. One that has just been deleted does: so may its Job.
fn is_trusted(seen: Sighting, is_deleting: bool, now: Timestamp) -> bool {
    let trust = if is_deleting {
        SignedDuration::try_from(PATIENCE).unwrap_or(SignedDuration::ZERO)
    } else {
        TRUST
    };
    seen.is_deleting == is_deleting && now.duration_since(seen.at) < trust
}

fn is_there(
    job: &ObjectRef,
    uid: &str,
    cluster: &dyn Cluster,
    consistency: Consistency,
) -> Result<bool, Error> {
    match cluster.get_json(job, None, consistency) {
        Ok(found) => Ok(found.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid)),
        Err(error) if error.code == Code::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_was_just_deleted_looks_for_its_job_again() {
        let at = Timestamp::from_second(1000).unwrap();
        for (was_deleting, is_deleting, after, want) in [
            (false, false, 1, true),
            (false, false, 600, false),
            (false, true, 1, false),
            (true, true, 9, true),
            (true, true, 10, false),
        ] {
            let seen = Sighting {
                at,
                is_deleting: was_deleting,
            };
            let now = Timestamp::from_second(1000 + after).unwrap();
            let found = is_trusted(seen, is_deleting, now);
            assert_eq!(found, want, "{was_deleting} {is_deleting} {after}");
        }
    }
}
