//! What became of the Jobs that were started.

use windlass_kit::finished::Finish;
use windlass_sdk::Event;

use crate::object::{Child, CronJob, Status};

/// The status as it follows from the Jobs of a CronJob, and what there is to tell.
///
/// - A Job that has finished, or is gone, is no longer active.
/// - A Job that the controller has created counts, also if the status does not say so: the write of the status was lost.
pub(crate) fn follow(cron: &CronJob, children: &[Child]) -> (Status, Vec<Event>) {
    let mut status = cron.status.clone().unwrap_or_default();
    let mut events = Vec::new();
    for child in children {
        let (name, uid) = (&child.metadata.name, &child.metadata.uid);
        let is_active = status.active.iter().any(|active| active.uid == *uid);
        let scheduled = child.scheduled_for(cron.name());
        match child.finish() {
            Some(how) if is_active => {
                status.active.retain(|active| active.uid != *uid);
                let how = how.as_str();
                let note = format!("Saw completed job: {name}, condition: {how}");
                events.push(Event::normal("SawCompletedJob", "FollowJob", note));
            }
            None if !is_active && !child.metadata.is_deleting() => {
                if scheduled.is_some() {
                    status.active.push(child.reference());
                } else {
                    let note =
                        format!("Saw a job that the controller did not create or forgot: {name}");
                    events.push(Event::warning("UnexpectedJob", "FollowJob", note));
                }
            }
            Some(_) | None => {}
        }
        if child.finish() == Some(Finish::Complete) {
            status.last_successful_time = status.last_successful_time.max(child.completed_at());
        }
        status.last_schedule_time = status.last_schedule_time.max(scheduled);
    }
    status.active.retain(|active| {
        let is_there = children
            .iter()
            .any(|child| child.metadata.uid == active.uid);
        if !is_there {
            let note = format!("Active job went missing: {}", active.name);
            events.push(Event::normal("MissingJob", "FollowJob", note));
        }
        is_there
    });
    (status, events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job;
    use serde_json::{Value, json};

    const EARLY: &str = "2026-11-26T02:00:00Z";
    const LATE: &str = "2026-11-27T02:00:00Z";

    fn cron(status: &Value) -> CronJob {
        serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": { "name": "db", "namespace": "default", "uid": "u" },
            "spec": { "schedule": "0 2 * * *", "jobTemplate": {} }, "status": status,
        }))
        .unwrap()
    }

    /// A Job for a time of the schedule.
    fn child(time: &str, conditions: &Value) -> Child {
        let name = job::name("db", time.parse().unwrap());
        serde_json::from_value(json!({
            "metadata": { "name": name, "uid": name, "annotations": { job::SCHEDULED: time } },
            "status": { "conditions": conditions, "completionTime": time },
        }))
        .unwrap()
    }

    fn by_hand() -> Child {
        serde_json::from_value(json!({ "metadata": { "name": "db-now", "uid": "by-hand" } }))
            .unwrap()
    }

    fn active(times: &[&str]) -> Value {
        let references = times
            .iter()
            .map(|time| json!({ "uid": child(time, &json!([])).metadata.uid, "name": "it" }));
        references.collect()
    }

    #[test]
    fn the_status_follows_the_jobs() {
        let runs = json!([]);
        let complete = json!([{ "type": "Complete", "status": "True" }]);
        let failed = json!([{ "type": "Failed", "status": "True" }]);
        let cases = [
            ("nothing", json!({}), vec![], (0, None, None), vec![]),
            (
                "it runs",
                json!({ "active": active(&[EARLY]), "lastScheduleTime": EARLY }),
                vec![child(EARLY, &runs)],
                (1, Some(EARLY), None),
                vec![],
            ),
            (
                "it is complete",
                json!({ "active": active(&[EARLY]), "lastScheduleTime": EARLY }),
                vec![child(EARLY, &complete)],
                (0, Some(EARLY), Some(EARLY)),
                vec!["Saw completed job: db-29927640, condition: Complete"],
            ),
            (
                "one has failed, and one still runs",
                json!({ "active": active(&[EARLY, LATE]), "lastScheduleTime": LATE }),
                vec![child(EARLY, &failed), child(LATE, &runs)],
                (1, Some(LATE), None),
                vec!["Saw completed job: db-29927640, condition: Failed"],
            ),
            (
                "it was complete before, and an earlier one does not count",
                json!({ "lastScheduleTime": LATE, "lastSuccessfulTime": LATE }),
                vec![child(EARLY, &complete)],
                (0, Some(LATE), Some(LATE)),
                vec![],
            ),
            (
                "somebody has deleted it",
                json!({ "active": active(&[EARLY]), "lastScheduleTime": EARLY }),
                vec![],
                (0, Some(EARLY), None),
                vec!["Active job went missing: it"],
            ),
            (
                "the write of the status was lost",
                json!({ "lastScheduleTime": EARLY }),
                vec![child(LATE, &runs)],
                (1, Some(LATE), None),
                vec![],
            ),
            (
                "somebody has started one",
                json!({}),
                vec![by_hand()],
                (0, None, None),
                vec!["Saw a job that the controller did not create or forgot: db-now"],
            ),
        ];
        for (case, status, children, (count, scheduled, successful), notes) in cases {
            let (status, events) = follow(&cron(&status), &children);
            let told: Vec<_> = events.iter().map(|event| &*event.note).collect();
            assert_eq!(status.active.len(), count, "{case}");
            assert_eq!(
                status.last_schedule_time,
                scheduled.map(|time| time.parse().unwrap()),
                "{case}"
            );
            assert_eq!(
                status.last_successful_time,
                successful.map(|time| time.parse().unwrap()),
                "{case}"
            );
            assert_eq!(told, notes, "{case}");
        }
    }

    #[test]
    fn a_job_that_is_being_deleted_does_not_become_active() {
        let mut going = child(EARLY, &json!([]));
        going.metadata.deletion_timestamp = EARLY.parse().ok();
        let (status, events) = follow(&cron(&json!({})), &[going]);
        assert!(status.active.is_empty() && events.is_empty());
    }
}
