//! Kubernetes' TTL-after-finished controller as a plugin: it deletes Jobs some time after they have finished.

mod expiry;

use jiff::Timestamp;
use windlass_kit::finished;
use windlass_sdk::{
    Action, Cluster, Code, Consistency, DeleteOptions, Failure, Needs, ObjectRef, Propagation,
    Reconciler, Watch, export, need,
};

use crate::expiry::Job;

/// The controller.
#[derive(Default)]
pub struct Jobs;

impl Reconciler for Jobs {
    const WATCHES: (&'static str, &'static str) = ("batch/v1", "Job");
    type Object = Job;

    fn watch() -> Watch {
        Watch::default().fields([".spec.ttlSecondsAfterFinished", finished::FIELD])
    }

    fn needs() -> Needs {
        need("batch/v1", "Job", &["delete"])
    }

    fn reconcile(&self, job: &Job, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let now: Timestamp = cluster.now().parse().map_err(|error: jiff::Error| {
            Failure::transient(format!("the time of the call is not a time: {error}"))
        })?;
        if !is_due(job, now, cluster)? {
            return Ok(Action::AwaitChange);
        }
        let metadata = &job.metadata;
        let target = ObjectRef::new("batch/v1", "Job", &metadata.namespace, &*metadata.name);
        // A deletion cannot be undone: somebody may have given the Job more time meanwhile.
        let newest: Job = match cluster.get_json(&target, None, Consistency::Latest) {
            Ok(newest) => serde_json::from_value(newest)?,
            Err(error) if error.is_not_found() => return Ok(Action::AwaitChange),
            Err(error) => return Err(error.into()),
        };
        if newest.metadata.uid == metadata.uid && is_due(&newest, now, cluster)? {
            delete(&target, &newest, cluster)?;
        }
        Ok(Action::AwaitChange)
    }
}

/// Whether the Job is to be deleted now. If it is to be deleted later, asks for a call then.
fn is_due(job: &Job, now: Timestamp, cluster: &dyn Cluster) -> Result<bool, Failure> {
    match job.expires_at().map_err(Failure::terminal)? {
        None => Ok(false),
        Some(at) if at > now => {
            cluster.wake_at(&at.to_string());
            Ok(false)
        }
        Some(_) => Ok(true),
    }
}

/// Deletes the Job, and its pods before it.
fn delete(target: &ObjectRef, job: &Job, cluster: &dyn Cluster) -> Result<(), Failure> {
    let options = DeleteOptions {
        uid: Some(job.metadata.uid.clone()),
        propagation: Some(Propagation::Foreground),
        ..DeleteOptions::default()
    };
    match cluster.delete_with(target, &options) {
        // It is gone, or another Job has its name.
        Err(error) if matches!(error.code, Code::NotFound | Code::Conflict | Code::Gone) => Ok(()),
        deleted => Ok(deleted?),
    }
}

export!(Jobs);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Jobs>("tests").unwrap();
    }
}
