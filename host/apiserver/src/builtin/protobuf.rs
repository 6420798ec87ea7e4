//! Reads the protobuf that kubectl's typed commands send, as JSON, and writes objects in protobuf.
//!
//! - The messages are those of the Go structs, whose numbers were captured; what has no number there is
//!   skipped, as by any decoder.
//! - A field that is embedded in Go is in a message of its own here.
//! - Nothing is believed: lengths are checked against what is there, and depth is bounded.

mod special;
mod write;

pub use write::{encode_event, encode_protobuf, protobuf_size};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::DecodeError;
use prost::bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde_json::{Map, Value, json};

use crate::kinds::catalog;
use crate::kinds::structs::{self, Struct, StructField};
use crate::kinds::types;
use crate::schema::{Kind, View};

const PREFIX: &[u8] = b"k8s\0";
/// Messages in messages; schemas of CRDs are what goes deepest.
const MAX_DEPTH: usize = 100;

/// Why a body cannot be read.
#[derive(Debug)]
enum ProtobufError {
    Wire(DecodeError),
    Other(String),
}

impl ProtobufError {
    fn text(self) -> String {
        match self {
            Self::Wire(error) => format!("proto: {error}"),
            Self::Other(text) => text,
        }
    }
}

impl From<DecodeError> for ProtobufError {
    fn from(error: DecodeError) -> Self {
        Self::Wire(error)
    }
}

/// Why a body is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The reason.
    pub why: String,
    /// The `apiVersion` and the kind of the body, if it was read that far.
    pub said: Option<(String, String)>,
}

/// Reads a body in `application/vnd.kubernetes.protobuf`. A body that does not say its version or its kind
/// has the `expected` ones (apimachinery `runtime/serializer/protobuf`). Of a kind that is not built in
/// only version and kind are read: the caller says what is wrong with it.
///
/// # Errors
/// It is not protobuf, or not of its kind.
pub fn decode_protobuf(body: &[u8], expected: (&str, &str)) -> Result<Value, Unreadable> {
    let unreadable = |why: &str| Unreadable {
        why: why.to_owned(),
        said: None,
    };
    if body.is_empty() {
        return Err(unreadable("empty data"));
    }
    let Some(message) = body.strip_prefix(PREFIX) else {
        return Err(unreadable(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ));
    };
    if message.is_empty() {
        return Err(unreadable("empty body"));
    }
    let message = Bytes::copy_from_slice(message);
    let mut unknown = Unknown::read(message).map_err(|problem| unreadable(&problem.text()))?;
    if unknown.kind.is_empty() {
        expected.1.clone_into(&mut unknown.kind);
    }
    if unknown.api_version.is_empty() {
        expected.0.clone_into(&mut unknown.api_version);
    }
    unknown.object().map_err(|problem| Unreadable {
        why: problem.text(),
        said: Some((unknown.api_version, unknown.kind)),
    })
}

/// What stands around every object: `runtime.Unknown`.
#[derive(Debug, Default)]
struct Unknown {
    api_version: String,
    kind: String,
    raw: Bytes,
}

impl Unknown {
    fn read(mut envelope: Bytes) -> Result<Self, ProtobufError> {
        let mut unknown = Self::default();
        while envelope.has_remaining() {
            let (number, wire) = decode_key(&mut envelope)?;
            match number {
                1 => {
                    let mut type_meta = length_delimited(wire, &mut envelope)?;
                    while type_meta.has_remaining() {
                        let (number, wire) = decode_key(&mut type_meta)?;
                        match number {
                            1 => unknown.api_version = text(wire, &mut type_meta)?,
                            2 => unknown.kind = text(wire, &mut type_meta)?,
                            _ => skip(wire, number, &mut type_meta)?,
                        }
                    }
                }
                2 => unknown.raw = length_delimited(wire, &mut envelope)?,
                _ => skip(wire, number, &mut envelope)?,
            }
        }
        Ok(unknown)
    }

    fn object(&self) -> Result<Value, ProtobufError> {
        let (api_version, kind) = (self.api_version.as_str(), self.kind.as_str());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mut object = match catalog::type_of_kind(group, version, kind) {
            Some(type_name) => {
                let schema = types::schema(&type_name);
                message(self.raw.clone(), schema.view(), MAX_DEPTH)?
            }
            None => json!({}),
        };
        if let Value::Object(fields) = &mut object {
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        Ok(object)
    }
}

fn too_deep() -> ProtobufError {
    ProtobufError::Other("proto: nested too deeply".to_owned())
}

fn length_delimited(wire: WireType, from: &mut Bytes) -> Result<Bytes, ProtobufError> {
    if wire != WireType::LengthDelimited {
        return Err(ProtobufError::Other(format!(
            "proto: wrong wireType = {}",
            wire as u8
        )));
    }
    let length = usize::try_from(decode_varint(from)?).unwrap_or(usize::MAX);
    if length > from.remaining() {
        return Err(ProtobufError::Other("unexpected EOF".to_owned()));
    }
    Ok(from.split_to(length))
}

fn text(wire: WireType, from: &mut Bytes) -> Result<String, ProtobufError> {
    let bytes = length_delimited(wire, from)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn skip(wire: WireType, number: u32, from: &mut Bytes) -> Result<(), ProtobufError> {
    Ok(skip_field(wire, number, from, DecodeContext::default())?)
}

/// A message of the type at `view`.
fn message(from: Bytes, view: View<'_>, depth: usize) -> Result<Value, ProtobufError> {
    let type_name = view.type_name().unwrap_or_default();
    if let Some(read) = special::read(type_name, &from, depth) {
        return read;
    }
    let fields = structs::of(type_name).map_or(&[][..], Struct::fields);
    let mut into = Map::new();
    part(from, fields, &[], view, depth, &mut into)?;
    Ok(Value::Object(into))
}

/// A message, or one that is embedded in it: `prefix` has the numbers on the way to it.
fn part(
    mut from: Bytes,
    fields: &[StructField],
    prefix: &[u32],
    view: View<'_>,
    depth: usize,
    into: &mut Map<String, Value>,
) -> Result<(), ProtobufError> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        let mut path = prefix.to_vec();
        path.push(number);
        let mut all = fields.iter();
        let leads_to =
            |field: &&StructField| field.numbers().zip(&path).all(|(own, on)| own == *on);
        let Some(found) =
            all.find(|field| leads_to(field) && field.numbers().count() >= path.len())
        else {
            skip(wire, number, &mut from)?;
            continue;
        };
        if found.numbers().count() > path.len() {
            let embedded = length_delimited(wire, &mut from)?;
            part(embedded, fields, &path, view, depth, into)?;
            continue;
        }
        if let Some(below) = view.property(found.name) {
            let slot = into.entry(found.name).or_insert(Value::Null);
            field(wire, &mut from, below, depth, slot)?;
        } else {
            skip(wire, number, &mut from)?;
        }
    }
    Ok(())
}

