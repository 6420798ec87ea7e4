//! Pure checks of patches: what they touch, whatever way they name it.

use serde_json::{Map, Value};

use super::{LARGEST, check_size, invalid, reserved};
use crate::bindings::cluster::{Error, PatchType};

/// Operations of a JSON patch at most; the API server takes 10,000, but what needs them is not a patch.
const OPERATIONS: usize = 1_000;

/// How deep JSON may be nested, as its parser has it.
const DEPTH: usize = 128;

/// The fields of metadata that are not the guest's to patch.
const GUARDED: [&str; 3] = ["finalizers", "ownerReferences", "managedFields"];

/// A patch, read: what is sent is written again from it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cluster) enum Patch {
    Json(Vec<Value>),
    Merge(Map<String, Value>),
}

impl Patch {
    /// Reads a patch.
    ///
    /// # Errors
    /// It is not a patch of its type.
    pub(in crate::cluster) fn parse(kind: PatchType, text: &str) -> Result<Self, Error> {
        check_size("patch", text)?;
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("the patch is not JSON: {error}")))?;
        match (kind, value) {
            (PatchType::Merge, Value::Object(fields)) => Ok(Self::Merge(fields)),
            (PatchType::Merge, _) => invalid("a merge patch is a JSON object".into()),
            (PatchType::Json, Value::Array(operations)) if operations.len() > OPERATIONS => {
                invalid(format!("a JSON patch has at most {OPERATIONS} operations"))
            }
            (PatchType::Json, Value::Array(operations)) => {
                operations.iter().try_for_each(check_operation)?;
                Ok(Self::Json(operations))
            }
            (PatchType::Json, _) => invalid("a JSON patch is a list of operations".into()),
        }
    }

    /// It as JSON.
    pub(in crate::cluster) fn value(&self) -> Value {
        match self {
            Self::Json(operations) => Value::Array(operations.clone()),
            Self::Merge(fields) => Value::Object(fields.clone()),
        }
    }

    /// The fields that it is about, as an object: what it leads to below these does not matter.
    pub(in crate::cluster) fn sent(&self) -> Value {
        let operations = match self {
            Self::Merge(fields) => return Value::Object(fields.clone()),
            Self::Json(operations) => operations,
        };
        let mut sent = Map::new();
        for operation in operations {
            let op = text(operation, "op").unwrap_or_default();
            let from = text(operation, "from").filter(|_| op == "move");
            let path = text(operation, "path").filter(|_| op != "test");
            for path in from.into_iter().chain(path) {
                mark(&mut sent, path);
            }
        }
        Value::Object(sent)
    }

    /// Whether it would touch finalizers, owner references or managed fields.
    pub(in crate::cluster) fn touches_guarded(&self) -> bool {
        match self {
            Self::Json(operations) => operations.iter().any(|operation| {
                let paths = [text(operation, "path"), text(operation, "from")];
                let reads = text(operation, "op") == Some("test");
                !reads && paths.into_iter().flatten().any(leads_to_guarded)
            }),
            Self::Merge(fields) => fields.iter().any(|(name, value)| {
                name.eq_ignore_ascii_case("metadata")
                    && value
                        .as_object()
                        .is_none_or(|metadata| metadata.keys().any(|name| is_guarded(name)))
            }),
        }
    }

    /// Whether it would touch a label or annotation under `windlass.dev/`: also by replacing or removing all of
    /// them, since nobody knows which ones the object has when the patch arrives.
    pub(in crate::cluster) fn touches_reserved(&self) -> bool {
        match self {
            Self::Json(operations) => operations.iter().any(|operation| {
                let op = text(operation, "op").unwrap_or_default();
                // A copy only reads where it comes from.
                let from = text(operation, "from").filter(|_| op == "move");
                let path = text(operation, "path").filter(|_| op != "test");
                path.into_iter().chain(from).any(reserved::at_pointer)
            }),
            Self::Merge(fields) => {
                let of_metadata = fields
                    .iter()
                    .filter(|(name, _)| name.eq_ignore_ascii_case("metadata"))
                    .filter_map(|(_, value)| value.as_object());
                let maps = of_metadata.flatten();
                maps.filter(|(name, _)| reserved::is_map(name))
                    .any(|(_, patch)| reserved::in_merge(patch))
            }
        }
    }

    /// `object` as the API server would leave it.
    ///
    /// # Errors
    /// An operation that cannot be done, or a result that no server would take.
    pub(in crate::cluster) fn apply(self, mut object: Value) -> Result<Value, Error> {
        match self {
            Self::Merge(fields) => json_patch::merge(&mut object, &Value::Object(fields)),
            Self::Json(operations) => {
                let mut copied = 0;
                for operation in operations {
                    if let (Some("copy"), Some(from)) =
                        (text(&operation, "op"), text(&operation, "from"))
                    {
                        copied += object.pointer(from).map_or(0, size);
                    }
                    if copied > LARGEST {
                        return invalid("the patch copies more than 3 MiB".into());
                    }
                    let wrong = |error: String| Error::invalid(error);
                    let operation: json_patch::PatchOperation =
                        serde_json::from_value(operation)
                            .map_err(|error| wrong(error.to_string()))?;
                    json_patch::patch(&mut object, &[operation])
                        .map_err(|error| wrong(error.to_string()))?;
                    if depth(&object) > DEPTH {
                        return invalid("the patch nests too deep".into());
                    }
                }
            }
        }
        Ok(object)
    }

    /// The version of the object that it names or tests: it is for no other.
    pub(in crate::cluster) fn version(&self) -> Option<&str> {
        match self {
            Self::Json(operations) => {
                let is_version = |operation: &&Value| {
                    text(operation, "op") == Some("test")
                        && text(operation, "path") == Some("/metadata/resourceVersion")
                };
                text(operations.iter().find(is_version)?, "value")
            }
            Self::Merge(fields) => fields.get("metadata")?.get("resourceVersion")?.as_str(),
        }
    }

    /// Whether applying it twice is as applying it once: it only sets what it names.
    pub(in crate::cluster) fn repeats_harmlessly(&self) -> bool {
        let Self::Json(operations) = self else {
            return true;
        };
        let is = |operation: &Value, op: &str| text(operation, "op") == Some(op);
        let sets = |operation: &Value| is(operation, "test") || is(operation, "replace");
        operations.iter().all(sets)
    }
}

