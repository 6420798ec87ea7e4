//! Kubernetes' Job controller as a plugin.
//!
//! A Job runs pods until enough of them have succeeded. Each pass claims pods, creates or deletes the difference, and counts
//! the pods that have finished, each exactly once. The rules are those of Kubernetes' documentation and enhancement
//! proposals.
//!
//! `pass` draws a pass. The decisions are pure functions: `verdict`, `scale` and `tracking`, over what `seen`
//! counts.

mod act;
mod attempts;
mod backoff;
mod config;
mod failure_policy;
mod indexes;
mod memo;
mod merge;
mod metrics;
mod orphan;
mod pass;
mod pod;
mod scale;
mod seen;
mod spec;
mod status;
mod success_policy;
mod template;
mod tracking;
mod verdict;

use std::collections::BTreeSet;

use jiff::Timestamp;
use windlass_sdk::{
    Action, Cluster, Event, Failure, Needs, Object, ReconcileGoing, Reconciler, export,
    export_going, manage, need,
};

use crate::config::Config;
use crate::memo::Memo;
pub use crate::orphan::Orphans;
use crate::pass::{Done, Pass};
use crate::pod::{FIELDS, Pod};
use crate::spec::{CompletionMode, Spec};
use crate::status::Status;

/// A Job.
type Job = Object<Spec, Status>;

/// The controller of Jobs.
#[derive(Default)]
pub struct Jobs;

/// A Job, as the plugin reads it.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct AnyJob(Job);

impl Reconciler for Jobs {
    const WATCHES: (&'static str, &'static str) = ("batch/v1", "Job");
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = Some(Self::reconcile_going);
    const WRITES_STATUS: bool = true;
    type Object = AnyJob;

    fn needs() -> Needs {
        manage("v1", "Pod").fields(FIELDS) + need("batch/v1", "Job", &["get", "list", "watch"])
    }

    fn reconcile(&self, job: &AnyJob, cluster: &dyn Cluster) -> Result<Action, Failure> {
        run(&job.0, cluster, false)
    }
}

impl Jobs {
    /// Counts the finished pods of a Job that is being deleted, and lets the others go: nobody will count them.
    fn reconcile_going(&self, job: &AnyJob, cluster: &dyn Cluster) -> Result<Action, Failure> {
        run(&job.0, cluster, true)
    }
}

fn run(job: &Job, cluster: &dyn Cluster, goes: bool) -> Result<Action, Failure> {
    let config: Config = cluster.settings()?;
    if let Some(manager) = job.spec.manager(&config) {
        // It is counted once, as long as the hint is there.
        if cluster.recall().is_none() {
            metrics::external(cluster, manager);
        }
        cluster.keep(b"external");
        return Ok(Action::AwaitChange);
    }
    if job.status.as_ref().is_some_and(Status::is_finished) {
        return let_go(job, cluster, &config);
    }
    if job.spec.completion_mode == CompletionMode::Unknown {
        let note = "Skipped Job sync because completion mode is unknown";
        cluster.event(Event::warning("UnknownCompletionMode", "SyncJob", note));
        return Ok(Action::AwaitChange);
    }
    let now: Timestamp = cluster.now().parse().map_err(|error: jiff::Error| {
        Failure::transient(format!("the time of the call is not a time: {error}"))
    })?;
    let memo = cluster.recall_json::<Memo>().unwrap_or_default();
    let is_same = memo.uid == job.metadata.uid;
    let memo = if is_same { memo } else { Memo::default() };
    let may_wait = is_same && !goes && cluster.attempt() == 0;
    if may_wait && let Some(due) = memo.waits(job.metadata.generation, now, config.batch) {
        cluster.wake_at(&memo.wake.map_or(due, |wake| wake.min(due)).to_string());
        let due = Some(due);
        cluster.keep_json(Memo { due, ..memo });
        return Ok(Action::AwaitChange);
    }
    let rules = job.spec.rules(&config);
    let pass = Pass {
        job,
        cluster,
        config: &config,
        rules: &rules,
        now,
        goes,
        memo,
    };
    match pass.run()? {
        // Nobody will count the others.
        Done::All if goes => let_go(job, cluster, &config),
        Done::All | Done::Some => Ok(Action::AwaitChange),
    }
}

/// Takes the finalizer off all pods of a Job that has ended, or is being deleted.
fn let_go(job: &Job, cluster: &dyn Cluster, config: &Config) -> Result<Action, Failure> {
    let pods = act::children(job, cluster, &BTreeSet::new())?;
    let mut held: Vec<&Pod> = pods.iter().filter(|pod| pod.is_tracked()).collect();
    if held.len() > config.max_pods_per_pass {
        held.truncate(config.max_pods_per_pass);
        cluster.wake_at(&cluster.now());
    }
    match act::release(cluster, &held) {
        (_, Some(error)) => Err(error.into()),
        (_, None) => Ok(Action::AwaitChange),
    }
}

export!(Jobs, Orphans);
export_going!(Jobs);

#[cfg(test)]
mod tests;
