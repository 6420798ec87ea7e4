//! Writes objects in protobuf, as the real server keeps and sends them.
//!
//! - Go writes every field that is not a pointer, list or map, also if it is empty.
//! - Fields are in the order of their numbers, and entries of maps in that of their keys.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::encoding::{WireType, encode_key, encode_varint};
use serde_json::{Map, Value, json};

use super::special::{self, SpecialMessage};
use super::{MAX_DEPTH, PREFIX};
use crate::kinds::catalog;
use crate::kinds::structs::{self, Struct, StructField};
use crate::kinds::types;
use crate::registry::{Origin, Resource};
use crate::schema::{Kind, View};

/// Groups whose objects are kept as JSON (kubernetes `pkg/controlplane/apiserver/{apiextensions,aggregator}.go`).
const AS_JSON: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// How long an object of a resource is as it is kept; nothing if it is not kept as protobuf.
pub fn protobuf_size(object: &Value, resource: &Resource) -> Option<usize> {
    if resource.origin != Origin::BuiltIn || AS_JSON.contains(&resource.group.as_str()) {
        return None;
    }
    encode_protobuf(object).map(|bytes| bytes.len())
}

/// An object, a list or a `Status` in `application/vnd.kubernetes.protobuf`; nothing for kinds that have no such form.
pub fn encode_protobuf(object: &Value) -> Option<Vec<u8>> {
    let said = |field: &str| object.get(field).and_then(Value::as_str);
    let (api_version, kind) = (said("apiVersion")?, said("kind")?);
    let raw = raw(object, api_version, kind)?;
    let mut type_meta = Vec::new();
    delimited(1, api_version.as_bytes(), &mut type_meta);
    delimited(2, kind.as_bytes(), &mut type_meta);
    let mut out = PREFIX.to_vec();
    delimited(1, &type_meta, &mut out);
    delimited(2, &raw, &mut out);
    // Two more fields say of the encoding that it is nothing special.
    delimited(3, b"", &mut out);
    delimited(4, b"", &mut out);
    Some(out)
}

/// An event of a watch, as it follows on its length.
pub fn encode_event(event: &Value) -> Option<Vec<u8>> {
    let kind = event.get("type").and_then(Value::as_str)?;
    let mut object = Vec::new();
    delimited(1, &encode_protobuf(event.get("object")?)?, &mut object);
    let mut out = Vec::new();
    delimited(1, kind.as_bytes(), &mut out);
    delimited(2, &object, &mut out);
    Some(out)
}

/// The message of an object.
fn raw(object: &Value, api_version: &str, kind: &str) -> Option<Vec<u8>> {
    let of_type = |name: &str, object: &Value| {
        let schema = types::schema(name);
        message(object, schema.view(), MAX_DEPTH)
    };
    let metadata = |object: &Value, name: &str| {
        let none = json!({});
        let metadata = object.get("metadata").unwrap_or(&none);
        let mut out = Vec::new();
        delimited(1, &of_type(&format!("{META}{name}"), metadata), &mut out);
        out
    };
    match (api_version, kind) {
        ("v1", "Status") => Some(of_type(&format!("{META}Status"), object)),
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => {
            Some(metadata(object, "ObjectMeta"))
        }
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadataList") => {
            let mut out = metadata(object, "ListMeta");
            let items = object.get("items").and_then(Value::as_array);
            for item in items.into_iter().flatten() {
                delimited(2, &metadata(item, "ObjectMeta"), &mut out);
            }
            Some(out)
        }
        _ => {
            let mut kinds = catalog::kinds();
            let same =
                |(version, own, _): &(String, &str, &str)| version == api_version && *own == kind;
            let (_, _, name) = kinds.find(same)?;
            Some(of_type(name, object))
        }
    }
}

fn delimited(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn varint(number: u32, value: i64, out: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value.cast_unsigned(), out);
}

fn message(object: &Value, view: View<'_>, depth: usize) -> Vec<u8> {
    let name = view.type_name().unwrap_or_default();
    if let Some(written) = special::write(name, object, depth) {
        return written;
    }
    let empty = Map::new();
    let fields = structs::of(name).map_or(&[][..], Struct::fields);
    let object = object.as_object().unwrap_or(&empty);
    part(object, fields, &[], view, depth)
}

