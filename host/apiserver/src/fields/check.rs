//! Whether an object fits its schema well enough for its fields to be owned.
//!
//! This is not a validation of the object: it only finds what cannot be merged. The texts are those of
//! structured-merge-diff, which prints values as Go does.

use std::collections::BTreeSet;

use serde_json::Value;

use super::path::{PathElement, path_text};
use super::types::{List, Map, Scalar, Type, TypePart};
use crate::status::shown::{plain, quoted};

/// Whether two items of a list may have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// As in objects that are stored already.
    Allowed,
    /// As in configurations.
    Refused,
}

/// Checks an object.
///
/// # Errors
/// Everything that does not fit, in the real server's words.
pub(super) fn check(value: &Value, ty: Type<'_>, duplicates: Duplicates) -> Result<(), String> {
    let mut checker = Checker {
        duplicates,
        path: Vec::new(),
        wrong: Vec::new(),
    };
    checker.visit(value, ty);
    match checker.wrong.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Checker {
    duplicates: Duplicates,
    path: Vec<PathElement>,
    wrong: Vec<String>,
}

impl Checker {
    fn report(&mut self, problem: &str) {
        let path = path_text(&self.path);
        self.wrong.push(if path.is_empty() {
            problem.to_owned()
        } else {
            format!("{path}: {problem}")
        });
    }

    fn descend(&mut self, step: PathElement, value: &Value, ty: Type<'_>) {
        self.path.push(step);
        self.visit(value, ty);
        self.path.pop();
    }

    fn visit(&mut self, value: &Value, ty: Type<'_>) {
        match ty.part_of(value) {
            TypePart::Map(map) => self.map(value, map),
            TypePart::List(list) => self.list(value, list),
            TypePart::Scalar(scalar) => {
                if let Some(problem) = misfit(scalar, value) {
                    self.report(&problem);
                }
            }
            TypePart::Nothing => self.report("schema error: invalid atom: inlined"),
        }
    }

    fn map(&mut self, value: &Value, map: Map<'_>) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return,
            other => return self.report(&format!("expected map, got &{{{}}}", plain(other))),
        };
        for (name, value) in fields {
            let ty = map.field(name);
            if ty.is_undeclared() {
                self.path.push(PathElement::field(name));
                self.report("field not declared in schema");
                self.path.pop();
                // The real server looks at no more fields of this object.
                return;
            }
            self.descend(PathElement::field(name), value, ty);
        }
    }

    fn list(&mut self, value: &Value, list: List<'_>) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            other => return self.report(&format!("expected list, got &{{{}}}", plain(other))),
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let step = if list.is_atomic() {
                PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
            } else {
                match list.step(item) {
                    Ok(step) => step,
                    Err(problem) => return self.report(&format!("element {index}: {problem}")),
                }
            };
            if !list.is_atomic()
                && !seen.insert(step.clone())
                && self.duplicates == Duplicates::Refused
            {
                self.report(&format!("duplicate entries for key {step}"));
            }
            self.descend(step, item, list.items());
        }
    }
}

fn misfit(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => Some(format!(
            "expected numeric (int or float), got {}",
            go_type(other)
        )),
        (Scalar::String, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(other)
        )),
        (Scalar::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", plain(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got &{{{}}}", plain(other))),
    }
}

/// Go's `%T`.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.as_i64().is_some() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Go's `%#v`.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn what_cannot_be_merged_is_said_in_the_real_servers_words() {
        let schema = fruits();
        let table = [
            (
                json!({ "count": 1, "text": "a", "yes": true, "set": ["a"] }),
                "",
            ),
            (json!({ "count": null, "items": null, "labels": null }), ""),
            (
                json!({ "count": 1.5, "either": "10%", "free": { "a": [1, "b"] } }),
                "",
            ),
            (
                json!({ "count": "1" }),
                ".count: expected numeric (int or float), got string",
            ),
            (
                json!({ "count": { "a": 1 } }),
                ".count: expected numeric (int or float), got map[string]interface {}",
            ),
            (
                json!({ "text": { "a": [1, "b", null] } }),
                ".text: expected string, got &value.valueUnstructured{Value:map[string]interface \
                 {}{\"a\":[]interface {}{1, \"b\", interface {}(nil)}}}",
            ),
            (
                json!({ "yes": "true" }),
                ".yes: expected boolean, got &{true}",
            ),
            (
                json!({ "time": { "a": 1 } }),
                ".time: expected any scalar, got &{map[a:1]}",
            ),
            (
                json!({ "labels": [1, "a"] }),
                ".labels: expected map, got &{[1 a]}",
            ),
            (json!({ "items": 2.5 }), ".items: expected list, got &{2.5}"),
            (
                json!({ "labels": { "a": 1 } }),
                ".labels.a: expected string, got &value.valueUnstructured{Value:1}",
            ),
            (
                json!({ "other": 1 }),
                ".other: field not declared in schema",
            ),
            (
                json!({ "items": [{ "name": "a", "other": 1 }] }),
                ".items[name=\"a\"].other: field not declared in schema",
            ),
            (
                json!({ "items": [{ "count": 1 }] }),
                ".items: element 0: associative list with keys has an element that omits all key \
                 fields [\"name\"] (and doesn't have default values for any key fields)",
            ),
            (
                json!({ "items": [null] }),
                ".items: element 0: associative list with keys may not have a null element",
            ),
            (
                json!({ "items": [1] }),
                ".items: element 0: associative list with keys may not have non-map elements",
            ),
            (
                json!({ "items": [{ "name": "a" }, { "name": "b" }, { "name": "a" }] }),
                ".items: duplicate entries for key [name=\"a\"]",
            ),
            (
                json!({ "ports": [{ "port": 80 }, { "port": 80, "protocol": "TCP" }] }),
                ".ports: duplicate entries for key [port=80,protocol=\"TCP\"]",
            ),
            (
                json!({ "set": ["a", "a"] }),
                ".set: duplicate entries for key [=\"a\"]",
            ),
            (
                json!({ "set": [{}] }),
                ".set: element 0: associative list without keys has an element that's a map type",
            ),
            (
                json!({ "set": [[]] }),
                ".set: element 0: not supported: associative list with lists as elements",
            ),
            (
                json!({ "set": [null] }),
                ".set: element 0: associative list without keys has an element that's an explicit null",
            ),
            (
                json!({ "atomic": [1] }),
                ".atomic[0]: expected string, got &value.valueUnstructured{Value:1}",
            ),
            (
                json!({ "count": true, "yes": 1 }),
                "errors:\n  .count: expected numeric (int or float), got bool\n  .yes: expected \
                 boolean, got &{1}",
            ),
        ];
        for (value, problem) in table {
            let found = check(&value, Type::root(schema.view()), Duplicates::Refused);
            assert_eq!(found.err().unwrap_or_default(), problem, "{value}");
        }
    }

    #[test]
    fn stored_objects_may_have_duplicates() {
        let schema = fruits();
        let value = json!({ "set": ["a", "a"], "items": [{ "name": "a" }, { "name": "a" }] });
        let ty = Type::root(schema.view());
        assert_eq!(check(&value, ty, Duplicates::Allowed), Ok(()));
    }
}
