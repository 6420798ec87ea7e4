//! JSON patch (RFC 6902), as `evanphx/json-patch` v4 does it.
//!
//! Where it differs from the RFC, and so from the crate `json-patch`: a field that is absent is null for
//! `test`, and is added by `replace`; indexes below zero count from the end; only objects and lists can
//! be the whole document; a path without a leading slash loses its first part.

use http::StatusCode;
use serde_json::{Map, Value};

use super::json_word;
use crate::mutants::{self, Mutant};
use crate::status::Refusal;

const MAX_OPERATIONS: usize = 10_000;
/// What all `copy` operations may add, in bytes.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// So much deeper than object and patch together the result may become by `move` and `copy`.
const DEEPER: usize = 50;
/// How many values may be looked at for their depth.
const MAX_LOOKS: usize = 10_000_000;
const KNOWN_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a JSON patch.
///
/// # Errors
/// If `patch` is no list of operations or has too many, if one of them cannot be done, or if the result
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
    let mut document = Document::of(object, patch);
    for operation in &operations {
        document.apply(operation).ok_or_else(rejected)?;
    }
    Ok(document.root)
}

/// The same for a patch that no client has sent, of any number of operations.
///
/// # Errors
/// The index of the first operation that cannot be done.
pub(crate) fn json_steps(object: &Value, patch: &Value) -> Result<Value, usize> {
    let mut document = Document::of(object, patch);
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        let done = decode_one(operation)
            .ok()
            .and_then(|operation| document.apply(&operation));
        done.ok_or(index)?;
    }
    Ok(document.root)
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
struct Operation<'a> {
    kind: Option<&'a str>,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

fn decode(patch: &Value) -> Result<Vec<Operation<'_>>, Refusal> {
    match patch {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) => operations.iter().map(decode_one).collect(),
        other => Err(undecodable(other, "value of type []handlers.jsonPatchOp")),
    }
}

fn undecodable(value: &Value, what: &str) -> Refusal {
    let word = json_word(value);
    Refusal::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {word} into Go {what}"
    ))
}

fn decode_one(operation: &Value) -> Result<Operation<'_>, Refusal> {
    match operation {
        Value::Null => Ok(Operation::default()),
        Value::Object(fields) => {
            let text = |name: &str| match fields.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.as_str())),
                Some(other) => {
                    let what = format!("struct field jsonPatchOp.{name} of type string");
                    Err(undecodable(other, &what))
                }
            };
            Ok(Operation {
                kind: text("op")?,
                path: text("path")?,
                from: text("from")?,
                value: fields.get("value"),
            })
        }
        other => Err(undecodable(other, "value of type handlers.jsonPatchOp")),
    }
}

/// The object on its way through the patch.
struct Document {
    root: Value,
    copied: usize,
    deepest: usize,
    /// How many values may still be looked at for their depth.
    looks: usize,
}

impl Document {
    fn of(object: &Value, patch: &Value) -> Self {
        Self {
            root: object.clone(),
            copied: 0,
            deepest: depth(object) + depth(patch) + DEEPER,
            looks: MAX_LOOKS,
        }
    }

    /// `None` if it cannot be done.
    fn apply(&mut self, operation: &Operation<'_>) -> Option<()> {
        let value = || operation.value.cloned().unwrap_or_default();
        match operation.kind? {
            "add" => self.add(operation.path?, value()),
            "remove" => self.remove(operation.path?).map(drop),
            "replace" => self.replace(operation.path?, value()),
            "move" => {
                self.get(operation.from?)?;
                let moved = self.remove(operation.from?)?;
                self.add(operation.path?, moved)
            }
            "copy" => {
                let copy = self.get(operation.from?)?.clone();
                self.copied += copy.to_string().len();
                (self.copied <= MAX_COPIED).then_some(())?;
                self.add(operation.path?, copy)
            }
            "test" => {
                let found = match operation.path? {
                    "" => &self.root,
                    path => self.get(path)?,
                };
                let absent = operation.value.is_none() && !found.is_null();
                (!absent && *found == value()).then_some(())
            }
            _ => None,
        }
    }

    /// The object or list that holds what `path` names, and its name there.
    fn holder(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let mut parts = path.split('/').skip(1).map(unescape);
        let mut key = parts.next()?;
        let mut holder = &mut self.root;
        for next in parts {
            holder = match holder {
                Value::Object(fields) => fields.get_mut(&key)?,
                Value::Array(items) => {
                    let index = index(&key, items.len())?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
            key = next;
        }
        matches!(holder, Value::Object(_) | Value::Array(_)).then_some((holder, key))
    }

    /// A field that is absent is null.
    fn get(&mut self, path: &str) -> Option<&Value> {
        let (holder, key) = self.holder(path)?;
        match holder {
            Value::Object(fields) => {
                let absent = (!mutants::is(Mutant::TestsOfNothingFail)).then_some(&Value::Null);
                fields.get(&key).or(absent)
            }
            Value::Array(items) => {
                let index = index(&key, items.len())?;
                items.get(index)
            }
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        let depth = self.deepest.checked_sub(path.split('/').count())?;
        is_shallow(&value, depth, &mut self.looks).then_some(())?;
        let (holder, key) = self.holder(path)?;
        match holder {
            Value::Object(fields) => {
                fields.insert(key, value);
            }
            Value::Array(items) if key == "-" => items.push(value),
            Value::Array(items) => {
                let index = index(&key, items.len() + 1)?;
                items.insert(index, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        let (holder, key) = self.holder(path)?;
        match holder {
            Value::Object(fields) => fields.remove(&key),
            Value::Array(items) => {
                let index = index(&key, items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }

    fn replace(&mut self, path: &str, value: Value) -> Option<()> {
        if path.is_empty() {
            let whole = matches!(value, Value::Object(_) | Value::Array(_));
            return whole.then(|| self.root = value);
        }
        let (holder, key) = self.holder(path)?;
        match holder {
            Value::Object(fields) => {
                fields.insert(key, value);
            }
            Value::Array(items) => {
                let index = index(&key, items.len())?;
                *items.get_mut(index)? = value;
            }
            _ => return None,
        }
        Some(())
    }
}

/// A place in a list of `length`; below zero counts from its end.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok().filter(|_| index < length)
}

fn unescape(part: &str) -> String {
    // In one pass in Go: "~01" is "~1".
    part.replace("~1", "/").replace("~0", "~")
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Object(fields) => fields.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        _ => return 0,
    };
    below.unwrap_or(0) + 1
}

/// Whether a value has less than `depth` levels.
fn is_shallow(value: &Value, depth: usize, looks: &mut usize) -> bool {
    let Some(left) = looks.checked_sub(1) else {
        return false;
    };
    *looks = left;
    let Some(below) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Object(fields) => fields.values().all(|value| is_shallow(value, below, looks)),
        Value::Array(items) => items.iter().all(|value| is_shallow(value, below, looks)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
