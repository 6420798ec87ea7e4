//! Conditions in a status.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::meta;

/// A condition of an object, by its type.
pub(crate) fn get<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter()
        .find(|held| held.get("type").and_then(Value::as_str) == Some(kind))
}

/// Whether a condition of an object is `True`.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    let status = get(object, kind).and_then(|held| held.get("status"));
    status.and_then(Value::as_str) == Some("True")
}

/// Sets a condition of an object; its time of transition moves only with its status.
pub(crate) fn set(
    object: &mut Value,
    kind: &str,
    status: &str,
    (reason, message): (&str, &str),
    now: Timestamp,
) {
    let condition = json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": meta::time(now),
    });
    put(object, condition);
}

/// Puts a condition in the place of the one of its type, or after the others; its time of transition
/// stays if its status does.
pub(crate) fn put(object: &mut Value, mut condition: Value) {
    let held = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let mut all = held.cloned().unwrap_or_default();
    let (kind, status) = (
        condition.get("type").cloned(),
        condition.get("status").cloned(),
    );
    match all
        .iter_mut()
        .find(|held| held.get("type") == kind.as_ref())
    {
        Some(held) => {
            let since = held.get("lastTransitionTime").cloned();
            if let Some(since) = since.filter(|_| held.get("status") == status.as_ref()) {
                meta::put(&mut condition, "lastTransitionTime", since);
            }
            *held = condition;
        }
        None => all.push(condition),
    }
    meta::set_in(object, "status", "conditions", Some(Value::Array(all)));
}