/// A field: lists and maps come an item at a time.
fn field(
    wire: WireType,
    from: &mut Bytes,
    view: View<'_>,
    depth: usize,
    slot: &mut Value,
) -> Result<(), ProtobufError> {
    match (view.kind(), view.items(), view.values()) {
        (Some(Kind::Array), Some(items), _) => {
            if !slot.is_array() {
                *slot = json!([]);
            }
            let Value::Array(list) = slot else {
                return Ok(());
            };
            let is_packed = wire == WireType::LengthDelimited
                && matches!(
                    items.kind(),
                    Some(Kind::Integer | Kind::Number | Kind::Boolean)
                );
            if is_packed {
                let mut packed = length_delimited(wire, from)?;
                let wire = if items.kind() == Some(Kind::Number) {
                    WireType::SixtyFourBit
                } else {
                    WireType::Varint
                };
                while packed.has_remaining() {
                    list.push(value(wire, &mut packed, items, depth)?);
                }
            } else {
                list.push(value(wire, from, items, depth)?);
            }
        }
        (Some(Kind::Object), _, Some(values)) => {
            if !slot.is_object() {
                *slot = json!({});
            }
            let entry = length_delimited(wire, from)?;
            let (key, value) = entry_of(entry, values, depth)?;
            if let Value::Object(map) = slot {
                map.insert(key, value);
            }
        }
        _ => *slot = value(wire, from, view, depth)?,
    }
    Ok(())
}

fn entry_of(
    mut entry: Bytes,
    view: View<'_>,
    depth: usize,
) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut found) = (String::new(), None);
    while entry.has_remaining() {
        let (number, wire) = decode_key(&mut entry)?;
        match number {
            1 => key = text(wire, &mut entry)?,
            2 => found = Some(value(wire, &mut entry, view, depth)?),
            _ => skip(wire, number, &mut entry)?,
        }
    }
    Ok((key, found.unwrap_or_else(|| zero(view))))
}

/// What an entry without a value has.
fn zero(view: View<'_>) -> Value {
    match view.kind() {
        Some(Kind::String) => "".into(),
        Some(Kind::Object) => json!({}),
        Some(Kind::Integer | Kind::Number) => 0.into(),
        Some(Kind::Boolean) => false.into(),
        _ => Value::Null,
    }
}

/// A single value.
fn value(
    wire: WireType,
    from: &mut Bytes,
    view: View<'_>,
    depth: usize,
) -> Result<Value, ProtobufError> {
    if special::is_message(view.type_name().unwrap_or_default()) {
        return message(length_delimited(wire, from)?, view, depth);
    }
    match view.kind() {
        Some(Kind::String) if view.node().format.as_deref() == Some("byte") => {
            Ok(STANDARD.encode(length_delimited(wire, from)?).into())
        }
        Some(Kind::String) => Ok(text(wire, from)?.into()),
        Some(Kind::Integer | Kind::Boolean) if wire != WireType::Varint => Err(
            ProtobufError::Other(format!("proto: wrong wireType = {}", wire as u8)),
        ),
        Some(Kind::Boolean) => Ok((decode_varint(from)? != 0).into()),
        Some(Kind::Integer) => Ok(decode_varint(from)?.cast_signed().into()),
        Some(Kind::Number) => {
            if wire != WireType::SixtyFourBit || from.remaining() < 8 {
                return Err(ProtobufError::Other(format!(
                    "proto: wrong wireType = {}",
                    wire as u8
                )));
            }
            Ok(json!(from.get_f64_le()))
        }
        Some(Kind::Array) => list_message(length_delimited(wire, from)?, view, depth),
        _ => message(length_delimited(wire, from)?, view, depth),
    }
}

/// A list as the value of a map: a message with items.
fn list_message(mut from: Bytes, view: View<'_>, depth: usize) -> Result<Value, ProtobufError> {
    let mut list = Vec::new();
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        match (number, view.items()) {
            (1, Some(items)) => list.push(value(wire, &mut from, items, depth)?),
            _ => skip(wire, number, &mut from)?,
        }
    }
    Ok(Value::Array(list))
}

#[cfg(test)]
mod tests;
