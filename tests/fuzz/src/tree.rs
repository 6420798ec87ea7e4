//! JSON values out of a fuzzer's bytes: bytes alone are seldom JSON.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Number, Value};

/// How deep values are nested.
const DEPTH: usize = 6;
/// The most items of a list, and the most fields.
const MOST: usize = 5;

/// Field names of Kubernetes: the parsers look for them.
const NAMES: [&str; 24] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "managedFields",
    "manager",
    "operation",
    "subresource",
    "fieldsV1",
    "fieldsType",
    "f:spec",
    "ownerReferences",
    "uid",
    "controller",
    "finalizers",
    "deletionTimestamp",
    "resourceVersion",
    "generation",
    "spec",
    "status",
    "items",
];

/// A value that the bytes stand for.
///
/// # Errors
/// There are too few bytes.
pub fn value(bytes: &mut Unstructured<'_>) -> Result<Value> {
    nested(bytes, DEPTH)
}

/// The fields of an object.
///
/// # Errors
/// There are too few bytes.
pub fn fields(bytes: &mut Unstructured<'_>) -> Result<Map<String, Value>> {
    members(bytes, DEPTH)
}

fn nested(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let kinds = if depth == 0 { 4 } else { 6 };
    Ok(match bytes.int_in_range(0..=kinds)? {
        0 => Value::Null,
        1 => Value::Bool(bytes.arbitrary()?),
        2 => Value::from(bytes.arbitrary::<i64>()?),
        3 => Number::from_f64(bytes.arbitrary()?).map_or(Value::Null, Value::Number),
        4 => Value::String(text(bytes)?),
        5 => {
            let count = bytes.int_in_range(0..=MOST)?;
            let items = (0..count).map(|_| nested(bytes, depth - 1));
            Value::Array(items.collect::<Result<_>>()?)
        }
        _ => Value::Object(members(bytes, depth - 1)?),
    })
}

fn members(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Map<String, Value>> {
    let count = bytes.int_in_range(0..=MOST)?;
    let field = |_| Ok((text(bytes)?, nested(bytes, depth)?));
    (0..count).map(field).collect()
}

/// A text: often one that means something.
fn text(bytes: &mut Unstructured<'_>) -> Result<String> {
    if bytes.ratio(3, 4)? {
        Ok((*bytes.choose(&NAMES)?).to_owned())
    } else {
        bytes.arbitrary()
    }
}
