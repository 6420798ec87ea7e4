//! When the time of a finished Job is up.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use windlass_kit::finished::{JobCondition, finished};
use windlass_kit::metadata::Metadata;

/// A Job, as far as its end is concerned.
#[derive(Deserialize)]
pub struct Job {
    /// What every object has.
    pub metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    ttl_seconds_after_finished: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<JobCondition>,
}

impl Job {
    /// When the Job is to be deleted. None if it stays: it has no time to live, is not finished, or is being deleted.
    ///
    /// # Errors
    /// It is finished, but nobody says since when.
    pub(crate) fn expires_at(&self) -> Result<Option<Timestamp>, String> {
        let Some(seconds) = self.spec.ttl_seconds_after_finished else {
            return Ok(None);
        };
        if self.metadata.is_deleting() {
            return Ok(None);
        }
        let Some((how, at)) = finished(&self.status.conditions) else {
            return Ok(None);
        };
        let at = at.ok_or_else(|| {
            let how = how.as_str();
            format!("the condition {how} of the Job has no lastTransitionTime")
        })?;
        Ok(at.checked_add(SignedDuration::from_secs(seconds)).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_expires_some_time_after_it_has_finished() {
        let finished = json!([{ "type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T09:30:00Z" }]);
        let failed = json!([{ "type": "Failed", "status": "True", "lastTransitionTime": "2026-11-21T09:30:00Z" }]);
        let cases = [
            // No time to live, not finished yet, both.
            (json!(null), finished.clone(), None),
            (json!(60), json!([]), None),
            (
                json!(60),
                json!([{ "type": "Complete", "status": "False" }]),
                None,
            ),
            // At once, later, and never.
            (json!(0), finished.clone(), Some("2026-11-21T09:30:00Z")),
            (json!(60), failed, Some("2026-11-21T09:31:00Z")),
            (
                json!(i32::MAX),
                finished.clone(),
                Some("2094-12-09T12:44:07Z"),
            ),
            (json!(i64::MAX), finished, None),
        ];
        for (ttl, conditions, want) in cases {
            let job = json!({
                "metadata": { "name": "a" },
                "spec": { "ttlSecondsAfterFinished": ttl }, "status": { "conditions": conditions },
            });
            let read: Job = serde_json::from_value(job.clone()).unwrap();
            let want = want.map(|time| time.parse().unwrap());
            assert_eq!(read.expires_at(), Ok(want), "{job}");
        }
    }

    #[test]
    fn a_job_that_is_being_deleted_does_not_expire() {
        let job: Job = serde_json::from_value(json!({
            "metadata": { "name": "a", "deletionTimestamp": "2026-11-21T09:30:00Z" },
            "spec": { "ttlSecondsAfterFinished": 0 },
            "status": { "conditions": [{ "type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T09:30:00Z" }] },
        }))
        .unwrap();
        assert_eq!(job.expires_at(), Ok(None));
    }

    #[test]
    fn without_a_time_it_is_an_error() {
        let job: Job = serde_json::from_value(json!({
            "metadata": { "name": "a" }, "spec": { "ttlSecondsAfterFinished": 0 },
            "status": { "conditions": [{ "type": "Failed", "status": "True" }] },
        }))
        .unwrap();
        let error = job.expires_at().unwrap_err();
        assert_eq!(
            error,
            "the condition Failed of the Job has no lastTransitionTime"
        );
    }
}
