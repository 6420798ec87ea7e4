//! An example plugin: makes Jobs by a schedule.
//!
//! Each Job has the time for which it is due in its name, so a repeated call cannot make a second one. The status keeps
//! the last of these times, and `wake_at` brings the call for the next one.

mod schedule;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_sdk::{
    Action, ChildrenQuery, Cluster, Condition, Error, Event, Failure, Manifest, Needs, Object,
    Reconciler, Watch, export, need,
};

use crate::schedule::Schedule;

/// The kind of `backup.crd.yaml`, which also gives the defaults.
type Backup = Object<Spec, Status>;
/// A Job as far as this plugin reads it.
type Job = Object<Option<Value>, JobStatus>;

/// What is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    schedule: String,
    time_zone: String,
    image: String,
    args: Vec<String>,
    suspend: bool,
    keep: usize,
    keep_failed: usize,
    starting_deadline_seconds: i64,
    concurrency: Concurrency,
}

/// What happens if a Job is due while another one runs.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum Concurrency {
    Allow,
    Forbid,
    Replace,
}

/// What was observed and done.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_schedule_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_successful_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_schedule_time: Option<Timestamp>,
    active: Vec<String>,
    conditions: Vec<Condition>,
}

/// The status of a Job.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JobStatus {
    completion_time: Option<Timestamp>,
    conditions: Vec<JobCondition>,
}

/// A condition of a Job.
#[derive(Deserialize)]
struct JobCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// The controller.
#[derive(Default)]
pub struct Backups;

impl Reconciler for Backups {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Backup");
    const WRITES_STATUS: bool = true;
    type Object = Backup;

    fn watch() -> Watch {
        Watch::default().spec_changes_only()
    }

    fn needs() -> Needs {
        let verbs = ["get", "list", "watch", "create", "delete"];
        need("batch/v1", "Job", &verbs).fields([".status.conditions", ".status.completionTime"])
    }

    fn reconcile(&self, backup: &Backup, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let spec = &backup.spec;
        let mut status = backup.status.clone().unwrap_or_default();
        let schedule = match Schedule::new(&spec.schedule, &spec.time_zone) {
            Ok(schedule) => schedule,
            Err((reason, message)) => {
                status.next_schedule_time = None;
                let ready = Condition::fails("Ready", reason, &message);
                report(backup, cluster, status, ready)?;
                return Err(Failure::terminal(message));
            }
        };
        let now = time(&cluster.now())?;
        let due = schedule.last(now).filter(|due| is_due(backup, *due, now));
        if let Some(due) = due {
            start(backup, cluster, due)?;
            status.last_schedule_time = Some(due);
        }
        status.next_schedule_time = schedule.next(now).filter(|_| !spec.suspend);
        if let Some(next) = status.next_schedule_time {
            cluster.wake_at(&next.to_string());
        }

        let jobs = jobs(backup, cluster)?;
        let running = jobs.iter().filter(|job| is_running(job));
        status.active = running.map(|job| job.name().to_owned()).collect();
        let statuses = jobs.iter().filter_map(|job| job.status.as_ref());
        status.last_successful_time = statuses.filter_map(|job| job.completion_time).max();
        let ready = ready(spec, &status);
        report(backup, cluster, status, ready)?;

        // After the status, which says that they are not made again.
        let ended = |condition| jobs.iter().filter(move |job| has(job, condition));
        let complete = ended("Complete").skip(spec.keep);
        let failed = ended("Failed").skip(spec.keep_failed);
        for old in complete.chain(failed) {
            cluster.delete(&old.reference())?;
        }
        Ok(Action::AwaitChange)
    }
}

/// Whether a Job must start for this time, which is the last one of the schedule.
fn is_due(backup: &Backup, due: Timestamp, now: Timestamp) -> bool {
    let status = backup.status.as_ref();
    let last = status.and_then(|status| status.last_schedule_time);
    let deadline = SignedDuration::from_secs(backup.spec.starting_deadline_seconds);
    let is_new = last.is_none_or(|last| due > last);
    !backup.spec.suspend && is_new && now.duration_since(due) <= deadline
}

/// Starts the Job of this time, or leaves it out if another one runs.
fn start(backup: &Backup, cluster: &dyn Cluster, due: Timestamp) -> Result<(), Failure> {
    let name = format!("{}-{}", backup.name(), due.as_second() / 60);
    let jobs = jobs(backup, cluster)?;
    if jobs.iter().any(|job| job.name() == name) {
        // A call has made it, and did not come to its status.
        return Ok(());
    }
    let mut running = jobs.iter().filter(|job| is_running(job));
    match backup.spec.concurrency {
        Concurrency::Allow => {}
        Concurrency::Forbid => {
            if let Some(other) = running.next() {
                let note = format!("{} still runs: the Job of {due} is left out", other.name());
                cluster.event(Event::warning("JobRuns", "StartJob", note));
                return Ok(());
            }
        }
        Concurrency::Replace => {
            for other in running {
                cluster.delete(&other.reference())?;
            }
        }
    }
    cluster.create(job(backup, &name))?;
    let note = format!("{name} is made");
    cluster.event(Event::normal("JobStarted", "StartJob", note));
    Ok(())
}

/// The Job with this name.
fn job(backup: &Backup, name: &str) -> Manifest {
    let Spec { image, args, .. } = &backup.spec;
    backup.child("batch/v1", "Job", name).spec(json!({
        "backoffLimit": 2,
        "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "backup", "image": image, "args": args }],
        }},
    }))
}

/// The Jobs of a Backup, the newest first.
fn jobs(backup: &Backup, cluster: &dyn Cluster) -> Result<Vec<Job>, Error> {
    let namespace = backup.metadata.namespace.as_deref().unwrap_or_default();
    let query = ChildrenQuery::all("batch/v1", "Job").in_namespace(namespace);
    let mut jobs: Vec<Job> = cluster.list_children(&query)?;
    // Their names end with a number of minutes, which has eight digits until the year 2160.
    jobs.sort_by(|one, other| other.name().cmp(one.name()));
    Ok(jobs)
}

/// Whether a Job has this condition.
fn has(job: &Job, kind: &str) -> bool {
    let mut conditions = job.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.kind == kind && condition.status == "True")
}

fn is_running(job: &Job) -> bool {
    !has(job, "Complete") && !has(job, "Failed")
}

/// Whether the schedule is in force.
fn ready(spec: &Spec, status: &Status) -> Condition {
    if spec.suspend {
        Condition::fails("Ready", "Suspended", "spec.suspend is true")
    } else if status.next_schedule_time.is_none() {
        Condition::fails("Ready", "NeverDue", "the schedule has no next time")
    } else {
        Condition::holds("Ready", "Scheduled", "the schedule is in force")
    }
}

/// Writes the status.
fn report(
    backup: &Backup,
    cluster: &dyn Cluster,
    mut status: Status,
    ready: Condition,
) -> Result<(), Error> {
    let generation = backup.metadata.generation;
    let ready = ready.observed(generation);
    status.observed_generation = generation;
    status.conditions = vec![ready.since(&status.conditions, &cluster.now())];
    cluster.apply_status(backup, status)
}

/// A time of the host.
fn time(text: &str) -> Result<Timestamp, Failure> {
    let wrong = |error| Failure::transient(format!("{text:?} is not a time: {error}"));
    text.parse().map_err(wrong)
}

export!(Backups);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<Backups>("tests").unwrap();
    }
}