/// A pointer is empty or begins with a slash: the server passes over whatever stands before the first.
fn check_operation(operation: &Value) -> Result<(), Error> {
    let known = ["add", "remove", "replace", "move", "copy", "test"];
    let pointer = |name| match operation.get(name) {
        None => Ok(false),
        Some(Value::String(path)) if path.is_empty() || path.starts_with('/') => Ok(true),
        Some(_) => invalid(format!("{name} of an operation is not a JSON pointer")),
    };
    let op = text(operation, "op").unwrap_or_default();
    if !known.contains(&op) {
        return invalid(format!(
            "an operation of a JSON patch is one of {}",
            known.join(", ")
        ));
    }
    let (path, from) = (pointer("path")?, pointer("from")?);
    if !path || (["move", "copy"].contains(&op) && !from) {
        return invalid(format!("an operation {op:?} says not where"));
    }
    Ok(())
}

/// About how much text it is.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// How deep it is nested, found without recursion.
fn depth(value: &Value) -> usize {
    let (mut deepest, mut left) = (0, vec![(value, 1)]);
    while let Some((value, depth)) = left.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Object(fields) => left.extend(fields.values().map(|inner| (inner, depth + 1))),
            Value::Array(items) => left.extend(items.iter().map(|inner| (inner, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    deepest
}

fn text<'a>(operation: &'a Value, field: &str) -> Option<&'a str> {
    operation.get(field)?.as_str()
}

/// Whether a pointer leads to a guarded field, into it, or to what holds it. No escape can spell one.
fn leads_to_guarded(pointer: &str) -> bool {
    let mut steps = pointer.split('/').skip(1);
    match (steps.next(), steps.next()) {
        (None, _) => true,
        (Some(first), None) => first.eq_ignore_ascii_case("metadata"),
        (Some(first), Some(second)) => first.eq_ignore_ascii_case("metadata") && is_guarded(second),
    }
}

fn is_guarded(field: &str) -> bool {
    GUARDED
        .iter()
        .any(|guarded| guarded.eq_ignore_ascii_case(field))
}

/// So many steps of a JSON pointer count: a tree that is deeper could not be dropped.
const STEPS: usize = 64;

/// Marks the field at a JSON pointer; the whole list, if it is in one.
fn mark(object: &mut Map<String, Value>, path: &str) {
    let is_item = |step: &&str| *step == "-" || step.bytes().all(|byte| byte.is_ascii_digit());
    let steps = path.split('/').skip(1).take_while(|step| !is_item(step));
    let steps: Vec<String> = steps
        .take(STEPS)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let Some((last, before)) = steps.split_last() else {
        return;
    };
    let mut at = object;
    for step in before {
        let inner = at.entry(step.clone());
        match inner.or_insert_with(|| Value::Object(Map::new())) {
            Value::Object(inner) => at = inner,
            // All of it is marked.
            _ => return,
        }
    }
    at.insert(last.clone(), Value::Bool(true));
}

#[cfg(test)]
mod tests;