/// A message, or one that is embedded in it: `prefix` has the numbers on the way to it.
fn part(
    object: &Map<String, Value>,
    fields: &[StructField],
    prefix: &[u32],
    view: View<'_>,
    depth: usize,
) -> Vec<u8> {
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let mut written: Vec<(u32, Vec<u8>)> = Vec::new();
    for field in fields {
        let numbers: Vec<u32> = field.numbers().collect();
        let Some((number, below)) = numbers.strip_prefix(prefix).and_then(<[u32]>::split_first)
        else {
            continue;
        };
        let mut out = Vec::new();
        if below.is_empty() {
            let Some(view) = view.property(field.name) else {
                continue;
            };
            match object.get(field.name) {
                None | Some(Value::Null) if field.is_pointer() || is_collection(field, view) => {}
                None | Some(Value::Null) => value(*number, &Value::Null, view, depth, &mut out),
                Some(found) => self::field(*number, found, view, depth, &mut out),
            }
        } else if !written.iter().any(|(other, _)| other == number) {
            let prefix = [prefix, &[*number]].concat();
            let embedded = part(object, fields, &prefix, view, depth);
            delimited(*number, &embedded, &mut out);
        }
        if !out.is_empty() {
            written.push((*number, out));
        }
    }
    written.sort_by_key(|(number, _)| *number);
    written.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

/// Whether a field is a list or a map, maybe of a named type such as `ResourceList`; bytes are a list.
fn is_collection(field: &StructField, view: View<'_>) -> bool {
    field.go_type().starts_with("[]") || view.items().is_some() || view.values().is_some()
}

/// A field: lists and maps are an item at a time.
fn field(number: u32, found: &Value, view: View<'_>, depth: usize, out: &mut Vec<u8>) {
    match (found, view.items(), view.values()) {
        (Value::Array(list), Some(items), _) => {
            for item in list {
                value(number, item, items, depth, out);
            }
        }
        (Value::Object(map), _, Some(values)) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, item) in entries {
                let mut entry = Vec::new();
                delimited(1, key.as_bytes(), &mut entry);
                value(2, item, values, depth, &mut entry);
                delimited(number, &entry, out);
            }
        }
        _ => value(number, found, view, depth, out),
    }
}

/// A single value; what is null is empty.
fn value(number: u32, found: &Value, view: View<'_>, depth: usize, out: &mut Vec<u8>) {
    let text = found.as_str().unwrap_or_default();
    if let Some(special) = special::message_of(view.type_name().unwrap_or_default()) {
        return delimited(number, &special_message(special, found), out);
    }
    match view.kind() {
        Some(Kind::String) if view.node().format.as_deref() == Some("byte") => {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            delimited(number, &bytes, out);
        }
        Some(Kind::String) => delimited(number, text.as_bytes(), out),
        Some(Kind::Boolean) => varint(number, i64::from(found == &Value::Bool(true)), out),
        Some(Kind::Integer) => varint(number, found.as_i64().unwrap_or_default(), out),
        Some(Kind::Number) => {
            encode_key(number, WireType::SixtyFourBit, out);
            out.extend_from_slice(&found.as_f64().unwrap_or_default().to_le_bytes());
        }
        Some(Kind::Array) => {
            let mut list = Vec::new();
            for item in found.as_array().into_iter().flatten() {
                if let Some(view) = view.items() {
                    value(1, item, view, depth, &mut list);
                }
            }
            delimited(number, &list, out);
        }
        _ => delimited(number, &message(found, view, depth), out),
    }
}

/// The message of a type that looks like a plain value in JSON.
fn special_message(special: SpecialMessage, found: &Value) -> Vec<u8> {
    let text = found.as_str().unwrap_or_default();
    let mut out = Vec::new();
    match special {
        SpecialMessage::Quantity => delimited(1, text.as_bytes(), &mut out),
        SpecialMessage::Time => {
            if let Ok(time) = text.parse::<jiff::Timestamp>() {
                varint(1, time.as_second(), &mut out);
                varint(2, time.subsec_nanosecond().into(), &mut out);
            }
        }
        SpecialMessage::IntOrString => {
            varint(1, i64::from(found.is_string()), &mut out);
            varint(2, found.as_i64().unwrap_or_default(), &mut out);
            delimited(3, text.as_bytes(), &mut out);
        }
        SpecialMessage::Raw if found.is_null() => {}
        SpecialMessage::Raw => {
            delimited(1, &crate::encode::to_vec(found), &mut out);
        }
    }
    out
}

/// The schema of a property, at a number.
pub(super) fn schema(number: u32, found: &Value, depth: usize, out: &mut Vec<u8>) {
    let schema = types::schema(special::SCHEMA);
    let depth = depth.saturating_sub(1);
    delimited(number, &message(found, schema.view(), depth), out);
}

/// JSON in protobuf.
pub(super) fn json_message(found: &Value) -> Vec<u8> {
    special_message(SpecialMessage::Raw, found)
}

/// Whether something is so, at the number 1.
pub(super) fn flag(found: bool, out: &mut Vec<u8>) {
    varint(1, i64::from(found), out);
}
