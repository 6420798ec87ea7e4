//! Starts the Job that is due.

use jiff::Timestamp;
use serde_json::Value;
use windlass_sdk::{Cluster, Code, Consistency, Event, Failure};

use crate::object::{Child, ConcurrencyPolicy, CronJob, Reference, Status};
use crate::timing::{Start, Timing};
use crate::{delete, job, reference, text};

/// Starts the Job that is due, and asks for a call when the next one is. The status says then that it runs.
///
/// # Errors
/// Bad schedules are terminal. What may work later is transient.
pub(crate) fn start(
    cron: &CronJob,
    now: Timestamp,
    status: &mut Status,
    cluster: &dyn Cluster,
) -> Result<(), Failure> {
    let spec = &cron.spec;
    if spec.suspend == Some(true) {
        return Ok(());
    }
    let timing = Timing::new(spec).map_err(|(reason, message)| {
        cluster.event(Event::warning(reason, "Schedule", &*message));
        Failure::Terminal(message)
    })?;
    if timing.has_prefix {
        let schedule = &spec.schedule;
        let note = format!(
            "CRON_TZ or TZ used in schedule {schedule:?} is not officially supported, use spec.timeZone"
        );
        cluster.event(Event::warning("UnsupportedSchedule", "Schedule", note));
    }
    let created = cron.metadata.creation_timestamp();
    let created = created.and_then(|time| time.parse().ok());
    let since = status.last_schedule_time.or(created).unwrap_or(now);
    let due = timing.due(since, now, spec.starting_deadline_seconds);
    if let Some(next) = due.next {
        cluster.wake_at(&next.to_string());
    }
    if due.too_many {
        let note = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
        cluster.event(Event::warning("TooManyMissedTimes", "Schedule", note));
    }
    let time = match due.start {
        Start::Nothing => return Ok(()),
        Start::At(time) => time,
        Start::TooLate(time) => {
            let time = time.strftime("%a, %d %b %Y %H:%M:%S +0000");
            let note = format!("Missed scheduled time to start a job: {time}");
            cluster.event(Event::warning("MissSchedule", "Schedule", note));
            return Ok(());
        }
    };
    match spec.concurrency_policy {
        ConcurrencyPolicy::Forbid if !status.active.is_empty() => {
            let note = "Not starting job because prior execution is running and concurrency policy is Forbid";
            cluster.event(Event::normal("JobAlreadyActive", "Schedule", note));
            return Ok(());
        }
        ConcurrencyPolicy::Replace => {
            let active = status.active.iter();
            delete(active.map(|job| (&*job.name, &*job.uid)), cron, cluster)?;
            status.active.clear();
        }
        ConcurrencyPolicy::Allow | ConcurrencyPolicy::Forbid => {}
    }
    let manifest = job::manifest(cron, time, &timing.shown);
    if let Some(job) = create(cron, &job::name(cron.name(), time), manifest, cluster)? {
        // `@every 10s` has several times with the same name.
        if status.active.iter().all(|active| active.uid != job.uid) {
            status.active.push(job);
        }
        status.last_schedule_time = Some(time);
    }
    Ok(())
}

/// Creates the Job. None if this Job can never be created.
fn create(
    cron: &CronJob,
    name: &str,
    manifest: Value,
    cluster: &dyn Cluster,
) -> Result<Option<Reference>, Failure> {
    let error = match cluster.create(manifest) {
        Ok(created) => {
            let note = format!("Created job {name}");
            cluster.event(Event::normal("SuccessfulCreate", "CreateJob", note));
            return Ok(Some(serde_json::from_value::<Child>(created)?.reference()));
        }
        // The namespace is going away.
        Err(error) if error.code == Code::Gone => return Ok(None),
        Err(error) if error.code == Code::Conflict => match find(cron, name, cluster)? {
            Some(ours) => return Ok(Some(ours)),
            None => error,
        },
        Err(error) => error,
    };
    let note = format!("Error creating job: {}", text(&error));
    cluster.event(Event::warning("FailedCreate", "CreateJob", note));
    match error.code {
        // Somebody else's Job has the name. The next Job has another one.
        Code::Conflict => Ok(None),
        _ => Err(Failure::transient(error.to_string())),
    }
}

/// The Job with this name, if it is one of the CronJob: the answer to an earlier pass was lost.
fn find(cron: &CronJob, name: &str, cluster: &dyn Cluster) -> Result<Option<Reference>, Failure> {
    let target = reference(cron, name);
    // This read is tracked: if the Job goes, the next pass can create its own.
    cluster.find::<Value>(&target)?;
    let found = cluster.get_json(&target, None, Consistency::Latest)?;
    let job: Child = serde_json::from_value(found)?;
    let owner = job.metadata.controller().map(|owner| &owner.uid);
    Ok((owner == Some(&cron.metadata.uid)).then(|| job.reference()))
}
