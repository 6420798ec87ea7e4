//! JSON patch (RFC 6902), as `evanphx/json-patch` v4 does it.
//!
//! Where it differs from the RFC, and so from the crate `json-patch`: a field that is absent is null for
//! `test`, and is added by `replace`; indexes below zero count from the end; only objects and lists can
//! be the whole document; a path without a leading slash loses its first part.

mod document;
mod places;

use http::StatusCode;
use serde_json::{Map, Value};

use crate::json::type_name;
use crate::status::Refusal;
pub use document::Undone;
use document::{depth, patched};

const MAX_OPERATIONS: usize = 10_000;
const KNOWN_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a JSON patch.
///
/// # Errors
/// If `patch` is not a list of operations or has too many, if one of them cannot be done, or if the result
/// would be far deeper nested than object and patch together.
pub fn json(object: &Value, patch: &Value) -> Result<Value, Refusal> {
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is \
                 {MAX_OPERATIONS}, got {}",
                operations.len()
            ),
        ));
    }
    patched(object, depth(patch), &operations).map_err(|_| rejected())
}

/// Applies the operations of an admission policy.
///
/// # Errors
/// If one of them cannot be done.
pub fn json_made(object: &Value, operations: &[Made<'_>]) -> Result<Value, Undone> {
    let deepest = { operations.iter() }
        .filter_map(|made| Some(depth(made.value?)))
        .max()
        .unwrap_or_default();
    let operations: Vec<PatchOperation<'_>> = { operations.iter() }
        .map(|made| PatchOperation {
            kind: Some(made.op),
            path: Some(made.path),
            from: Some(made.from).filter(|from| !from.is_empty()),
            value: made.value,
        })
        .collect();
    patched(object, deepest, &operations)
}

/// An operation that a policy has made.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in a JSON patch")]
pub struct Made<'a> {
    pub op: &'a str,
    pub path: &'a str,
    /// Empty where nothing is said.
    pub from: &'a str,
    pub value: Option<&'a Value>,
}

/// What strict field validation says about the patch itself.
pub fn json_unknown_fields(patch: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        for name in operation.as_object().into_iter().flat_map(Map::keys) {
            if !KNOWN_FIELDS.contains(&name.as_str()) {
                unknown.push(format!("json patch unknown field \"[{index}].{name}\""));
            }
        }
    }
    unknown
}

/// 422: an operation that cannot be done. The real server does not say which.
fn rejected() -> Refusal {
    Refusal::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
}

#[derive(Debug, Default)]
struct PatchOperation<'a> {
    kind: Option<&'a str>,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

fn decode(patch: &Value) -> Result<Vec<PatchOperation<'_>>, Refusal> {
    let wrong = |value: &Value, what: &str| {
        let word = type_name(value);
        Refusal::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {word} into Go {what}"
        ))
    };
    let operations = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(operations) => operations,
        other => return Err(wrong(other, "value of type []handlers.jsonPatchOp")),
    };
    let decode = |operation| match operation {
        &Value::Null => Ok(PatchOperation::default()),
        Value::Object(fields) => {
            let text = |name: &str| match fields.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.as_str())),
                Some(other) => {
                    let what = format!("struct field jsonPatchOp.{name} of type string");
                    Err(wrong(other, &what))
                }
            };
            Ok(PatchOperation {
                kind: text("op")?,
                path: text("path")?,
                from: text("from")?,
                value: fields.get("value"),
            })
        }
        other => Err(wrong(other, "value of type handlers.jsonPatchOp")),
    };
    operations.iter().map(decode).collect()
}

#[cfg(test)]
mod tests;
