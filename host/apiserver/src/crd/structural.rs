//! Structural schemas: what each place is must be said once, and outside of `allOf` and its like.

use serde_json::Value;

use super::read::{has, is_true, is_zero, visit};
use crate::field::Path;
use crate::json::{entries, list, text};
use crate::schema::Pattern;
use crate::status::Cause;

/// How a place lies in its schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Why a schema has no structural form at all: it says what is not supported.
pub(super) fn unsupported(schema: &Value) -> Option<String> {
    let mut found = None;
    visit(schema, &mut |part| {
        let said = |word: &str| part.get(word).is_some_and(|said| !is_zero(said));
        let words = [
            "id",
            "$schema",
            "$ref",
            "patternProperties",
            "dependencies",
            "definitions",
        ];
        let mut words = words.into_iter().filter(|word| said(word));
        let word = words
            .next()
            .or_else(|| has(part, "additionalItems").then_some("additionalItems"));
        if let Some(word) = word {
            let word = word
                .strip_prefix("$s")
                .map_or(word.to_owned(), |rest| format!("s{rest}"));
            found = Some(format!("OpenAPIV3Schema '{word}' is not supported"));
        } else if part.pointer("/items/0").is_some() {
            found = Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        } else if part.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let why =
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
            found = Some(why.to_owned());
        }
    });
    found
}

/// What keeps a schema from being structural, sorted by its text.
pub(super) fn validate(schema: &Value, at: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    place(schema, Level::Root, at, &mut causes);
    complete(schema, Some(schema), at, at, &mut causes);
    causes.sort_by_key(|cause| format!("{}: {}", cause.field, cause.message));
    causes
}

fn place(schema: &Value, level: Level, at: Path<'_>, causes: &mut Vec<Cause>) {
    let items = schema.get("items").filter(|items| !items.is_null());
    match items {
        None if text(schema, "type") == "array" => {
            causes.push(Cause::required(at.child("items"), "must be specified"));
        }
        None => {}
        Some(items) if items.is_object() => {
            place(items, Level::Item, at.child("items"), causes);
        }
        Some(_) => {}
    }
    for (name, field) in entries(schema, "properties") {
        let all = at.child("properties");
        place(field, Level::Field, all.key(name), causes);
    }
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| !values.is_null())
    {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            causes.push(Cause::forbidden(at, "must not be used at the root"));
        }
        if values.is_object() {
            place(values, Level::Field, at, causes);
        }
    }
    extensions(schema, at, causes);
    let any_of = is_int_or_string(schema);
    let first = schema.pointer("/allOf/0").is_some_and(is_int_or_string);
    value(schema, any_of, first, at, causes);
    typed(schema, level, at, causes);
    object(schema, level, at, causes);
}

fn extensions(schema: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    if !is_true(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for name in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if is_true(schema, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(at.child(name), &Value::Bool(true), why));
        }
    }
}

/// What the type of a place must be.
fn typed(schema: &Value, level: Level, at: Path<'_>, causes: &mut Vec<Cause>) {
    let kind = text(schema, "type");
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    let free = is_true(schema, "x-kubernetes-int-or-string")
        || is_true(schema, "x-kubernetes-preserve-unknown-fields");
    let at_type = at.child("type");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => Cause::required(at_type, why),
            kind => Cause::invalid(at_type, &kind.into(), why),
        });
    } else if kind.is_empty() && !free {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(Cause::required(at_type, why));
    }
    if embedded && has(schema, "additionalProperties") {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(Cause::forbidden(at.child("additionalProperties"), why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(
            at_type,
            &kind.into(),
            "must be object at the root",
        ));
    }
    if embedded
        && !is_true(schema, "x-kubernetes-preserve-unknown-fields")
        && entries(schema, "properties").next().is_none()
    {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(at.child("properties"), why));
    }
}

/// What `apiVersion`, `kind` and `metadata` of an object must be.
fn object(schema: &Value, level: Level, at: Path<'_>, causes: &mut Vec<Cause>) {
    let is_object = level == Level::Root || is_true(schema, "x-kubernetes-embedded-resource");
    let fields = at.child("properties");
    let field = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    let mut demand = |name: &str, kind: &str| {
        let Some(field) = field(name) else { return };
        let found = text(field, "type");
        if is_object && found != kind {
            let at = fields.key(name);
            let why = format!("must be {kind}");
            causes.push(Cause::invalid(at.child("type"), &found.into(), &why));
        }
    };
    demand("kind", "string");
    demand("apiVersion", "string");
    demand("metadata", "object");
    let Some(metadata) = field("metadata").filter(|_| level == Level::Root) else {
        return;
    };
    let only_names =
        entries(metadata, "properties").all(|(name, _)| name == "name" || name == "generateName");
    let other = |(name, value): (&String, &Value)| {
        let plain = ["type", "default"].contains(&name.as_str()) || is_zero(value);
        !(plain || (name == "properties" && only_names))
    };
    if metadata.as_object().into_iter().flatten().any(other) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly \
                   specified";
        causes.push(Cause::forbidden(fields.key("metadata"), why));
    }
}

