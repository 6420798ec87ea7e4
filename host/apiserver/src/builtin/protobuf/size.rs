//! How long an object is in protobuf, as the real server keeps it.
//!
//! - Go writes every field that is not a pointer, list or map, also if it is empty.

use prost::encoding::{encoded_len_varint, key_len};
use serde_json::{Map, Value};

use super::special::{self, SpecialMessage};
use super::{MAX_DEPTH, PREFIX};
use crate::kinds::catalog;
use crate::kinds::structs::{self, Struct, StructField};
use crate::kinds::types;
use crate::registry::Resource;
use crate::schema::{Kind, View};

/// Groups whose objects are kept as JSON (kubernetes `pkg/controlplane/apiserver/{apiextensions,aggregator}.go`).
const AS_JSON: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// How long an object of a resource is as it is kept; nothing if it is not kept as protobuf.
pub fn protobuf_size(object: &Value, resource: &Resource) -> Option<usize> {
    let said = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (said("apiVersion"), said("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if resource.origin != crate::registry::Origin::BuiltIn || AS_JSON.contains(&group) {
        return None;
    }
    let schema = types::schema(&catalog::type_of_kind(group, version, kind)?);
    let raw = message(object, schema.view(), MAX_DEPTH);
    let type_meta = delimited(1, api_version.len()) + delimited(2, kind.len());
    // Two more fields say of the encoding that it is nothing special.
    Some(
        PREFIX.len()
            + delimited(1, type_meta)
            + delimited(2, raw)
            + delimited(3, 0)
            + delimited(4, 0),
    )
}

fn delimited(number: u32, length: usize) -> usize {
    key_len(number) + encoded_len_varint(length as u64) + length
}

fn message(object: &Value, view: View<'_>, depth: usize) -> usize {
    let empty = Map::new();
    let fields = structs::of(view.type_name().unwrap_or_default()).map_or(&[][..], Struct::fields);
    part(
        object.as_object().unwrap_or(&empty),
        fields,
        &[],
        view,
        depth,
    )
}

/// A message, or one that is embedded in it: `prefix` has the numbers on the way to it.
fn part(
    object: &Map<String, Value>,
    fields: &[StructField],
    prefix: &[u32],
    view: View<'_>,
    depth: usize,
) -> usize {
    let Some(depth) = depth.checked_sub(1) else {
        return 0;
    };
    let mut embedded = Vec::new();
    let mut size = 0;
    for field in fields {
        let numbers: Vec<u32> = field.numbers().collect();
        let Some((number, below)) = numbers.strip_prefix(prefix).and_then(<[u32]>::split_first)
        else {
            continue;
        };
        if below.is_empty() {
            let Some(view) = view.property(field.name) else {
                continue;
            };
            size += match object.get(field.name) {
                None | Some(Value::Null) if field.is_pointer() || is_collection(field, view) => 0,
                None | Some(Value::Null) => value(*number, &Value::Null, view, depth),
                Some(found) => field_size(*number, found, view, depth),
            };
        } else if !embedded.contains(number) {
            embedded.push(*number);
            let prefix = [prefix, &[*number]].concat();
            size += delimited(*number, part(object, fields, &prefix, view, depth));
        }
    }
    size
}

/// Whether a field is a list or a map, maybe of a named type such as `ResourceList`; bytes are a list.
fn is_collection(field: &StructField, view: View<'_>) -> bool {
    field.go_type().starts_with("[]") || view.items().is_some() || view.values().is_some()
}

/// A field: lists and maps are an item at a time.
fn field_size(number: u32, found: &Value, view: View<'_>, depth: usize) -> usize {
    match (found, view.items(), view.values()) {
        (Value::Array(list), Some(items), _) => {
            let sizes = list.iter().map(|item| value(number, item, items, depth));
            sizes.sum()
        }
        (Value::Object(map), _, Some(values)) => {
            let entries = map.iter().map(|(key, item)| {
                let entry = delimited(1, key.len()) + value(2, item, values, depth);
                delimited(number, entry)
            });
            entries.sum()
        }
        _ => value(number, found, view, depth),
    }
}

/// A single value; what is null is empty.
fn value(number: u32, found: &Value, view: View<'_>, depth: usize) -> usize {
    let text = found.as_str().unwrap_or_default();
    if let Some(special) = special::message_of(view.type_name().unwrap_or_default()) {
        return delimited(number, special_size(special, found));
    }
    let plain = match view.kind() {
        Some(Kind::String) if view.node().format.as_deref() == Some("byte") => {
            return delimited(number, decoded(text));
        }
        Some(Kind::String) => return delimited(number, text.len()),
        Some(Kind::Boolean) => 1,
        Some(Kind::Integer) => integer(found),
        Some(Kind::Number) => 8,
        Some(Kind::Array) => {
            let items = found.as_array().into_iter().flatten();
            let sizes =
                items.map(|item| view.items().map_or(0, |view| value(1, item, view, depth)));
            return delimited(number, sizes.sum());
        }
        _ => return delimited(number, message(found, view, depth)),
    };
    key_len(number) + plain
}

fn integer(found: &Value) -> usize {
    encoded_len_varint(found.as_i64().unwrap_or_default().cast_unsigned())
}

/// How many bytes base64 stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// The message of a type that looks like a plain value in JSON.
fn special_size(special: SpecialMessage, found: &Value) -> usize {
    let text = found.as_str().unwrap_or_default();
    match special {
        SpecialMessage::Quantity => delimited(1, text.len()),
        SpecialMessage::Time => time(text),
        SpecialMessage::IntOrString => {
            // Which of the two it is, the number, and the text.
            2 + key_len(2) + integer(found) + delimited(3, text.len())
        }
        SpecialMessage::Raw => match found {
            Value::Null => 0,
            found => delimited(1, serde_json::to_string(found).map_or(0, |json| json.len())),
        },
    }
}

/// Seconds and nanoseconds; nothing for no time.
fn time(text: &str) -> usize {
    let Ok(time) = text.parse::<jiff::Timestamp>() else {
        return 0;
    };
    let nanos = u64::try_from(time.subsec_nanosecond()).unwrap_or_default();
    2 + encoded_len_varint(time.as_second().cast_unsigned()) + encoded_len_varint(nanos)
}
