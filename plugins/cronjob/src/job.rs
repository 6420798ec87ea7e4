//! The Job that a CronJob starts.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::object::CronJob;

pub(crate) const API_VERSION: &str = "batch/v1";
pub(crate) const KIND: &str = "Job";

/// The annotation with the time of the schedule for which a Job was created.
pub(crate) const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The name of the Job for a time of the schedule. There is one for each minute, so no Job is created twice.
pub(crate) fn name(cron: &str, time: Timestamp) -> String {
    format!("{cron}-{}", time.as_second().div_euclid(60))
}

/// The Job for a time of the schedule, as the template describes it. The annotation has the time in this zone.
pub(crate) fn manifest(cron: &CronJob, time: Timestamp, zone: &TimeZone) -> Value {
    let template = &cron.spec.job_template;
    let mut annotations = template.metadata.annotations.clone();
    annotations.insert(SCHEDULED.to_owned(), rfc3339(time, zone));
    let mut metadata = Map::new();
    metadata.insert("name".into(), name(cron.name(), time).into());
    metadata.insert("namespace".into(), json!(cron.metadata.namespace));
    if !template.metadata.labels.is_empty() {
        metadata.insert("labels".into(), json!(template.metadata.labels));
    }
    metadata.insert("annotations".into(), json!(annotations));
    metadata.insert("ownerReferences".into(), json!([cron.owner_reference()]));
    json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": template.spec })
}

/// The time as Go writes it: with `Z` in place of an offset of zero.
fn rfc3339(time: Timestamp, zone: &TimeZone) -> String {
    let time = time.to_zoned(zone.clone());
    let format = if time.offset().is_zero() {
        "%Y-%m-%dT%H:%M:%SZ"
    } else {
        "%Y-%m-%dT%H:%M:%S%:z"
    };
    time.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_the_minutes_of_the_time() {
        let cases = [
            ("2026-11-26T02:00:00Z", "db-29927640"),
            ("2026-11-26T02:00:59Z", "db-29927640"),
            ("1970-01-01T00:01:00Z", "db-1"),
        ];
        for (time, want) in cases {
            assert_eq!(name("db", time.parse().unwrap()), want);
        }
    }

    #[test]
    fn the_job_is_as_the_template_describes_it() {
        let cron: CronJob = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": { "name": "db", "namespace": "default", "uid": "u" },
            "spec": {
                "schedule": "0 3 * * *",
                "jobTemplate": {
                    "metadata": { "name": "no", "labels": { "a": "b" }, "annotations": { "c": "d" }, "finalizers": ["x/y"] },
                    "spec": { "backoffLimit": 2 },
                },
            },
        }))
        .unwrap();
        let time = "2026-07-26T01:00:00Z".parse().unwrap();
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "name": "db", "uid": "u",
            "controller": true, "blockOwnerDeletion": true,
        });
        assert_eq!(
            manifest(&cron, time, &TimeZone::get("Europe/Berlin").unwrap()),
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {
                    "name": "db-29750460", "namespace": "default", "labels": { "a": "b" },
                    "annotations": { "c": "d", SCHEDULED: "2026-07-26T03:00:00+02:00" },
                    "ownerReferences": [owner],
                },
                "spec": { "backoffLimit": 2 },
            }),
        );
    }

    #[test]
    fn times_have_the_offset_of_the_zone() {
        let cases = [
            ("UTC", "2026-01-26T01:00:00Z"),
            ("Europe/London", "2026-01-26T01:00:00Z"),
            ("America/New_York", "2026-01-25T20:00:00-05:00"),
            ("Asia/Kolkata", "2026-01-26T06:30:00+05:30"),
        ];
        for (zone, want) in cases {
            let time = "2026-01-26T01:00:00Z".parse().unwrap();
            assert_eq!(rfc3339(time, &TimeZone::get(zone).unwrap()), want);
        }
    }
}
