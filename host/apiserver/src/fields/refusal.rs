//! An apply's no, in the real server's words.

use http::StatusCode;

use super::managers::{Manager, ManagerOperation};
use super::path::path_text;
use super::updater::Conflict;
use crate::status::shown::quoted;
use crate::status::{Cause, Refusal};

/// 409: others own the fields that would change.
pub(super) fn conflict(conflicts: &[Conflict]) -> Refusal {
    let mut refusal = Refusal::new(StatusCode::CONFLICT, "Conflict", message(conflicts));
    let causes = conflicts.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", display(&conflict.manager)),
        field: path_text(&conflict.path),
    });
    refusal.details.causes = causes.collect();
    refusal
}

/// 500, without a reason: what the real server answers to errors that it has no status for.
pub(super) fn unknown(message: String) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

fn message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            display(&only.manager),
            path_text(&only.path)
        );
    }
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", display(&conflict.manager)));
            last = Some(&conflict.manager);
        }
        lines.push(format!("- {}", path_text(&conflict.path)));
    }
    let count = conflicts.len();
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

/// `"kubectl" with subresource "status" using apps/v1`.
fn display(manager: &Manager) -> String {
    let mut shown = quoted(&manager.name);
    if !manager.subresource.is_empty() {
        shown += &format!(" with subresource {}", quoted(&manager.subresource));
    }
    if manager.operation == ManagerOperation::Update {
        shown += &format!(" using {}", manager.api_version);
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::path::PathElement;
    use super::*;

    fn conflicting(manager: &Manager, fields: &[&str]) -> Conflict {
        let fields = fields.iter();
        Conflict {
            manager: manager.clone(),
            path: fields.map(|name| PathElement::field(*name)).collect(),
        }
    }

    #[test]
    fn conflicts_read_as_the_real_servers() {
        let kubectl = Manager::new("kubectl", ManagerOperation::Update, "apps/v1", "");
        let one = conflict(&[conflicting(&kubectl, &["spec", "replicas"])]);
        assert_eq!(
            one.to_value(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Apply failed with 1 conflict: conflict with \"kubectl\" using apps/v1: .spec.replicas",
                "reason": "Conflict",
                "details": { "causes": [{
                    "reason": "FieldManagerConflict",
                    "message": "conflict with \"kubectl\" using apps/v1",
                    "field": ".spec.replicas",
                }] },
                "code": 409,
            })
        );
        let applier = Manager::new("a", ManagerOperation::Apply, "apps/v1", "status");
        let more = conflict(&[
            conflicting(&applier, &["status", "replicas"]),
            conflicting(&kubectl, &["spec", "paused"]),
            conflicting(&kubectl, &["spec", "replicas"]),
        ]);
        assert_eq!(
            more.message,
            "Apply failed with 3 conflicts: conflicts with \"a\" with subresource \"status\":\n- \
             .status.replicas\nconflicts with \"kubectl\" using apps/v1:\n- .spec.paused\n- .spec.replicas"
        );
    }

    #[test]
    fn errors_without_a_status_have_no_reason() {
        assert_eq!(
            unknown("no".to_owned()).to_value(),
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "no", "code": 500 })
        );
    }
}
