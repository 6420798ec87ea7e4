//! Values without parts, in the form that the real server gives them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::builtin::quantity;
use crate::json::type_name;
use crate::metadata::time;
use crate::schema::Kind;

/// Why a value does not fit.
#[derive(Debug)]
pub(super) enum Misfit {
    /// It has another type (Go's `UnmarshalTypeError`).
    Type {
        /// What it is.
        word: String,
        /// What Go has there.
        go: String,
    },
    /// For a reason of its own.
    Said(String),
}

impl Misfit {
    /// A value that is not such a number.
    pub(super) fn of(value: &Value, go: &str) -> Self {
        let word = match value {
            Value::Number(number) => format!("number {number}"),
            other => type_name(other).to_owned(),
        };
        Self::Type {
            word,
            go: go.to_owned(),
        }
    }
}

/// A number or a text becomes a quantity.
pub(super) fn quantity(value: &mut Value, to_milli: bool) -> Result<(), Misfit> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let canonical = quantity::canonical(&text, to_milli);
    *value = canonical
        .map_err(|why| Misfit::Said(why.to_owned()))?
        .into();
    Ok(())
}

pub(super) fn int_or_string(value: &mut Value) -> Result<(), Misfit> {
    if value.is_string() {
        return Ok(());
    }
    let number = integer(value, true);
    *value = number.ok_or_else(|| Misfit::of(value, "int32"))?.into();
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

/// Base64, as Go writes it; a list of numbers is bytes too.
pub(super) fn bytes(value: &mut Value) -> Result<(), Misfit> {
    let bytes = match &*value {
        Value::String(text) => decoded(text).map_err(Misfit::Said)?,
        Value::Array(items) => items.iter().map(byte).collect::<Result<_, _>>()?,
        other => {
            return Err(Misfit::Type {
                word: type_name(other).to_owned(),
                go: "[]byte".to_owned(),
            });
        }
    };
    *value = STANDARD.encode(bytes).into();
    Ok(())
}

fn byte(item: &Value) -> Result<u8, Misfit> {
    let number = match item {
        Value::Null => Some(0),
        item => item.as_u64().and_then(|number| u8::try_from(number).ok()),
    };
    number.ok_or_else(|| Misfit::of(item, "uint8"))
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    let plain: String = text
        .chars()
        .filter(|letter| !"\r\n".contains(*letter))
        .collect();
    STANDARD.decode(&plain).map_err(|error| {
        use base64::DecodeError::{InvalidByte, InvalidLastSymbol};
        let at = match error {
            InvalidByte(at, _) | InvalidLastSymbol(at, _) => at,
            _ => plain.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Micros,
}

/// RFC 3339, in UTC.
pub(super) fn time(value: &mut Value, precision: Precision) -> Result<(), Misfit> {
    let Value::String(text) = &*value else {
        return Err(Misfit::Type {
            word: type_name(value).to_owned(),
            go: "string".to_owned(),
        });
    };
    let normal = match precision {
        Precision::Seconds => time::normal(text),
        Precision::Micros => time::normal_micro(text),
    };
    *value = normal.map_err(Misfit::Said)?.into();
    Ok(())
}
