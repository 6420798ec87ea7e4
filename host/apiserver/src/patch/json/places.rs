//! Keys of objects and places in lists, as paths of a JSON patch name them.

use serde_json::Value;

use crate::mutants::mutant;

/// What Go's library says of what is not there.
pub(super) const MISSING: &str = "missing value";

/// Puts a field into an object.
pub(super) fn insert(holder: &mut Value, key: String, value: Value) {
    if let Value::Object(fields) = holder {
        fields.insert(key, value);
    }
}

/// What an object or a list holds. A field that is absent is null.
pub(super) fn get<'a>(holder: &'a Value, key: &str) -> Result<&'a Value, String> {
    match holder {
        Value::Array(items) => {
            let index = index(key, items.len()).map_err(Misplaced::message)?;
            items.get(index).ok_or_else(|| MISSING.to_owned())
        }
        holder => {
            let absent = mutant!(TestsOfNothingFail, Some(&Value::Null), None);
            let held = holder.get(key).or(absent);
            held.ok_or_else(|| MISSING.to_owned())
        }
    }
}

/// Takes out what an object or a list holds.
pub(super) fn removed(holder: &mut Value, key: &str) -> Result<Value, String> {
    match holder {
        Value::Array(items) => {
            let index = index(key, items.len()).map_err(Misplaced::message)?;
            Ok(items.remove(index))
        }
        Value::Object(fields) => fields
            .remove(key)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}")),
        _ => Err(MISSING.to_owned()),
    }
}

/// Why a text is not a place in a list.
pub(super) enum Misplaced {
    NoNumber(String),
    Outside(String),
}

impl Misplaced {
    fn message(self) -> String {
        match self {
            Self::NoNumber(why) | Self::Outside(why) => why,
        }
    }
}

/// A place in a list of `length`; below zero counts from its end.
pub(super) fn index(key: &str, length: usize) -> Result<usize, Misplaced> {
    let no_number = || Misplaced::NoNumber(atoi_error(key));
    let number: i64 = key.parse().map_err(|_| no_number())?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let index = if number < 0 { number + length } else { number };
    let found = usize::try_from(index).ok().filter(|_| index < length);
    found.ok_or_else(|| {
        Misplaced::Outside(format!(
            "Unable to access invalid index: {number}: invalid index referenced"
        ))
    })
}

/// A part of a path as a key.
pub(super) fn unescape(part: &str) -> String {
    // In one pass in Go: "~01" is "~1".
    part.replace("~1", "/").replace("~0", "~")
}

/// What Go says of a text that is not a number.
fn atoi_error(text: &str) -> String {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number {
        "value out of range"
    } else {
        "invalid syntax"
    };
    format!("strconv.Atoi: parsing {text:?}: {why}")
}
