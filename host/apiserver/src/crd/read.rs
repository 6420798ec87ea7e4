//! Reads definitions and the schemas in them.

use serde_json::Value;

use crate::json::{entries, list, list_at};

/// The versions of a definition.
pub(super) fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    list_at(crd, "/spec/versions").iter()
}

/// Whether a schema says something under a word.
pub(super) fn has(schema: &Value, word: &str) -> bool {
    schema.get(word).is_some_and(|value| !value.is_null())
}

/// Whether a schema says `true` under a word.
pub(super) fn is_true(schema: &Value, word: &str) -> bool {
    schema.get(word) == Some(&Value::Bool(true))
}

/// What Go would not tell from nothing.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    }
}

/// Visits a schema and all schemas in it.
pub(super) fn visit<'a>(schema: &'a Value, with: &mut impl FnMut(&'a Value)) {
    if !schema.is_object() {
        return;
    }
    with(schema);
    for word in ["items", "not", "additionalProperties"] {
        if let Some(below) = schema.get(word) {
            visit(below, with);
        }
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        for part in list(schema, word) {
            visit(part, with);
        }
    }
    entries(schema, "properties").for_each(|(_, field)| visit(field, with));
}

/// The schema at the end of a path such as `.spec.map['a.b']`.
///
/// # Errors
/// If the path leads nowhere, in the real server's words.
pub(super) fn follow<'a>(schema: &'a Value, path: &str) -> Result<&'a Value, String> {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let end = after.find("']").ok_or("unexpected end of JSON path")?;
            (name, rest) = after.split_at(end);
            rest = rest.get(2..).unwrap_or_default();
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (name, rest) = after.split_at(end);
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            let token = rest.get(..end.max(1)).unwrap_or(rest);
            return Err(format!("expected [ or . but got: {token}"));
        }
        if name.is_empty() {
            return Err("unexpected end of JSON path".to_owned());
        }
        let below = match schema.get("properties").filter(|all| all.is_object()) {
            Some(all) => all.get(name),
            None => schema
                .get("additionalProperties")
                .filter(|values| values.is_object()),
        };
        schema = below.ok_or("does not refer to a valid field")?;
    }
    Ok(schema)
}
