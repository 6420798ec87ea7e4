//! What the tests say of a Plugin object.

use serde_json::Value;

/// What the status says in `field`.
pub(crate) fn says(object: &Value, field: &str) -> String {
    let field = object.pointer(&format!("/status/{field}"));
    field.and_then(Value::as_str).unwrap_or_default().to_owned()
}
