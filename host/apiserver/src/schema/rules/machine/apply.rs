//! What functions make of values, where the interpreter has them otherwise than cel-go, or not at all. Here, no
//! value is copied.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::{ExecutionError, Value as Cel};

use super::{CelResult, key, none, optional, some, time};
use crate::schema::rules::functions::{size, type_of};

/// The result of a function; nothing if the interpreter has it as cel-go does.
pub(super) fn apply(name: &str, values: &[Cel]) -> Option<CelResult> {
    Some(match (name, values) {
        ("_==_", [left, right]) => Ok(Cel::Bool(left == right)),
        ("_!=_", [left, right]) => Ok(Cel::Bool(left != right)),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => compared(name, left, right),
        ("!_", [Cel::Bool(yes)]) => Ok(Cel::Bool(!yes)),
        ("dyn", [of]) => Ok(of.clone()),
        ("type", [of]) => Ok(type_of(of)),
        ("size", [of]) => size(of).map(Cel::Int),
        ("@in", [of, Cel::Map(map)]) => Ok(Cel::Bool(
            key(of.clone()).is_ok_and(|key| map.get(&key).is_some()),
        )),
        ("@in", [of, Cel::List(items)]) => Ok(Cel::Bool(items.contains(of))),
        ("_+_", [Cel::Bytes(left), Cel::Bytes(right)]) => Ok(Cel::Bytes(Arc::new(
            [left.as_slice(), right.as_slice()].concat(),
        ))),
        ("unwrapOpt" | "unwrap", [Cel::List(items)]) => present_values(items),
        ("bool", [Cel::Bool(_)])
        | ("bytes", [Cel::Bytes(_)])
        | ("duration", [Cel::Duration(_)])
        | ("timestamp", [Cel::Timestamp(_)])
        | ("string", [Cel::String(_)]) => Ok(values.first().cloned().unwrap_or(Cel::Null)),
        ("bool", [Cel::String(text)]) => yes_or_no(text),
        ("string", [Cel::Bool(yes)]) => Ok(text(yes.to_string())),
        ("string", [Cel::Float(number)]) => Ok(text(double(*number))),
        ("string", [Cel::Timestamp(time)]) => Ok(text(time::format(time))),
        ("string", [Cel::Duration(long)]) => Ok(text(time::seconds(long))),
        ("string", [Cel::Bytes(bytes)]) => match String::from_utf8(bytes.to_vec()) {
            Ok(bytes) => Ok(text(bytes)),
            Err(_) => {
                let why = "invalid UTF-8 in bytes, cannot convert to string";
                Err(ExecutionError::function_error("string", why))
            }
        },
        ("int", [Cel::Timestamp(time)]) => Ok(Cel::Int(time.timestamp())),
        ("int", [Cel::Duration(long)]) => Ok(Cel::Int(long.num_nanoseconds().unwrap_or(i64::MAX))),
        ("timestamp", [Cel::Int(seconds)]) => time::at(*seconds),
        (_, [Cel::Timestamp(time), rest @ ..]) => match rest {
            [] => time::part(name, time, "UTC")?,
            [Cel::String(zone)] => time::part(name, time, zone)?,
            _ => return None,
        },
        _ => return None,
    })
}

/// `format.named`: what the interpreter has is optional in the real server.
pub(super) fn named(format: CelResult) -> Cel {
    match format {
        Ok(format) if optional(&format).is_some() => format,
        Ok(Cel::Null) | Err(_) => none(),
        Ok(format) => some(format),
    }
}

fn text(text: String) -> Cel {
    Cel::String(Arc::new(text))
}

fn compared(name: &str, left: &Cel, right: &Cel) -> CelResult {
    let number = |value: &Cel| matches!(value, Cel::Int(_) | Cel::UInt(_) | Cel::Float(_));
    let order = match (left, right) {
        (Cel::Bytes(left), Cel::Bytes(right)) => Some(left.cmp(right)),
        (Cel::Null, Cel::Null) => None,
        _ => left.partial_cmp(right),
    };
    let Some(order) = order else {
        // What is not a number is less and greater than none.
        return if number(left) && number(right) {
            Ok(Cel::Bool(false))
        } else {
            Err(ExecutionError::NoSuchOverload)
        };
    };
    Ok(Cel::Bool(match name {
        "_<_" => order == Ordering::Less,
        "_<=_" => order != Ordering::Greater,
        "_>_" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

/// What the optionals of a list hold.
fn present_values(items: &[Cel]) -> CelResult {
    let mut all = Vec::new();
    for item in items {
        match optional(item) {
            Some(held) => all.extend(held.cloned()),
            None => return Err(ExecutionError::NoSuchOverload),
        }
    }
    Ok(Cel::List(Arc::new(all)))
}

fn yes_or_no(text: &str) -> CelResult {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Cel::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Cel::Bool(false)),
        _ => Err(ExecutionError::function_error("bool", "no such word")),
    }
}

/// A number as Go's `strconv.FormatFloat(number, 'g', -1, 64)` shows it.
fn double(number: f64) -> String {
    if number.is_infinite() {
        let sign = if number > 0.0 { '+' } else { '-' };
        return format!("{sign}Inf");
    }
    let shown = format!("{number:e}");
    match shown.split_once('e') {
        Some((digits, power)) => match power.parse::<i32>() {
            Ok(power) if !(-4..6).contains(&power) => {
                let sign = if power < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", power.unsigned_abs())
            }
            _ => number.to_string(),
        },
        None => shown,
    }
}
