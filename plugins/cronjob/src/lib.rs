//! Kubernetes' CronJob controller as a plugin.
//!
//! A CronJob starts Jobs by a schedule. Each pass follows the Jobs that were started (`follow`), starts the one that is due
//! (`timing`), writes the status, and deletes old Jobs (`history`). The rules are those of Kubernetes' documentation and
//! enhancement proposals.

mod follow;
mod history;
mod job;
mod object;
mod start;
mod timing;

use jiff::Timestamp;
use serde_json::json;
use windlass_sdk::{
    Action, ChildrenQuery, Cluster, Code, DeleteOptions, Error, Event, Failure, Needs, ObjectRef,
    Patch, Propagation, Reconciler, export, need,
};

use crate::object::{Child, CronJob, FIELDS, Status};

/// The controller.
#[derive(Default)]
pub struct CronJobs;

impl Reconciler for CronJobs {
    const WATCHES: (&'static str, &'static str) = ("batch/v1", "CronJob");
    const WRITES_STATUS: bool = true;
    type Object = CronJob;

    fn needs() -> Needs {
        let verbs = ["get", "list", "watch", "create", "delete"];
        need(job::API_VERSION, job::KIND, &verbs).fields(FIELDS)
    }

    fn reconcile(&self, cron: &CronJob, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let now: Timestamp = cluster.now().parse().map_err(|error: jiff::Error| {
            Failure::transient(format!("the time of the call is not a time: {error}"))
        })?;
        let namespace = cron.metadata.namespace.as_deref().unwrap_or_default();
        let jobs = ChildrenQuery::all(job::API_VERSION, job::KIND).in_namespace(namespace);
        let children: Vec<Child> = cluster.list_children(&jobs)?;
        let (mut status, events) = follow::follow(cron, &children);
        for event in events {
            cluster.event(event);
        }
        let started = start::start(cron, now, &mut status, cluster);
        write(cron, &status, cluster)?;
        // After the status: a Job that is not in it must still be there for the next pass.
        let old = history::surplus(&cron.spec, &children).into_iter();
        let old: Vec<_> = old.map(Child::reference).collect();
        delete(old.iter().map(|old| (&*old.name, &*old.uid)), cron, cluster)?;
        started?;
        Ok(Action::AwaitChange)
    }
}

/// Writes the status if it has changed.
fn write(cron: &CronJob, status: &Status, cluster: &dyn Cluster) -> Result<(), Error> {
    if *status != cron.status.clone().unwrap_or_default() {
        let patch = Patch::Merge(json!({ "status": status }));
        cluster.patch_subresource(&cron.reference(), "status", &patch)?;
    }
    Ok(())
}

/// Deletes Jobs, by their names and UIDs, and then their pods.
fn delete<'a>(
    jobs: impl Iterator<Item = (&'a str, &'a str)>,
    cron: &CronJob,
    cluster: &dyn Cluster,
) -> Result<(), Failure> {
    let exactly = |(name, uid): (&str, &str)| {
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        (reference(cron, name), options)
    };
    let targets: Vec<_> = jobs.map(exactly).collect();
    if targets.is_empty() {
        return Ok(());
    }
    let mut failure = None;
    for ((target, _), deleted) in targets.iter().zip(cluster.delete_many_with(&targets)) {
        match deleted {
            Ok(()) => {
                let note = format!("Deleted job {}", target.name);
                cluster.event(Event::normal("SuccessfulDelete", "DeleteJob", note));
            }
            // It is gone, or another Job has its name.
            Err(error) if matches!(error.code, Code::NotFound | Code::Conflict | Code::Gone) => {}
            Err(error) => {
                let note = format!("Deleted job: {}", text(&error));
                cluster.event(Event::warning("FailedDelete", "DeleteJob", note));
                failure = Some(Failure::transient(error.to_string()));
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The reference of a Job.
fn reference(cron: &CronJob, name: &str) -> ObjectRef {
    let namespace = cron.metadata.namespace.as_deref().unwrap_or_default();
    ObjectRef::new(job::API_VERSION, job::KIND, namespace, name)
}

/// What the API server says, or else what the host says.
fn text(error: &Error) -> String {
    match error.status.as_deref() {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}

export!(CronJobs);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<CronJobs>("tests").unwrap();
    }
}
