//! Objects within objects (`x-kubernetes-embedded-resource`): their `apiVersion`, `kind` and `metadata`.

use serde_json::{Map, Value};

use super::View;
use crate::field::Path;
use crate::metadata::coerce::{self, Malformed};
use crate::metadata::{self, Again, NameRule, Rules};
use crate::names;
use crate::status::Cause;
use crate::status::shown::quoted;

/// Brings the metadata of all objects within `value` into shape and answers the unknown fields in it.
///
/// # Errors
/// If some metadata cannot be read; the cause says where.
pub fn coerce(
    value: &mut Value,
    schema: View<'_>,
    malformed: Malformed,
) -> Result<Vec<String>, Cause> {
    let mut unknown = Vec::new();
    below(value, schema, Path::ROOT, malformed, &mut unknown)?;
    unknown.sort_unstable();
    Ok(unknown)
}

fn below(
    value: &mut Value,
    schema: View<'_>,
    at: Path<'_>,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), Cause> {
    match value {
        Value::Object(fields) => {
            if schema.is_embedded() {
                object(fields, at, malformed, unknown)?;
            }
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    below(value, schema, at.child(name), malformed, unknown)?;
                } else if let Some(schema) = schema.values() {
                    below(value, schema, at.key(name), malformed, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else {
                return Ok(());
            };
            for (index, item) in items.iter_mut().enumerate() {
                below(item, schema, at.index(index), malformed, unknown)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn object(
    fields: &mut Map<String, Value>,
    at: Path<'_>,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), Cause> {
    for name in ["apiVersion", "kind"] {
        let odd = fields.get(name).filter(|value| !value.is_string());
        match (odd, malformed) {
            (None, _) => {}
            (Some(value), Malformed::Refuse) => {
                return Err(Cause::invalid(at.child(name), value, "must be a string"));
            }
            (Some(_), Malformed::Drop) => {
                fields.remove(name);
            }
        }
    }
    let Some(metadata) = fields.get_mut("metadata") else {
        return Ok(());
    };
    let sent = metadata.clone();
    match coerce::coerce(metadata, at, malformed) {
        Ok(found) => unknown.extend(found),
        Err(_) if malformed == Malformed::Drop => *metadata = sent,
        Err(why) => return Err(Cause::invalid(at.child("metadata"), &sent, &why)),
    }
    Ok(())
}

/// What is wrong with the objects within `value`.
pub fn validate(value: &Value, schema: View<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(value, schema, Path::ROOT, &mut causes);
    causes
}

fn walk(value: &Value, schema: View<'_>, at: Path<'_>, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            if schema.is_embedded() {
                validate_object(fields, at, causes);
            }
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    walk(value, schema, at.child(name), causes);
                } else if let Some(schema) = schema.values() {
                    walk(value, schema, at.key(name), causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                walk(item, schema, at.index(index), causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_object(fields: &Map<String, Value>, at: Path<'_>, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            causes.push(Cause::required(at.child(name), ""));
        }
    }
    if let Some(value) = fields.get("apiVersion") {
        causes.extend(api_version(value, at.child("apiVersion")));
    }
    if let Some(value) = fields.get("kind") {
        causes.extend(kind(value, at.child("kind")));
    }
    if let Some(metadata) = fields.get("metadata").and_then(Value::as_object) {
        let mut metadata = metadata.clone();
        let has_text = |field: &str| metadata.get(field).is_some_and(|value| value != "");
        let rules = Rules {
            name: NameRule::PathSegment,
            namespaced: has_text("namespace"),
            own_finalizers: false,
            again: Again::No,
        };
        if !has_text("name") {
            metadata.insert("name".to_owned(), "fakename".into());
        }
        causes.extend(metadata::validate(&metadata, at.child("metadata"), rules));
    }
}

fn api_version(value: &Value, at: Path<'_>) -> Option<Cause> {
    let text = match value.as_str() {
        None => return Some(Cause::invalid(at, value, "must be a string")),
        Some("") => return Some(Cause::invalid(at, value, "must not be empty")),
        Some(text) => text,
    };
    (text.matches('/').count() > 1).then(|| {
        let why = format!("unexpected GroupVersion string: {text}");
        Cause::invalid(at, value, &why)
    })
}

fn kind(value: &Value, at: Path<'_>) -> Option<Cause> {
    let text = match value.as_str() {
        None => return Some(Cause::invalid(at, value, "must be a string")),
        Some("") => return Some(Cause::invalid(at, value, "must not be empty")),
        Some(text) => text,
    };
    let wrong = names::label_1035(&text.to_lowercase());
    (!wrong.is_empty()).then(|| {
        let why = "may have mixed case, but should otherwise match: ";
        Cause::invalid_as(at, &quoted(text), &format!("{why}{}", wrong.join(",")))
    })
}
