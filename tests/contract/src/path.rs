//! Patterns for places in a JSON document: JSON pointers with wildcards.
//!
//! `/items/*/metadata/uid`: `*` is any one key or index, `**` any number of them, and `[name=pods]` those
//! elements of an array whose `name` is `pods` (several conditions by commas). `~1` is a slash in a key, as in JSON pointers.

use std::fmt;

use anyhow::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::template::Variables;

/// Some places in a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Key(String),
    Any,
    Deep,
    Where(Vec<(String, String)>),
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let segments = match text.as_str() {
            "" => Vec::new(),
            _ => text
                .strip_prefix('/')
                .ok_or_else(|| format!("{text:?} does not begin with a slash"))?
                .split('/')
                .map(segment)
                .collect(),
        };
        Ok(Self { text, segments })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn segment(text: &str) -> Segment {
    let conditions = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .map(|text| text.split(',').map(|condition| condition.split_once('=')));
    let conditions: Option<Vec<_>> = conditions.and_then(|conditions| {
        let unescaped = |(key, value)| (unescape(key), unescape(value));
        conditions
            .map(|condition| condition.map(unescaped))
            .collect()
    });
    match (text, conditions) {
        ("*", _) => Segment::Any,
        ("**", _) => Segment::Deep,
        (_, Some(conditions)) => Segment::Where(conditions),
        (_, None) => Segment::Key(unescape(text)),
    }
}

fn unescape(text: &str) -> String {
    text.replace("~1", "/").replace("~0", "~")
}

/// A key as it is written in a path.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl Pattern {
    /// Fills in the placeholders.
    ///
    /// # Errors
    /// One is unknown.
    pub(crate) fn filled(&self, variables: &Variables) -> Result<Self> {
        let text = variables.text(&self.text)?;
        text.try_into().map_err(Error::msg)
    }

    /// Calls `visit` with every value at one of these places, and the object around it.
    pub fn visit(&self, document: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
        walk(&self.segments, document, visit);
    }

    /// Removes what is at these places.
    pub fn remove(&self, document: &mut Value) {
        let Some((last, parents)) = self.segments.split_last() else {
            return;
        };
        walk(parents, document, &mut |parent| match parent {
            Value::Object(map) => map.retain(|key, value| !last.takes(key, value)),
            Value::Array(values) => {
                let mut index = 0..;
                values.retain(|value| {
                    let index = index.next().unwrap_or_default();
                    !last.takes(&format!("{index}"), value)
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        });
    }

    /// The values at these places.
    pub fn select(&self, document: &Value) -> Vec<Value> {
        let mut found = Vec::new();
        walk(&self.segments, &mut document.clone(), &mut |value| {
            found.push(value.clone());
        });
        found
    }

    /// Whether a place is one of these. Conditions hold for no place, since there is no document.
    pub fn matches(&self, place: &[String]) -> bool {
        matches(&self.segments, place)
    }
}

fn walk(segments: &[Segment], value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let Some((first, rest)) = segments.split_first() else {
        visit(value);
        return;
    };
    if *first == Segment::Deep {
        walk(rest, value, visit);
    }
    // Everything below is still under `**`.
    let below = if *first == Segment::Deep {
        segments
    } else {
        rest
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if first.takes(key, value) {
                    walk(below, value, visit);
                }
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                if first.takes(&index.to_string(), value) {
                    walk(below, value, visit);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Segment {
    fn takes(&self, key: &str, value: &Value) -> bool {
        match self {
            Self::Key(wanted) => wanted == key,
            Self::Any | Self::Deep => true,
            Self::Where(conditions) => conditions.iter().all(|(field, wanted)| {
                value.get(field).and_then(Value::as_str) == Some(wanted.as_str())
            }),
        }
    }
}

fn matches(segments: &[Segment], place: &[String]) -> bool {
    match (segments.split_first(), place.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((Segment::Deep, rest)), None) => matches(rest, place),
        (Some((Segment::Deep, rest)), Some((_, below))) => {
            matches(rest, place) || matches(segments, below)
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((key, below))) => {
            first.takes(key, &Value::Null) && matches(rest, below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pattern(text: &str) -> Pattern {
        text.to_owned().try_into().unwrap()
    }

    #[test]
    fn patterns_select_by_key_wildcard_depth_and_condition() {
        let document = json!({
            "metadata": { "uid": 1 },
            "items": [
                { "name": "pods", "metadata": { "uid": 2 } },
                { "name": "a/b", "metadata": { "uid": 3 } },
            ],
        });
        let cases = [
            ("", json!([document])),
            ("/metadata/uid", json!([1])),
            ("/items/*/metadata/uid", json!([2, 3])),
            ("/items/1/name", json!(["a/b"])),
            ("/**/metadata/uid", json!([1, 2, 3])),
            ("/items/[name=pods]/metadata/uid", json!([2])),
            ("/items/[name=a~1b]/metadata/uid", json!([3])),
            ("/items/[name=pods,kind=x]/metadata/uid", json!([])),
            ("/items/name", json!([])),
        ];
        for (text, want) in cases {
            assert_eq!(
                Value::Array(pattern(text).select(&document)),
                want,
                "{text}"
            );
        }
    }

    #[test]
    fn places_match_without_a_document() {
        let place = ["body", "items", "0", "x"].map(str::to_owned);
        for (text, want) in [
            ("/body/items/0/x", true),
            ("/body/**", true),
            ("/**/x", true),
            ("/body/*/*/x", true),
            ("/body/*/x", false),
            ("/body/items/0", false),
            ("/body/items/[a=b]/x", false),
        ] {
            assert_eq!(pattern(text).matches(&place), want, "{text}");
        }
    }

    #[test]
    fn places_are_removed() {
        let mut document = json!({ "a": [{ "n": "x", "m": 1 }, { "n": "y", "m": 2 }], "b": 1 });
        pattern("/a/[n=x]").remove(&mut document);
        pattern("/**/m").remove(&mut document);
        pattern("/b").remove(&mut document);
        assert_eq!(document, json!({ "a": [{ "n": "y" }] }));
    }

    #[test]
    fn a_pattern_begins_with_a_slash() {
        assert!(Pattern::try_from("metadata".to_owned()).is_err());
    }
}
