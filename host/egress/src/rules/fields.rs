//! Reads the fields of a JSON object, and notes what is wrong with each.

use serde_json::{Map, Value};

use super::Problem;
use crate::text::{shown, suggestion};

/// One object of a document, and the problems found so far.
pub(super) struct Fields<'a, 'p> {
    object: &'a Map<String, Value>,
    path: String,
    problems: &'p mut Vec<Problem>,
}

/// Notes a problem.
pub(super) fn note(problems: &mut Vec<Problem>, path: &str, message: impl Into<String>) {
    problems.push(Problem {
        path: path.to_owned(),
        message: message.into(),
    });
}

/// `path.field`, or `field` at the root.
pub(super) fn below(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

impl<'a, 'p> Fields<'a, 'p> {
    /// Opens an object that has no fields but `known`; none if `value` is another value.
    pub(super) fn open(
        value: &'a Value,
        path: &str,
        known: &[&str],
        problems: &'p mut Vec<Problem>,
    ) -> Option<Self> {
        let Some(object) = value.as_object() else {
            note(
                problems,
                path,
                format!("must be an object with {}", known.join(", ")),
            );
            return None;
        };
        for field in object
            .keys()
            .filter(|field| !known.contains(&field.as_str()))
        {
            let meant = suggestion(field, known);
            let message = format!("there is no such field{meant}");
            note(problems, &below(path, &plain(field)), message);
        }
        Some(Self {
            object,
            path: path.to_owned(),
            problems,
        })
    }

    /// The path of one of its fields.
    pub(super) fn path(&self, field: &str) -> String {
        below(&self.path, field)
    }

    /// Notes a problem of one of its fields.
    pub(super) fn note(&mut self, field: &str, message: impl Into<String>) {
        let path = self.path(field);
        note(self.problems, &path, message);
    }

    /// The problems, for what reads a field further.
    pub(super) fn problems(&mut self) -> &mut Vec<Problem> {
        self.problems
    }

    /// A field that may be missing.
    pub(super) fn value(&self, field: &str) -> Option<&'a Value> {
        self.object.get(field).filter(|value| !value.is_null())
    }

    /// A field that must be there.
    pub(super) fn required(&mut self, field: &str) -> Option<&'a Value> {
        let value = self.value(field);
        if value.is_none() {
            self.note(field, "is missing");
        }
        value
    }

    /// A text that must be there.
    pub(super) fn required_text(&mut self, field: &str) -> Option<&'a str> {
        self.required(field)?;
        self.text(field)
    }

    /// A text that may be missing.
    pub(super) fn text(&mut self, field: &str) -> Option<&'a str> {
        let value = self.value(field)?;
        let text = value.as_str();
        if text.is_none() {
            self.note(field, "must be a text");
        }
        text
    }

    /// A switch; off if it is missing.
    pub(super) fn is_on(&mut self, field: &str) -> bool {
        let Some(value) = self.value(field) else {
            return false;
        };
        value.as_bool().unwrap_or_else(|| {
            self.note(field, "must be true or false");
            false
        })
    }

    /// A list that may be missing, with the path of each element.
    pub(super) fn list(&mut self, field: &str) -> Option<Vec<(String, &'a Value)>> {
        let value = self.value(field)?;
        let Some(list) = value.as_array() else {
            self.note(field, "must be a list");
            return None;
        };
        let path = self.path(field);
        let elements = list.iter().enumerate();
        Some(
            elements
                .map(|(index, value)| (format!("{path}[{index}]"), value))
                .collect(),
        )
    }

    /// A list of texts that may be missing. An empty list is a problem: it could mean all or nothing.
    pub(super) fn texts(&mut self, field: &str) -> Option<Vec<(String, &'a str)>> {
        let list = self.list(field)?;
        if list.is_empty() {
            self.note(field, "is an empty list: that allows nothing");
        }
        let mut texts = Vec::new();
        for (path, value) in list {
            match value.as_str() {
                Some(text) => texts.push((path, text)),
                None => note(self.problems, &path, "must be a text"),
            }
        }
        Some(texts)
    }
}

/// A field's name as a path shows it.
fn plain(field: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !field.is_empty() && field.len() <= 63 && field.chars().all(is_plain) {
        field.to_owned()
    } else {
        shown(field)
    }
}
