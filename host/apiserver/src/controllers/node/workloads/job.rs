//! The status of a Job.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Stage;
use crate::{conditions, meta};

pub(super) fn stage(job: &Value) -> Option<Stage> {
    let ended = ["Complete", "Failed"]
        .iter()
        .any(|kind| conditions::is_true(job, kind));
    if ended || job.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return None;
    }
    let started = job
        .pointer("/status/startTime")
        .is_some_and(|time| !time.is_null());
    Some(if started {
        Stage::Done
    } else {
        Stage::Starting
    })
}

pub(super) fn status(job: &Value, stage: Stage, now: Timestamp) -> Value {
    let number = |field: &str| {
        job.pointer(&format!("/spec/{field}"))
            .and_then(Value::as_i64)
    };
    let parallelism = number("parallelism").unwrap_or(1);
    let completions = number("completions").unwrap_or(parallelism);
    let now = meta::time(now);
    let held = |field: &str| job.pointer(&format!("/status/{field}")).cloned();
    let mut status = json!({
        "ready": 0,
        "startTime": held("startTime").unwrap_or_else(|| now.as_str().into()),
        "terminating": 0,
        "uncountedTerminatedPods": {},
    });
    let active = parallelism.min(completions);
    match stage {
        Stage::Starting | Stage::Stuck(_) if active > 0 => meta::put(&mut status, "active", active),
        Stage::Starting | Stage::Stuck(_) => {}
        Stage::Expired => {
            if active > 0 {
                meta::put(&mut status, "failed", active);
            }
            let why = (
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            );
            let both = ["FailureTarget", "Failed"].map(|kind| condition(kind, why, &now));
            meta::put(&mut status, "conditions", both.to_vec());
        }
        Stage::Done => {
            if completions > 0 {
                meta::put(&mut status, "succeeded", completions);
            }
            if job.pointer("/spec/completionMode").and_then(Value::as_str) == Some("Indexed") {
                meta::put(&mut status, "completedIndexes", indexes(completions));
            }
            meta::put(&mut status, "completionTime", now.as_str());
            let why = (
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            );
            let both = ["SuccessCriteriaMet", "Complete"].map(|kind| condition(kind, why, &now));
            meta::put(&mut status, "conditions", both.to_vec());
        }
    }
    status
}

fn condition(kind: &str, (reason, message): (&str, &str), now: &str) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": now,
        "lastTransitionTime": now,
    })
}

/// How long a job may be active.
pub(super) fn deadline(job: &Value) -> Option<Duration> {
    let seconds = job.pointer("/spec/activeDeadlineSeconds")?.as_i64()?;
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

/// How long a job has been active; nothing if it has not started.
pub(super) fn active(job: &Value, now: Timestamp) -> Option<Duration> {
    let started = job.pointer("/status/startTime").and_then(Value::as_str);
    let started: Timestamp = started?.parse().ok()?;
    Some(Duration::try_from(now.duration_since(started)).unwrap_or_default())
}

/// How long a job may still be active; nothing if it has no deadline, or has not started.
pub(super) fn remaining(job: &Value, now: Timestamp) -> Option<Duration> {
    Some(deadline(job)?.saturating_sub(active(job, now)?))
}

/// All indexes, as Kubernetes writes them.
fn indexes(count: i64) -> String {
    match count {
        ..=0 => String::new(),
        1 => "0".to_owned(),
        2 => "0,1".to_owned(),
        count => format!("0-{}", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_starts_and_completes() {
        let now = "2026-11-21T09:30:00Z".parse().unwrap();
        let mut job = json!({ "spec": { "completions": 2, "parallelism": 3 } });
        assert_eq!(stage(&job), Some(Stage::Starting));
        let starting = status(&job, Stage::Starting, now);
        assert_eq!(starting["active"], 2);
        meta::put(&mut job, "status", starting);
        assert_eq!(stage(&job), Some(Stage::Done));
        let done = status(&job, Stage::Done, now);
        assert_eq!((&done["succeeded"], done.get("active")), (&json!(2), None));
        meta::put(&mut job, "status", done);
        assert_eq!(stage(&job), None);
        let mut late = json!({
            "spec": { "activeDeadlineSeconds": 5 }, "status": { "startTime": "2026-11-21T09:29:55Z" },
        });
        assert_eq!(remaining(&late, now), Some(Duration::ZERO));
        let failed = status(&late, Stage::Expired, now);
        assert_eq!(
            (&failed["failed"], failed.get("succeeded")),
            (&json!(1), None)
        );
        assert_eq!(failed["conditions"][1]["type"], "Failed");
        late["status"]["startTime"] = "2026-11-21T09:29:56Z".into();
        assert_eq!(remaining(&late, now), Some(Duration::from_secs(1)));
        let suspended = json!({ "spec": { "suspend": true } });
        assert_eq!(stage(&suspended), None);
        assert_eq!([indexes(1), indexes(2), indexes(5)], ["0", "0,1", "0-4"]);
    }
}
