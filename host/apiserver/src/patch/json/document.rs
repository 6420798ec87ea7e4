//! An object on its way through a JSON patch; what cannot be done is said in the library's words.

use serde_json::Value;

use super::PatchOperation;
use super::places::{self, MISSING, Misplaced};

/// What all `copy` operations may add, in bytes.
pub(super) const MAX_COPIED: usize = 3 * 1024 * 1024;
/// So much deeper than object and patch together the result may become by `move` and `copy`.
const DEEPER: usize = 50;
/// How many values may be looked at for their depth.
const MAX_LOOKS: usize = 10_000_000;

/// Why an operation cannot be done, in the library's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// A test found another value.
    Test(String),
    /// Anything else.
    Other(String),
}

/// The object with all operations done.
///
/// # Errors
/// If one of them cannot be done, or if the result would be far deeper nested than the object and `deepest`, the
/// depth of the values in the patch.
pub(super) fn patched(
    object: &Value,
    deepest: usize,
    operations: &[PatchOperation<'_>],
) -> Result<Value, Undone> {
    let mut document = Document {
        root: object.clone(),
        copied: 0,
        deepest: depth(object) + deepest + DEEPER,
        looks: MAX_LOOKS,
    };
    for operation in operations {
        document.apply(operation)?;
    }
    Ok(document.root)
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
    fn apply(&mut self, operation: &PatchOperation<'_>) -> Result<(), Undone> {
        let value = || operation.value.cloned().unwrap_or_default();
        let kind = operation.kind.unwrap_or("unknown");
        let path = || {
            operation
                .path
                .ok_or_else(|| other(format!("{kind} operation failed to decode path: {MISSING}")))
        };
        let from = || {
            operation.from.ok_or_else(|| {
                other(format!(
                    "{kind} operation failed to decode from: operation, missing from field: {MISSING}"
                ))
            })
        };
        match kind {
            "add" => self.add(path()?, value()),
            "remove" => self.remove(path()?),
            "replace" => self.replace(path()?, value()),
            "move" => self.relocate(from()?, path),
            "copy" => self.copy(from()?, path),
            "test" => self.test(path()?, operation.value),
            _ => Err(other(format!("Unexpected kind: {kind}"))),
        }
    }

    /// The object or list that holds what `path` names, and its name there.
    fn holder(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let mut parts = path.split('/').skip(1).map(places::unescape);
        let mut key = parts.next()?;
        let mut holder = &mut self.root;
        for next in parts {
            holder = match holder {
                Value::Object(fields) => fields.get_mut(&key)?,
                Value::Array(items) => {
                    let index = places::index(&key, items.len()).ok()?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
            key = next;
        }
        matches!(holder, Value::Object(_) | Value::Array(_)).then_some((holder, key))
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), Undone> {
        self.put(
            path,
            value,
            PlaceMessages {
                no_holder: |path| {
                    format!(
                        "add operation does not apply: doc is missing path: \"{path}\": {MISSING}"
                    )
                },
                wrong: |path, why| format!("error in add for path: '{path}': {why}"),
            },
        )
    }

    /// Puts a value where there is none, or before an item of a list.
    fn put(&mut self, path: &str, value: Value, words: PlaceMessages) -> Result<(), Undone> {
        let depth = self.deepest.saturating_sub(path.split('/').count());
        if !is_shallow(&value, depth, &mut self.looks) {
            return Err(other("the result is nested too deep"));
        }
        let (holder, key) = self
            .holder(path)
            .ok_or_else(|| other((words.no_holder)(path)))?;
        match holder {
            Value::Array(items) if key == "-" => items.push(value),
            Value::Array(items) => {
                let index = places::index(&key, items.len() + 1).map_err(|why| {
                    let why = match why {
                        Misplaced::NoNumber(why) => {
                            format!("value was not a proper array index: '{key}': {why}")
                        }
                        Misplaced::Outside(why) => why,
                    };
                    other((words.wrong)(path, &why))
                })?;
                items.insert(index, value);
            }
            object => places::insert(object, key, value),
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), Undone> {
        let (holder, key) = self.holder(path).ok_or_else(|| {
            other(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ))
        })?;
        let removed = places::removed(holder, &key);
        removed
            .map(drop)
            .map_err(|why| other(format!("error in remove for path: '{path}': {why}")))
    }

    fn relocate<'a>(
        &mut self,
        from: &str,
        path: impl Fn() -> Result<&'a str, Undone>,
    ) -> Result<(), Undone> {
        let (holder, key) = self.holder(from).ok_or_else(|| {
            other(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            ))
        })?;
        let wrong = |why| other(format!("error in move for path: '{key}': {why}"));
        places::get(holder, &key).map_err(wrong)?;
        let moved = places::removed(holder, &key).map_err(wrong)?;
        self.put(path()?, moved, PlaceMessages {
            no_holder: |path| {
                format!("move operation does not apply: doc is missing destination path: {path}: {MISSING}")
            },
            wrong: |path, why| format!("error in move for path: '{path}': {why}"),
        })
    }

    fn copy<'a>(
        &mut self,
        from: &str,
        path: impl Fn() -> Result<&'a str, Undone>,
    ) -> Result<(), Undone> {
        let (holder, key) = self.holder(from).ok_or_else(|| {
            other(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            ))
        })?;
        let copy = places::get(holder, &key)
            .map_err(|why| other(format!("error in copy for from: '{from}': {why}")))?
            .clone();
        let path = path()?;
        self.copied += copy.to_string().len();
        if self.copied > MAX_COPIED {
            return Err(other(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the \
                 limit {MAX_COPIED}",
                self.copied
            )));
        }
        self.put(path, copy, PlaceMessages {
            no_holder: |path| {
                format!("copy operation does not apply: doc is missing destination path: {path}: {MISSING}")
            },
            wrong: |_, why| format!("error while adding value during copy: {why}"),
        })
    }

    fn test(&mut self, path: &str, wanted: Option<&Value>) -> Result<(), Undone> {
        let found = match path {
            "" => &self.root,
            path => {
                let (holder, key) = self.holder(path).ok_or_else(|| {
                    other(format!(
                        "test operation does not apply: is missing path: {path}: {MISSING}"
                    ))
                })?;
                places::get(holder, &key)
                    .map_err(|why| other(format!("error in test for path: '{path}': {why}")))?
            }
        };
        match wanted {
            Some(wanted) if found == wanted => Ok(()),
            None if found.is_null() => Ok(()),
            _ => Err(Undone::Test(format!(
                "testing value {path} failed: test failed"
            ))),
        }
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), Undone> {
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                return Err(other(
                    "replace operation value must be object or array: %!w(<nil>)",
                ));
            }
            self.root = value;
            return Ok(());
        }
        let missing = |what: &str| {
            other(format!(
                "replace operation does not apply: doc is missing {what}: {path}: {MISSING}"
            ))
        };
        let (holder, key) = self.holder(path).ok_or_else(|| missing("path"))?;
        match holder {
            Value::Array(items) => {
                let index = places::index(&key, items.len()).map_err(|_| missing("key"))?;
                *items.get_mut(index).ok_or_else(|| missing("key"))? = value;
            }
            object => places::insert(object, key, value),
        }
        Ok(())
    }
}

/// What is said of a value that cannot be put somewhere.
#[derive(Clone, Copy)]
struct PlaceMessages {
    no_holder: fn(&str) -> String,
    wrong: fn(&str, &str) -> String,
}

fn other(why: impl Into<String>) -> Undone {
    Undone::Other(why.into())
}

/// How many levels a value has.
pub(super) fn depth(value: &Value) -> usize {
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
