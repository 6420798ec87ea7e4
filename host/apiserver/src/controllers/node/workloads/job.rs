//! The status of a Job.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Stage;
use crate::write::{conditions, meta};

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
        Stage::Starting if active > 0 => meta::put(&mut status, "active", active),
        Stage::Starting => {}
        Stage::Done => {
            if completions > 0 {
                meta::put(&mut status, "succeeded", completions);
            }
            if job.pointer("/spec/completionMode").and_then(Value::as_str) == Some("Indexed") {
                meta::put(&mut status, "completedIndexes", indexes(completions));
            }
            meta::put(&mut status, "completionTime", now.as_str());
            let condition = |kind: &str| {
                json!({
                    "type": kind,
                    "status": "True",
                    "reason": "CompletionsReached",
                    "message": "Reached expected number of succeeded pods",
                    "lastProbeTime": now,
                    "lastTransitionTime": now,
                })
            };
            let both = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
            meta::put(&mut status, "conditions", both);
        }
    }
    status
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
        let suspended = json!({ "spec": { "suspend": true } });
        assert_eq!(stage(&suspended), None);
        assert_eq!([indexes(1), indexes(2), indexes(5)], ["0", "0,1", "0-4"]);
    }
}
