//! `openAPIV3Schema`: what is wrong with a schema of a definition, with the real server's texts.

mod lists;
mod rules;
mod walk;

use serde_json::Value;

use super::{defaults, shown, structural};
use crate::field::Path;
use crate::json::{entries, text_at};
pub(super) use crate::schema::Pattern;
use crate::status::Cause;
use walk::{SchemaWalk, WalkContext};

/// What may be said at the root of a schema if there is a `status` subresource, with Go's names.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
    ),
    ("x-kubernetes-validations", "XValidations"),
];

/// The items of a list within a schema.
pub(super) fn parts<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> {
    schema
        .get(word)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
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
        parts(schema, word).for_each(|part| visit(part, with));
    }
    entries(schema, "properties").for_each(|(_, field)| visit(field, with));
}

/// What is wrong with a schema; `at` is where it lies, without `openAPIV3Schema`.
pub(super) fn validate(schema: &Value, has_status: bool, at: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if has_status {
        causes.extend(at_root(schema, at));
    }
    if is_true(schema, "nullable") {
        let why = "nullable cannot be true at the root";
        causes.push(Cause::forbidden(at.child("openAPIV3Schema.nullable"), why));
    }
    let at = at.child("openAPIV3Schema");
    let unsupported = structural::unsupported(schema);
    let mut unfit = Vec::new();
    if unsupported.is_none() {
        unfit = structural::validate(schema, at);
        if unfit.is_empty() {
            unfit = defaults::validate(schema, at);
        }
    }
    let mut walk = SchemaWalk::new(unsupported.is_none() && unfit.is_empty());
    causes.extend(unfit);
    walk.place(schema, WalkContext::ROOT, at);
    causes.extend(walk.causes);
    causes.extend(walk.of_rules);
    if let Some(why) = unsupported.filter(|_| causes.is_empty()) {
        causes.push(Cause::invalid(at, &"".into(), &why));
    }
    causes
}

/// With a `status` subresource, only some words may be said at the root.
fn at_root(schema: &Value, at: Path<'_>) -> Option<Cause> {
    let kind = text_at(schema, "/type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status \
                   subresource is enabled";
        return Some(Cause::invalid(
            at.child("openAPIV3Schema.type"),
            &kind.into(),
            why,
        ));
    }
    let known = |name: &String| AT_ROOT.iter().any(|(word, _)| word == name);
    let fields = schema.as_object()?;
    fields.keys().find(|name| !known(name))?;
    let words: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
    let why = format!(
        "only {words:?} fields are allowed at the root of the schema if the status subresource is enabled"
    )
    .replace(['"', ','], "");
    Some(Cause::invalid_as(
        at.child("openAPIV3Schema"),
        &shown::schema(schema),
        &why,
    ))
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