/// `anyOf: [{type: integer}, {type: string}]`: the one place where types may be in an `anyOf`.
fn is_int_or_string(schema: &Value) -> bool {
    let wanted = ["integer", "string"];
    let found = list(schema, "anyOf");
    found.len() == 2
        && found.iter().zip(wanted).all(|(part, kind)| {
            let said = part
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, value)| !is_zero(value));
            text(part, "type") == kind && said.count() == 1
        })
}

/// The parts that speak of values only.
fn value(
    schema: &Value,
    skip_any_of: bool,
    skip_first: bool,
    at: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    for word in ["anyOf", "allOf", "oneOf"] {
        if word == "anyOf" && skip_any_of {
            continue;
        }
        let all = at.child(word);
        for (index, part) in list(schema, word).iter().enumerate() {
            let skip = word == "allOf" && skip_first && index == 0;
            nested(part, skip, all.index(index), causes);
        }
    }
    if let Some(not) = schema.get("not").filter(|not| !not.is_null()) {
        nested(not, false, at.child("not"), causes);
    }
    let pattern = text(schema, "pattern");
    if let Err(why) = Pattern::new(pattern).matches("") {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        causes.push(Cause::invalid(at.child("pattern"), &pattern.into(), &why));
    }
}

fn nested(part: &Value, skip_any_of: bool, at: Path<'_>, causes: &mut Vec<Cause>) {
    value(part, skip_any_of, false, at, causes);
    if let Some(items) = part.get("items").filter(|items| !items.is_null()) {
        nested(items, false, at.child("items"), causes);
    }
    for (name, field) in entries(part, "properties") {
        let all = at.child("properties");
        nested(field, false, all.key(name), causes);
    }
    let (empty, undefined, not_true) = (
        "must be empty to be structural",
        "must be undefined to be structural",
        "must be false to be structural",
    );
    for (word, why) in [
        ("type", empty),
        ("additionalProperties", undefined),
        ("default", undefined),
        ("title", empty),
        ("description", empty),
        ("nullable", not_true),
        ("x-kubernetes-preserve-unknown-fields", not_true),
        ("x-kubernetes-embedded-resource", not_true),
        ("x-kubernetes-int-or-string", not_true),
        ("x-kubernetes-list-map-keys", empty),
        ("x-kubernetes-list-type", undefined),
        ("x-kubernetes-map-type", undefined),
        ("x-kubernetes-validations", empty),
    ] {
        let said = part
            .get(word)
            .is_some_and(|value| !is_zero(value) || (why == undefined && !value.is_null()));
        if said {
            causes.push(Cause::forbidden(at.child(word), why));
        }
    }
    if part.pointer("/properties/metadata").is_some() {
        let all = at.child("properties");
        let why = "must not be specified in a nested context";
        causes.push(Cause::forbidden(all.key("metadata"), why));
    }
}

/// Every place that a part speaks of must be in the schema itself.
fn complete(
    part: &Value,
    schema: Option<&Value>,
    at: Path<'_>,
    from: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    for word in ["allOf", "anyOf", "oneOf"] {
        let all = from.child(word);
        for (index, part) in list(part, word).iter().enumerate() {
            complete_nested(part, schema, at, all.index(index), causes);
        }
    }
    if let Some(not) = part.get("not").filter(|not| !not.is_null()) {
        complete_nested(not, schema, at, from.child("not"), causes);
    }
}

fn complete_nested(
    part: &Value,
    schema: Option<&Value>,
    at: Path<'_>,
    from: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let Some(schema) = schema else {
        let why = format!("because it is defined in {from}");
        causes.push(Cause::required(at, &why));
        return;
    };
    complete(part, Some(schema), at, from, causes);
    if let Some(items) = part.get("items").filter(|items| !items.is_null()) {
        let below = schema.get("items").filter(|items| !items.is_null());
        complete_nested(items, below, at.child("items"), from.child("items"), causes);
    }
    for (name, field) in entries(part, "properties") {
        let (all, all_from) = (at.child("properties"), from.child("properties"));
        let below = schema.get("properties").and_then(|all| all.get(name));
        complete_nested(field, below, all.key(name), all_from.key(name), causes);
    }
}
