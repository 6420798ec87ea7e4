//! Writes JSON as the real server does: Go's encoder has the fields of a struct in its own order, the keys of a
//! map sorted, and escapes what HTML gives a meaning.

mod golang;
mod layout;

use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use golang::indented;
use layout::Of;
pub(crate) use layout::{Layout, Part};

/// An object, or part of one, as the real server writes it. What it is is told by its `kind`; other objects are
/// maps.
pub(crate) fn to_vec(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    write(&mut text, value, Part::BY_KIND);
    text
}

/// Writes a value that is such a part of something.
pub(crate) fn write(text: &mut Vec<u8>, value: &Value, part: Part) {
    match (value, part.of) {
        (_, Of::Plain) => plain(text, value),
        (Value::Object(map), _) if part.is_map => {
            let part = part.of_values();
            let fields = map.iter().map(|(name, value)| Field {
                rank: 0,
                name,
                value,
                part,
            });
            object(text, fields);
        }
        (Value::Object(map), _) => match part.layout(map) {
            Some(layout) => object(text, fields(map, Some(layout)).into_iter()),
            None => plain(text, value),
        },
        (Value::Array(items), _) => {
            let mut before = b'[';
            for item in items {
                text.push(before);
                before = b',';
                write(text, item, part);
            }
            text.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {
            plain(text, value);
        }
    }
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    /// How many fields of the struct come before it.
    pub(crate) rank: usize,
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    pub(crate) part: Part,
}

/// The fields of an object, in their order: that of its struct, or sorted.
pub(crate) fn fields<'a>(
    object: &'a Map<String, Value>,
    layout: Option<&'static Layout>,
) -> Vec<Field<'a>> {
    let field = |(name, value): (&'a String, &'a Value)| {
        let (rank, part) = layout.map_or((0, Part::PLAIN), |layout| layout.field(name));
        Field {
            rank,
            name,
            value,
            part,
        }
    };
    let mut fields: Vec<Field<'a>> = object.iter().map(field).collect();
    // Fields that the struct does not have stay sorted, at the end.
    fields.sort_by_key(|field| field.rank);
    fields
}

fn object<'a>(text: &mut Vec<u8>, fields: impl Iterator<Item = Field<'a>>) {
    let mut before = b'{';
    for field in fields {
        name_of(text, before, field.name);
        before = b',';
        write(text, field.value, field.part);
    }
    text.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
}

/// The name of a field, behind a brace or a comma.
pub(crate) fn name_of(text: &mut Vec<u8>, before: u8, name: &str) {
    text.push(before);
    plain(text, name);
    text.push(b':');
}

fn plain(text: &mut Vec<u8>, value: impl Serialize) {
    let mut writer = serde_json::Serializer::with_formatter(text, golang::Golang);
    // Writing JSON values into memory cannot fail.
    let _ = value.serialize(&mut writer);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> String {
        String::from_utf8(to_vec(value)).unwrap()
    }

    #[test]
    fn structs_have_their_order_and_maps_are_sorted() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "labels": { "b": "1", "a": "2" }, "name": "a", "uid": "u", "annotations": {} },
            "spec": { "volumes": [], "nodeSelector": { "z": "1", "y": "2" }, "containers": [
                { "image": "i", "name": "c", "resources": { "requests": {}, "limits": { "m": "1", "c": "2" } } },
            ] },
            "status": { "qosClass": "a", "phase": "b" },
        });
        assert_eq!(
            written(&pod),
            concat!(
                r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u","labels":{"a":"2","b":"1"},"#,
                r#""annotations":{}},"spec":{"volumes":[],"containers":[{"name":"c","image":"i","resources":"#,
                r#"{"limits":{"c":"2","m":"1"},"requests":{}}}],"nodeSelector":{"y":"2","z":"1"}},"#,
                r#""status":{"phase":"b","qosClass":"a"}}"#
            )
        );
    }

    #[test]
    fn custom_resources_are_maps() {
        let object = json!({ "kind": "Pod", "apiVersion": "x.y/v1", "metadata": { "uid": "u", "name": "a" } });
        let text = r#"{"apiVersion":"x.y/v1","kind":"Pod","metadata":{"name":"a","uid":"u"}}"#;
        assert_eq!(written(&object), text);
    }

    #[test]
    fn what_a_table_shows_has_an_order_of_its_own() {
        let row = |object: Value| json!({ "object": object, "cells": [1] });
        let table = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": [
                row(json!({ "apiVersion": "v1", "kind": "Service", "spec": { "type": "a", "ports": [] } })),
                row(json!({ "kind": "A", "apiVersion": "x.y/v1" })),
            ],
            "columnDefinitions": [{ "priority": 0, "name": "a" }], "metadata": {},
        });
        assert_eq!(
            written(&table),
            concat!(
                r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":"#,
                r#"[{"name":"a","priority":0}],"rows":[{"cells":[1],"object":{"kind":"Service","apiVersion":"v1","#,
                r#""spec":{"ports":[],"type":"a"}}},{"cells":[1],"object":{"apiVersion":"x.y/v1","kind":"A"}}]}"#
            )
        );
    }

    #[test]
    fn schemas_within_schemas_have_their_order_too() {
        let schema = json!({ "type": "object", "properties": {
            "b": { "type": "array", "items": { "type": "string", "format": "f" } },
            "a": { "additionalProperties": { "type": "string", "format": "f" }, "description": "d" },
        } });
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": { "versions": [{ "schema": { "openAPIV3Schema": schema }, "name": "v1" }] },
        });
        let text = written(&crd);
        let expected = concat!(
            r#"{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"description":"d","#,
            r#""additionalProperties":{"format":"f","type":"string"}},"b":{"type":"array","items":{"#
        );
        // In Go the type comes before the format.
        let expected = expected.replace(
            r#"{"format":"f","type":"string"}"#,
            r#"{"type":"string","format":"f"}"#,
        );
        assert!(text.contains(&expected), "{text}");
    }
}
