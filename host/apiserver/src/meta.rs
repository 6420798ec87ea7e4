//! Small accessors for `metadata`.

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value};

/// A text in the metadata; empty where there is none.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    let held = object
        .get("metadata")
        .and_then(|metadata| metadata.get(field));
    held.and_then(Value::as_str).unwrap_or_default()
}

/// Something in the metadata; `null` counts as nothing.
pub fn get<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    let held = object.get("metadata")?.get(field)?;
    (!held.is_null()).then_some(held)
}

/// Puts a text there, or takes the field away if it is empty.
pub fn set_text(object: &mut Value, field: &str, text: &str) {
    set(object, field, (!text.is_empty()).then(|| text.into()));
}

/// Puts a value there, or takes the field away.
pub fn set(object: &mut Value, field: &str, value: Option<Value>) {
    set_in(object, "metadata", field, value);
}

/// Puts a field into an object; what is none stays as it is.
pub fn put(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(field.to_owned(), value.into());
    }
}

/// Puts a value into an object's part (made where there is none), or takes the field away.
pub fn set_in(object: &mut Value, part: &str, field: &str, value: Option<Value>) {
    let mut whole = taken(object);
    let mut held = whole.get_mut(part).map(taken).unwrap_or_default();
    match value {
        Some(value) => held.insert(field.to_owned(), value),
        None => held.remove(field),
    };
    whole.insert(part.to_owned(), Value::Object(held));
    *object = Value::Object(whole);
}

fn taken(value: &mut Value) -> Map<String, Value> {
    match value.take() {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A number in the metadata.
pub fn number(object: &Value, field: &str) -> Option<i64> {
    get(object, field)?.as_i64()
}

/// The finalizers.
pub fn finalizers(object: &Value) -> Vec<String> {
    let held = get(object, "finalizers")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter();
    held.filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Whether a deletion has begun.
pub fn is_deleting(object: &Value) -> bool {
    get(object, "deletionTimestamp").is_some()
}

/// A moment as Kubernetes writes it: whole seconds, in UTC.
pub fn time(moment: Timestamp) -> String {
    let whole = moment.round(
        jiff::TimestampRound::new()
            .smallest(Unit::Second)
            .mode(jiff::RoundMode::Floor),
    );
    whole.unwrap_or(moment).to_string()
}
