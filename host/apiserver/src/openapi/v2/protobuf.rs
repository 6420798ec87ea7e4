//! OpenAPI v2 as protobuf: gnostic's `openapi_v2.Document`
//! (<https://github.com/google/gnostic-models/blob/main/openapiv2/OpenAPIv2.proto>).
//!
//! The parts are values as in JSON. What gnostic keeps as YAML is JSON here, which YAML can read.

mod message;

use std::collections::BTreeMap;

use serde_json::Value;

use super::DocumentPart;
use crate::json::list;
use message::MessageBuilder;

/// The parts of a document, written.
pub(super) struct PartTable<'a> {
    pub(super) info: &'a [u8],
    pub(super) paths: &'a BTreeMap<String, Vec<u8>>,
    pub(super) types: &'a BTreeMap<String, Vec<u8>>,
    pub(super) parameters: &'a BTreeMap<String, Vec<u8>>,
    pub(super) security: &'a [u8],
    pub(super) security_definitions: &'a BTreeMap<String, Vec<u8>>,
}

/// A document of written parts.
pub(super) fn document(parts: &PartTable<'_>) -> Vec<u8> {
    let mut document = MessageBuilder::default();
    document.text(1, "2.0");
    document.bytes(2, parts.info);
    // In the message of paths, vendor extensions come first.
    document.bytes(8, &named(2, parts.paths));
    document.bytes(9, &named(1, parts.types));
    document.bytes(10, &named(1, parts.parameters));
    document.bytes(12, parts.security);
    document.bytes(13, &named(1, parts.security_definitions));
    document.done()
}

fn named(field: u32, parts: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut all = MessageBuilder::default();
    for (name, part) in parts {
        all.named(field, name, part);
    }
    all.done()
}

/// A part of a document.
pub(super) fn part(part: DocumentPart, value: &Value) -> Vec<u8> {
    match part {
        DocumentPart::Info => texts_of(value, &[("title", 1), ("version", 2)]),
        DocumentPart::Path => path(value),
        DocumentPart::Type => schema(value),
        DocumentPart::Parameter => parameter(value),
        DocumentPart::Security => security(value),
        DocumentPart::SecurityDefinition => {
            let fields = [("type", 1), ("name", 2), ("in", 3), ("description", 4)];
            let mut either = MessageBuilder::default();
            either.bytes(2, &texts_of(value, &fields));
            either.done()
        }
    }
}

fn texts_of(value: &Value, fields: &[(&str, u32)]) -> Vec<u8> {
    let mut message = MessageBuilder::default();
    for (word, field) in fields {
        message.text_at(*field, value, word);
    }
    message.done()
}

/// The first of the requirements, each of which names no scopes.
fn security(value: &Value) -> Vec<u8> {
    let mut requirement = MessageBuilder::default();
    let all = value.as_array().into_iter().flatten();
    for (name, _) in all.filter_map(Value::as_object).flatten() {
        requirement.named(1, name, &[]);
    }
    requirement.done()
}

fn path(value: &Value) -> Vec<u8> {
    let mut item = MessageBuilder::default();
    for (method, field) in [
        ("get", 2),
        ("put", 3),
        ("post", 4),
        ("delete", 5),
        ("options", 6),
        ("head", 7),
        ("patch", 8),
    ] {
        if let Some(found) = value.get(method) {
            item.bytes(field, &operation(found));
        }
    }
    for parameter in list(value, "parameters") {
        item.bytes(9, &parameter_or_reference(parameter));
    }
    item.done()
}

fn operation(value: &Value) -> Vec<u8> {
    let mut message = MessageBuilder::default();
    message.texts_at(1, value, "tags");
    message.text_at(3, value, "description");
    message.text_at(5, value, "operationId");
    message.texts_at(6, value, "produces");
    message.texts_at(7, value, "consumes");
    for parameter in list(value, "parameters") {
        message.bytes(8, &parameter_or_reference(parameter));
    }
    if let Some(Value::Object(all)) = value.get("responses") {
        let mut responses = MessageBuilder::default();
        for (code, answer) in all {
            let mut either = MessageBuilder::default();
            either.bytes(1, &response(answer));
            responses.named(1, code, &either.done());
        }
        message.bytes(9, &responses.done());
    }
    message.texts_at(10, value, "schemes");
    message.extensions(13, value);
    message.done()
}

