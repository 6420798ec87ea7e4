//! The merge patch that makes one value of another (RFC 7386).

use serde_json::{Map, Value};

/// What has to be merged into `before` to get `after`. None if they are the same.
pub(crate) fn merge(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        let changed = match before.get(name) {
            Some(before) => merge(before, value),
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(name.clone(), changed);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_sent() {
        for (before, after, patch) in [
            (json!({ "a": 1 }), json!({ "a": 1 }), None),
            (json!({}), json!({ "a": {} }), Some(json!({ "a": {} }))),
            (
                json!({ "a": 1, "b": 2 }),
                json!({ "a": 3 }),
                Some(json!({ "a": 3, "b": null })),
            ),
            (
                json!({ "a": { "b": [1], "c": 2 } }),
                json!({ "a": { "c": 2, "d": [3] } }),
                Some(json!({ "a": { "b": null, "d": [3] } })),
            ),
            (
                json!({ "a": [1] }),
                json!({ "a": [1, 2] }),
                Some(json!({ "a": [1, 2] })),
            ),
        ] {
            assert_eq!(merge(&before, &after), patch, "{before} {after}");
        }
    }
}
