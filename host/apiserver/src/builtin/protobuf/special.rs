//! Types whose messages are not their fields.

use jiff::Timestamp;
use prost::bytes::{Buf, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint};
use serde_json::{Value, json};

use super::{ProtobufError, length_delimited, message, skip, text, write};
use crate::kinds::types;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
/// The schema of a property.
pub(super) const SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

type ReadMessage = Result<Value, ProtobufError>;

/// Whether a type that looks like a plain value in JSON is a message here.
pub(super) fn is_message(type_name: &str) -> bool {
    message_of(type_name).is_some_and(|found| found != SpecialMessage::Raw)
}

/// The message of a type whose JSON is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecialMessage {
    Quantity,
    Time,
    IntOrString,
    Raw,
}

/// The message of such a type; nothing for other types, and for those of definitions.
pub(super) fn message_of(type_name: &str) -> Option<SpecialMessage> {
    Some(match type_name {
        QUANTITY => SpecialMessage::Quantity,
        TIME | MICRO_TIME => SpecialMessage::Time,
        INT_OR_STRING => SpecialMessage::IntOrString,
        FIELDS | RAW => SpecialMessage::Raw,
        _ => return None,
    })
}

/// Reads a message of such a type; nothing for other types.
pub(super) fn read(type_name: &str, from: &Bytes, depth: usize) -> Option<ReadMessage> {
    let from = from.clone();
    Some(match type_name {
        QUANTITY => quantity(from),
        TIME => time(from, "%Y-%m-%dT%H:%M:%SZ"),
        MICRO_TIME => time(from, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        INT_OR_STRING => int_or_string(from),
        FIELDS | RAW => raw(from),
        _ => match type_name.strip_prefix(CRD)? {
            "JSON" => raw(from),
            "JSONSchemaPropsOrArray" => one_or_many(from, depth),
            "JSONSchemaPropsOrBool" => schema_or_bool(from, depth),
            _ => return None,
        },
    })
}

/// Writes a message of a type of definitions; nothing for other types.
pub(super) fn write(type_name: &str, found: &Value, depth: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match (type_name.strip_prefix(CRD)?, found) {
        ("JSON", found) => out = write::json_message(found),
        ("JSONSchemaPropsOrArray", Value::Array(many)) => {
            for one in many {
                write::schema(2, one, depth, &mut out);
            }
        }
        ("JSONSchemaPropsOrArray", one) => write::schema(1, one, depth, &mut out),
        ("JSONSchemaPropsOrBool", Value::Bool(allows)) => write::flag(*allows, &mut out),
        ("JSONSchemaPropsOrBool", found) => {
            write::flag(true, &mut out);
            write::schema(2, found, depth, &mut out);
        }
        _ => return None,
    }
    Some(out)
}

fn quantity(mut from: Bytes) -> ReadMessage {
    let mut quantity = Value::Null;
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        match number {
            1 => quantity = text(wire, &mut from)?.into(),
            _ => skip(wire, number, &mut from)?,
        }
    }
    Ok(quantity)
}

fn time(mut from: Bytes, format: &str) -> ReadMessage {
    let (mut seconds, mut nanos) = (0, 0);
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        match (number, wire) {
            (1, WireType::Varint) => seconds = decode_varint(&mut from)?.cast_signed(),
            (2, WireType::Varint) => nanos = decode_varint(&mut from)?,
            _ => skip(wire, number, &mut from)?,
        }
    }
    if (seconds, nanos) == (0, 0) {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(nanos).unwrap_or(0);
    match Timestamp::new(seconds, nanos) {
        Ok(time) => Ok(time.strftime(format).to_string().into()),
        Err(_) => Err(ProtobufError::Other(format!("no time: {seconds}"))),
    }
}

fn int_or_string(mut from: Bytes) -> ReadMessage {
    let (mut is_string, mut number, mut string) = (false, 0, String::new());
    while from.has_remaining() {
        let (field, wire) = decode_key(&mut from)?;
        match (field, wire) {
            (1, WireType::Varint) => is_string = decode_varint(&mut from)? == 1,
            (2, WireType::Varint) => number = decode_varint(&mut from)?.cast_signed(),
            (3, _) => string = text(wire, &mut from)?,
            _ => skip(wire, field, &mut from)?,
        }
    }
    Ok(if is_string {
        string.into()
    } else {
        number.into()
    })
}

/// JSON in protobuf.
fn raw(mut from: Bytes) -> ReadMessage {
    let mut found = Value::Null;
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        if number == 1 {
            let json = length_delimited(wire, &mut from)?;
            let json = serde_json::from_slice(&json);
            found = json.map_err(|error| ProtobufError::Other(error.to_string()))?;
        } else {
            skip(wire, number, &mut from)?;
        }
    }
    Ok(found)
}

fn schema(from: Bytes, depth: usize) -> ReadMessage {
    let depth = depth.checked_sub(1).ok_or_else(super::too_deep)?;
    let schema = types::schema(SCHEMA);
    message(from, schema.view(), depth)
}

fn one_or_many(mut from: Bytes, depth: usize) -> ReadMessage {
    let (mut one, mut many) = (Value::Null, Vec::new());
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        match number {
            1 => one = schema(length_delimited(wire, &mut from)?, depth)?,
            2 => many.push(schema(length_delimited(wire, &mut from)?, depth)?),
            _ => skip(wire, number, &mut from)?,
        }
    }
    Ok(if many.is_empty() { one } else { json!(many) })
}

fn schema_or_bool(mut from: Bytes, depth: usize) -> ReadMessage {
    let (mut allows, mut found) = (false, Value::Null);
    while from.has_remaining() {
        let (number, wire) = decode_key(&mut from)?;
        match (number, wire) {
            (1, WireType::Varint) => allows = decode_varint(&mut from)? != 0,
            (2, _) => found = schema(length_delimited(wire, &mut from)?, depth)?,
            _ => skip(wire, number, &mut from)?,
        }
    }
    Ok(if found.is_null() {
        allows.into()
    } else {
        found
    })
}
