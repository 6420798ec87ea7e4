//! A part of an object, with short ways to what printers ask for.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::age;
use crate::selector::written;

/// What stands where there is nothing.
pub(super) const NONE: &str = "<none>";
/// What stands where nobody has said anything.
pub(super) const UNSET: &str = "<unset>";

/// A part of an object, and the time at which it is looked at.
#[derive(Clone, Copy)]
pub(super) struct TimedValue<'a> {
    value: &'a Value,
    now: Timestamp,
}

impl<'a> TimedValue<'a> {
    pub(super) fn new(value: &'a Value, now: Timestamp) -> Self {
        Self { value, now }
    }

    /// What lies at a JSON pointer; `null` counts as nothing.
    pub(super) fn get(&self, pointer: &str) -> Option<&'a Value> {
        self.value.pointer(pointer).filter(|value| !value.is_null())
    }

    /// The part at a JSON pointer.
    pub(super) fn part(&self, pointer: &str) -> Option<Self> {
        Some(Self::new(self.get(pointer)?, self.now))
    }

    pub(super) fn has(&self, pointer: &str) -> bool {
        self.get(pointer).is_some()
    }

    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.maybe_text(pointer).unwrap_or_default()
    }

    pub(super) fn maybe_text(&self, pointer: &str) -> Option<&'a str> {
        self.get(pointer).and_then(Value::as_str)
    }

    pub(super) fn text_or(&self, pointer: &str, other: &'a str) -> &'a str {
        match self.text(pointer) {
            "" => other,
            text => text,
        }
    }

    pub(super) fn int(&self, pointer: &str) -> i64 {
        self.maybe_int(pointer).unwrap_or_default()
    }

    pub(super) fn maybe_int(&self, pointer: &str) -> Option<i64> {
        self.get(pointer).and_then(Value::as_i64)
    }

    pub(super) fn is_true(&self, pointer: &str) -> bool {
        self.get(pointer) == Some(&Value::Bool(true))
    }

    /// The items of a list.
    pub(super) fn list(&self, pointer: &str) -> Vec<Self> {
        let items = self
            .get(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        items.map(|item| Self::new(item, self.now)).collect()
    }

    /// The texts of a list.
    pub(super) fn texts(&self, pointer: &str) -> Vec<&'a str> {
        let items = self.get(pointer).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The texts of a map.
    pub(super) fn map(&self, pointer: &str) -> BTreeMap<&'a str, &'a str> {
        let entries = self
            .get(pointer)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        entries
            .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
            .collect()
    }

    /// How many entries a map or a list has.
    pub(super) fn count(&self, pointer: &str) -> usize {
        match self.get(pointer) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(fields)) => fields.len(),
            _ => 0,
        }
    }

    pub(super) fn name(&self) -> Value {
        self.text("/metadata/name").into()
    }

    pub(super) fn age(&self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    /// How long ago a time is.
    pub(super) fn since(&self, pointer: &str) -> String {
        age::since(self.get(pointer), self.now)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.has("/metadata/deletionTimestamp")
    }

    /// Whether a condition of that type is `True`.
    pub(super) fn condition(&self, kind: &str) -> bool {
        let conditions = self.list("/status/conditions");
        let found = conditions
            .iter()
            .find(|condition| condition.text("/type") == kind);
        found.is_some_and(|condition| condition.text("/status") == "True")
    }

    /// A map of labels, as `kubectl` shows it.
    pub(super) fn labels(&self, pointer: &str) -> String {
        let labels = self.map(pointer);
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        match labels.as_slice() {
            [] => NONE.to_owned(),
            labels => labels.join(","),
        }
    }

    /// A `LabelSelector`, as `kubectl` shows it; empty if it selects everything or nothing.
    pub(super) fn selector(&self, pointer: &str) -> String {
        self.get(pointer).map(written).unwrap_or_default()
    }

    /// The same, or `<none>`.
    pub(super) fn selector_or_none(&self, pointer: &str) -> String {
        match self.selector(pointer) {
            text if text.is_empty() => NONE.to_owned(),
            text => text,
        }
    }

    /// The names and the images of containers.
    pub(super) fn containers(&self, pointer: &str) -> [Value; 2] {
        let containers = self.list(pointer);
        let of = |field: &str| -> Value {
            let texts: Vec<&str> = containers
                .iter()
                .map(|container| container.text(field))
                .collect();
            texts.join(",").into()
        };
        [of("/name"), of("/image")]
    }
}

/// Up to `most` texts, and how many there are beyond.
pub(super) fn with_more(all: &[String], most: usize) -> String {
    let shown: Vec<&str> = all.iter().take(most).map(String::as_str).collect();
    let shown = shown.join(",");
    match all.len().checked_sub(most) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}
