//! Requests for certificates, and what is approved of them.

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, object, put};
use crate::json::text;

/// Who decides about a request sees who made it, and nobody decides beforehand.
pub(super) fn create(request: &mut Fields, write: BuiltInWrite<'_>) {
    let user = write.user;
    put(request, "spec", json!({}));
    if let Some(spec) = object(request, "spec") {
        let own = [
            ("username", json!(user.name), user.name.is_empty()),
            ("uid", json!(user.uid), user.uid.is_empty()),
            ("groups", json!(user.groups), user.groups.is_empty()),
            ("extra", json!(user.extra), user.extra.is_empty()),
        ];
        for (field, value, is_empty) in own {
            spec.remove(field);
            if !is_empty {
                spec.insert(field.to_owned(), value);
            }
        }
    }
    request.insert("status".to_owned(), json!({}));
}

/// Conditions get their times; those that the kind's status endpoint may not touch stay.
pub(super) fn conditions(request: &mut Fields, old: &Fields, write: BuiltInWrite<'_>) {
    let held = old
        .get("status")
        .and_then(|status| status.get("conditions"))
        .and_then(Value::as_array);
    let held = held.map(Vec::as_slice).unwrap_or_default();
    let Some(Value::Array(conditions)) =
        object(request, "status").and_then(|status| status.get_mut("conditions"))
    else {
        return;
    };
    for condition in conditions {
        let Value::Object(condition) = condition else {
            continue;
        };
        let absent = |condition: &Fields, field: &str| text(condition, field).is_empty();
        if absent(condition, "lastUpdateTime") {
            condition.insert("lastUpdateTime".to_owned(), write.now.into());
        }
        if absent(condition, "lastTransitionTime") {
            let same = |other: &&Value| {
                ["type", "status"]
                    .iter()
                    .all(|field| other.get(field) == condition.get(*field))
            };
            let since = held
                .iter()
                .find(same)
                .and_then(|other| other.get("lastTransitionTime"))
                .cloned()
                .unwrap_or_else(|| write.now.into());
            condition.insert("lastTransitionTime".to_owned(), since);
        }
    }
}
