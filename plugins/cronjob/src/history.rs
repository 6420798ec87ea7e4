//! Which finished Jobs are deleted.

use windlass_kit::finished::Finish;

use crate::object::{Child, Spec};

/// The finished Jobs beyond the limits, which start with the oldest. Those that are being deleted already are left out.
pub(crate) fn surplus<'a>(spec: &Spec, children: &'a [Child]) -> Vec<&'a Child> {
    let limits = [
        (Finish::Complete, spec.successful_jobs_history_limit),
        (Finish::Failed, spec.failed_jobs_history_limit),
    ];
    let mut surplus = Vec::new();
    for (how, limit) in limits {
        let Some(limit) = limit else { continue };
        let finished = children.iter().filter(|child| child.finish() == Some(how));
        let mut finished: Vec<_> = finished.collect();
        // Those that nobody has started are the newest.
        finished.sort_by_key(|child| {
            let started = child.started_at();
            (started.is_none(), started, &child.metadata.name)
        });
        finished.truncate(finished.len().saturating_sub(limit));
        surplus.extend(finished);
    }
    surplus.retain(|child| !child.metadata.is_deleting());
    surplus
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn child(name: &str, how: &str, minute: Option<u8>) -> Child {
        let started = minute.map(|minute| format!("2026-11-21T09:{minute:02}:00Z"));
        serde_json::from_value(json!({
            "metadata": { "name": name },
            "status": { "startTime": started, "conditions": [{ "type": how, "status": "True" }] },
        }))
        .unwrap()
    }

    fn spec(successful: &Value, failed: &Value) -> Spec {
        serde_json::from_value(json!({
            "schedule": "@daily", "jobTemplate": {},
            "successfulJobsHistoryLimit": successful, "failedJobsHistoryLimit": failed,
        }))
        .unwrap()
    }

    #[test]
    fn the_oldest_of_each_kind_go_first() {
        let children = [
            child("c", "Complete", Some(3)),
            child("a", "Complete", Some(1)),
            child("never", "Complete", None),
            child("b", "Complete", Some(2)),
            child("runs", "Suspended", Some(0)),
            child("y", "Failed", Some(5)),
            child("x", "Failed", Some(5)),
        ];
        let none = Value::Null;
        let cases = [
            (json!(3), json!(1), vec!["a", "x"]),
            (json!(1), json!(2), vec!["a", "b", "c"]),
            (json!(0), none.clone(), vec!["a", "b", "c", "never"]),
            (none.clone(), json!(0), vec!["x", "y"]),
            (none.clone(), none, vec![]),
            (json!(9), json!(9), vec![]),
        ];
        for (successful, failed, want) in cases {
            let spec = spec(&successful, &failed);
            let names = surplus(&spec, &children).into_iter();
            let names: Vec<_> = names.map(|child| &*child.metadata.name).collect();
            assert_eq!(names, want, "{successful} and {failed}");
        }
    }

    #[test]
    fn nobody_is_deleted_twice() {
        let mut children = [
            child("a", "Complete", Some(1)),
            child("b", "Complete", Some(2)),
        ];
        children[0].metadata.deletion_timestamp = "2026-11-21T10:00:00Z".parse().ok();
        assert!(surplus(&spec(&json!(1), &json!(1)), &children).is_empty());
    }
}
