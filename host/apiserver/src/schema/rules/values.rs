//! JSON as rules see it: typed by the schema, with field names that CEL can say.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

use crate::schema::{Kind, View};

/// Words that CEL keeps for itself: no field or variable is named so.
pub(crate) const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A value as rules see it. `is_object` says that it has `apiVersion`, `kind` and `metadata`.
pub(super) fn of(value: &Value, schema: View<'_>, is_object: bool) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(yes) => Cel::Bool(*yes),
        Value::Number(number) => of_number(number, schema.kind()),
        Value::String(text) => of_text(text, schema),
        Value::Array(items) => {
            let items = items.iter().map(|item| match schema.items() {
                Some(schema) => of(item, schema, schema.is_embedded()),
                None => Cel::Null,
            });
            Cel::List(Arc::new(items.collect()))
        }
        Value::Object(fields) => {
            let mut map = HashMap::new();
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    map.insert(key(escaped(name)), of(value, schema, schema.is_embedded()));
                } else if let Some(schema) = schema.values() {
                    map.insert(key(name.clone()), of(value, schema, schema.is_embedded()));
                }
            }
            if is_object || schema.is_embedded() {
                object(value, &mut map);
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

fn key(text: String) -> Key {
    Key::String(Arc::new(text))
}

fn text(text: &str) -> Cel {
    Cel::String(Arc::new(text.to_owned()))
}

/// What every object shows to rules, whatever its schema says.
fn object(value: &Value, map: &mut HashMap<Key, Cel>) {
    for name in ["apiVersion", "kind"] {
        if let Some(said) = value.get(name).and_then(Value::as_str) {
            map.insert(key(name.to_owned()), text(said));
        }
    }
    let metadata = value.get("metadata");
    let mut shown = HashMap::new();
    for name in ["name", "generateName"] {
        if let Some(said) = metadata
            .and_then(|metadata| metadata.get(name))
            .and_then(Value::as_str)
        {
            shown.insert(key(name.to_owned()), text(said));
        }
    }
    let shown = Map {
        map: Arc::new(shown),
    };
    map.insert(key("metadata".to_owned()), Cel::Map(shown));
}

fn of_number(number: &serde_json::Number, kind: Option<Kind>) -> Cel {
    let float = number.as_f64().unwrap_or(f64::NAN);
    match (kind, number.as_i64()) {
        (Some(Kind::Number), _) => Cel::Float(float),
        (_, Some(int)) => Cel::Int(int),
        (Some(Kind::Integer), None) if float.fract() == 0.0 && float.abs() < 9.0e18 => {
            Cel::Int(float as i64)
        }
        (_, None) => Cel::Float(float),
    }
}

fn of_text(said: &str, schema: View<'_>) -> Cel {
    let format = schema.node().format.as_deref().unwrap_or_default();
    let read = match format {
        "date-time" => chrono::DateTime::parse_from_rfc3339(said)
            .ok()
            .map(Cel::Timestamp),
        "date" => {
            let midnight = format!("{said}T00:00:00Z");
            chrono::DateTime::parse_from_rfc3339(&midnight)
                .ok()
                .map(Cel::Timestamp)
        }
        "duration" => duration(said).map(Cel::Duration),
        "byte" => BASE64_STANDARD
            .decode(said)
            .ok()
            .map(|bytes| Cel::Bytes(Arc::new(bytes))),
        _ => None,
    };
    read.unwrap_or_else(|| text(said))
}

/// A duration of Go: `1h30m`.
fn duration(said: &str) -> Option<chrono::Duration> {
    let (negative, mut rest) = match said.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, said.strip_prefix('+').unwrap_or(said)),
    };
    let mut total = 0.0;
    while !rest.is_empty() && rest != "0" {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    let nanos = (total * 1e9).round();
    let nanos = if negative { -nanos } else { nanos };
    (nanos.abs() < 9.0e18).then(|| chrono::Duration::nanoseconds(nanos as i64))
}

/// A field's name as CEL can say it.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
