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

/// A write of the status does not touch whether a request is approved: as many of these conditions as before
/// stay as they were. Validation refuses more or fewer of them.
pub(super) fn keep_decisions(request: &mut Fields, old: &Fields) {
    for decision in ["Approved", "Denied"] {
        let is_decision = |condition: &&Value| condition.get("type") == Some(&decision.into());
        let before: Vec<Value> = old
            .get("status")
            .and_then(|status| status.get("conditions")?.as_array())
            .map(|held| held.iter().filter(is_decision).cloned().collect())
            .unwrap_or_default();
        let Some(Value::Array(conditions)) =
            object(request, "status").and_then(|status| status.get_mut("conditions"))
        else {
            return;
        };
        let said = conditions.iter_mut();
        let said: Vec<&mut Value> = said.filter(|said| is_decision(&&**said)).collect();
        if said.len() == before.len() {
            for (said, before) in said.into_iter().zip(before) {
                *said = before;
            }
        }
    }
}

/// Conditions get their times.
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