fn response(value: &Value) -> Vec<u8> {
    let mut message = MessageBuilder::default();
    message.text_at(1, value, "description");
    if let Some(found) = value.get("schema") {
        let mut either = MessageBuilder::default();
        either.bytes(1, &schema(found));
        message.bytes(2, &either.done());
    }
    message.done()
}

fn parameter_or_reference(value: &Value) -> Vec<u8> {
    let mut either = MessageBuilder::default();
    if value.get("$ref").is_some() {
        either.bytes(2, &texts_of(value, &[("$ref", 1)]));
    } else {
        either.bytes(1, &parameter(value));
    }
    either.done()
}

fn parameter(value: &Value) -> Vec<u8> {
    let place = value.get("in").and_then(Value::as_str).unwrap_or_default();
    let mut message = MessageBuilder::default();
    let mut either = MessageBuilder::default();
    if place == "body" {
        message.text_at(1, value, "description");
        message.text_at(2, value, "name");
        message.text_at(3, value, "in");
        message.truth_at(4, value, "required");
        if let Some(found) = value.get("schema") {
            message.bytes(5, &schema(found));
        }
        either.bytes(1, &message.done());
        return either.done();
    }
    message.truth_at(1, value, "required");
    message.text_at(2, value, "in");
    message.text_at(3, value, "description");
    message.text_at(4, value, "name");
    // In a query, `allow_empty_value` comes before the type.
    let (kind, unique, of_place) = if place == "query" {
        (6, 20, 3)
    } else {
        (5, 19, 4)
    };
    message.text_at(kind, value, "type");
    message.truth_at(unique, value, "uniqueItems");
    let mut plain = MessageBuilder::default();
    plain.bytes(of_place, &message.done());
    either.bytes(2, &plain.done());
    either.done()
}

const TEXTS: [(&str, u32); 5] = [
    ("$ref", 1),
    ("format", 2),
    ("title", 3),
    ("description", 4),
    ("pattern", 13),
];
const NUMBERS: [(&str, u32); 3] = [("multipleOf", 6), ("maximum", 7), ("minimum", 9)];
const TRUTHS: [(&str, u32); 3] = [
    ("exclusiveMaximum", 8),
    ("exclusiveMinimum", 10),
    ("uniqueItems", 16),
];
const COUNTS: [(&str, u32); 6] = [
    ("maxLength", 11),
    ("minLength", 12),
    ("maxItems", 14),
    ("minItems", 15),
    ("maxProperties", 17),
    ("minProperties", 18),
];

fn schema(value: &Value) -> Vec<u8> {
    let mut message = MessageBuilder::default();
    for (word, field) in TEXTS {
        message.text_at(field, value, word);
    }
    for (word, field) in NUMBERS {
        message.number_at(field, value, word);
    }
    for (word, field) in TRUTHS {
        message.truth_at(field, value, word);
    }
    for (word, field) in COUNTS {
        message.count_at(field, value, word);
    }
    message.texts_at(19, value, "required");
    for allowed in list(value, "enum") {
        message.any(20, allowed);
    }
    match value.get("additionalProperties") {
        Some(Value::Bool(allowed)) => {
            let mut either = MessageBuilder::default();
            either.chosen(2, *allowed);
            message.bytes(21, &either.done());
        }
        Some(values) => message.bytes(21, &one(values)),
        None => {}
    }
    if let Some(kind) = value.get("type").and_then(Value::as_str) {
        let mut kinds = MessageBuilder::default();
        kinds.text(1, kind);
        message.bytes(22, &kinds.done());
    }
    if let Some(items) = value.get("items") {
        message.bytes(23, &one(items));
    }
    if let Some(Value::Object(fields)) = value.get("properties") {
        let mut properties = MessageBuilder::default();
        for (name, field) in fields {
            properties.named(1, name, &schema(field));
        }
        message.bytes(25, &properties.done());
    }
    if let Some(docs) = value.get("externalDocs") {
        message.bytes(29, &texts_of(docs, &[("description", 1), ("url", 2)]));
    }
    if let Some(example) = value.get("example") {
        message.any(30, example);
    }
    message.extensions(31, value);
    message.done()
}

/// A message with one schema.
fn one(value: &Value) -> Vec<u8> {
    let mut message = MessageBuilder::default();
    message.bytes(1, &schema(value));
    message.done()
}

#[cfg(test)]
mod tests;
