//! JSON merge patch (RFC 7386), as `evanphx/json-patch` v4 does it.

use serde_json::{Map, Value};

use super::not_an_object;
use crate::mutants::mutant;
use crate::status::Refusal;

/// Applies a merge patch.
///
/// # Errors
/// If `patch` is not an object.
pub fn merge(object: &Value, patch: &Value) -> Result<Value, Refusal> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Err(Refusal::bad_request("Invalid JSON Patch")),
        other => return Err(not_an_object("error decoding patch: ", other)),
    };
    let mut merged = match object {
        Value::Object(object) => object.clone(),
        _ => Map::new(),
    };
    merge_fields(&mut merged, patch);
    Ok(Value::Object(merged))
}

fn merge_fields(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (into.get_mut(name), value) {
            (_, Value::Null) => {
                mutant!(MergedNullsStay, {
                    into.insert(name.clone(), Value::Null);
                    continue;
                });
                into.remove(name);
            }
            (Some(Value::Object(current)), Value::Object(patch)) => merge_fields(current, patch),
            // Only what replaces an object keeps the nulls inside its lists.
            (Some(current @ Value::Object(_)), _) => *current = value.clone(),
            _ => {
                into.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

/// Without fields that are null, in lists too; items that are null stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (name.clone(), without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patches_do_what_the_real_server_does() {
        let rows = [
            (
                json!({ "a": "b" }),
                json!({ "a": "c" }),
                json!({ "a": "c" }),
            ),
            (
                json!({ "a": "b" }),
                json!({ "b": "c" }),
                json!({ "a": "b", "b": "c" }),
            ),
            (json!({ "a": "b" }), json!({ "a": null }), json!({})),
            (
                json!({ "a": "b" }),
                json!({ "z": null }),
                json!({ "a": "b" }),
            ),
            (
                json!({ "a": ["b"] }),
                json!({ "a": "c" }),
                json!({ "a": "c" }),
            ),
            (
                json!({ "a": "c" }),
                json!({ "a": ["b"] }),
                json!({ "a": ["b"] }),
            ),
            (
                json!({ "a": { "b": "c" } }),
                json!({ "a": { "b": "d", "c": null } }),
                json!({ "a": { "b": "d" } }),
            ),
            (
                json!({ "a": [{ "b": "c" }] }),
                json!({ "a": [1] }),
                json!({ "a": [1] }),
            ),
            (
                json!({}),
                json!({ "a": { "bb": { "ccc": null } } }),
                json!({ "a": { "bb": {} } }),
            ),
            // Where RFC 7386 would keep them.
            (
                json!({}),
                json!({ "a": [null, { "b": null }] }),
                json!({ "a": [null, {}] }),
            ),
            (
                json!({ "a": 1 }),
                json!({ "a": [{ "b": null }] }),
                json!({ "a": [{}] }),
            ),
            (
                json!({ "a": {} }),
                json!({ "a": [{ "b": null }] }),
                json!({ "a": [{ "b": null }] }),
            ),
        ];
        for (object, patch, expected) in rows {
            assert_eq!(
                merge(&object, &patch),
                Ok(expected),
                "{object} with {patch}"
            );
        }
    }

    #[test]
    fn what_is_no_merge_patch_is_refused_as_by_the_real_server() {
        let refused = |patch| merge(&json!({}), &patch).unwrap_err().message;
        assert_eq!(refused(json!(null)), "Invalid JSON Patch");
        assert_eq!(
            refused(json!([])),
            "error decoding patch: json: cannot unmarshal array into Go value of type \
             map[string]interface {}"
        );
    }
}
