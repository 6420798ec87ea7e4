//! Values without parts, in the form that the real server gives them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::builtin::quantity;
use crate::metadata::time;
use crate::patch::json_word;
use crate::schema::Kind;

/// A number or a text becomes a quantity.
pub(super) fn quantity(value: &mut Value, to_milli: bool) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    *value = quantity::canonical(&text, to_milli)?.into();
    Ok(())
}

pub(super) fn int_or_string(value: &mut Value) -> Result<(), String> {
    if value.is_string() {
        return Ok(());
    }
    let word = match &*value {
        Value::Number(number) => format!("number {number}"),
        other => json_word(other).to_owned(),
    };
    let number = integer(value, true);
    let wrong = || format!("json: cannot unmarshal {word} into Go value of type int32");
    *value = number.ok_or_else(wrong)?.into();
    Ok(())
}

/// A whole number of 32 or 64 bits.
pub(super) fn integer(value: &Value, narrow: bool) -> Option<Number> {
    let number = value.as_number()?;
    let whole = number.as_i64()?;
    if narrow {
        i32::try_from(whole).ok()?;
    }
    Some(whole.into())
}

/// Why a value cannot become one of a Go type (apimachinery `pkg/runtime/converter.go`).
pub(super) fn not_from_map(value: &Value, kind: Kind, go: &str) -> String {
    let from = match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    match kind {
        Kind::Array => format!("cannot restore slice from {from}"),
        Kind::Object if go.starts_with("map[") => format!("cannot restore map from {from}"),
        Kind::Object => format!("cannot restore struct from: {from}"),
        // In Go a number could become a text: the one with that code.
        Kind::String if from == "int64" => format!("cannot convert int64 to {go}"),
        Kind::String => "unrecognized type: string".to_owned(),
        Kind::Boolean => "unrecognized type: bool".to_owned(),
        Kind::Number => "unrecognized type: float64".to_owned(),
        Kind::Integer | Kind::IntOrString => format!("unrecognized type: {go}"),
    }
}

/// Base64, as Go writes it.
pub(super) fn bytes(value: &mut Value) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default();
    let plain: String = text
        .chars()
        .filter(|letter| !"\r\n".contains(*letter))
        .collect();
    match STANDARD.decode(&plain) {
        Ok(bytes) => {
            *value = STANDARD.encode(bytes).into();
            Ok(())
        }
        Err(error) => {
            use base64::DecodeError::{InvalidByte, InvalidLastSymbol};
            let at = match error {
                InvalidByte(at, _) | InvalidLastSymbol(at, _) => at,
                _ => plain.len() / 4 * 4,
            };
            Err(format!("illegal base64 data at input byte {at}"))
        }
    }
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Micros,
}

/// RFC 3339, in UTC.
pub(super) fn time(value: &mut Value, precision: Precision) -> Result<(), String> {
    let Value::String(text) = &*value else {
        let word = json_word(value);
        return Err(format!(
            "json: cannot unmarshal {word} into Go value of type string"
        ));
    };
    *value = match precision {
        Precision::Seconds => time::normal(text)?,
        Precision::Micros => time::normal_micro(text)?,
    }
    .into();
    Ok(())
}
