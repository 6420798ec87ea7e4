//! Whether a Job is finished, how, and since when.

use jiff::Timestamp;
use serde::Deserialize;

/// The field of a Job that says so.
pub const FIELD: &str = ".status.conditions";

/// A condition of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobCondition {
    r#type: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

/// How a Job has finished. It never runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It has done its work.
    Complete,
    /// It has given up.
    Failed,
}

impl Finish {
    /// The type of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Failed => "Failed",
        }
    }
}

/// How a Job with these conditions has finished, and when, if somebody says when. None: it is not finished.
pub fn finished(conditions: &[JobCondition]) -> Option<(Finish, Option<Timestamp>)> {
    conditions.iter().find_map(|condition| {
        let how = match (&*condition.r#type, &*condition.status) {
            ("Complete", "True") => Finish::Complete,
            ("Failed", "True") => Finish::Failed,
            _ => return None,
        };
        Some((how, condition.last_transition_time))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_is_finished_if_it_is_complete_or_has_failed() {
        const AT: &str = "2026-11-21T09:30:00Z";
        let at = AT.parse().ok();
        let cases = [
            (json!([]), None),
            (json!([{ "type": "Complete", "status": "False" }]), None),
            (json!([{ "type": "Failed", "status": "Unknown" }]), None),
            // It will be complete, or fail, but its pods still end.
            (
                json!([{ "type": "SuccessCriteriaMet", "status": "True" }]),
                None,
            ),
            (json!([{ "type": "FailureTarget", "status": "True" }]), None),
            (json!([{ "type": "Suspended", "status": "True" }]), None),
            (
                json!([{ "type": "Complete", "status": "True" }]),
                Some((Finish::Complete, None)),
            ),
            (
                json!([
                    { "type": "SuccessCriteriaMet", "status": "True" },
                    { "type": "Complete", "status": "True", "lastTransitionTime": AT },
                ]),
                Some((Finish::Complete, at)),
            ),
            (
                json!([{ "type": "Failed", "status": "True", "lastTransitionTime": AT }]),
                Some((Finish::Failed, at)),
            ),
        ];
        for (conditions, want) in cases {
            let read: Vec<JobCondition> = serde_json::from_value(conditions.clone()).unwrap();
            assert_eq!(finished(&read), want, "{conditions}");
        }
    }
}
