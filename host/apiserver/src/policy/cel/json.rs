//! What expressions make, as JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::Key;
use serde_json::{Map, Value};

use crate::schema::rules;

/// A value as JSON.
///
/// # Errors
/// If it is nothing that JSON has.
pub(crate) fn json(value: &Cel) -> Result<Value, String> {
    Ok(match value {
        Cel::Null => Value::Null,
        Cel::Bool(yes) => Value::Bool(*yes),
        Cel::Int(number) => (*number).into(),
        Cel::UInt(number) => (*number).into(),
        Cel::Float(number) => (*number).into(),
        Cel::String(text) => text.as_str().into(),
        Cel::Bytes(bytes) => BASE64_STANDARD.encode(bytes.as_slice()).into(),
        Cel::Timestamp(time) => rules::format_time(time).into(),
        Cel::List(items) => {
            let items: Result<Vec<Value>, String> = items.iter().map(json).collect();
            Value::Array(items?)
        }
        Cel::Map(map) => {
            let mut fields = Map::new();
            for (key, value) in map.map.iter() {
                let Key::String(name) = key else {
                    return Err("a field has a name that is no text".to_owned());
                };
                fields.insert(name.to_string(), json(value)?);
            }
            Value::Object(fields)
        }
        other => return Err(format!("{other:?} is nothing that JSON has")),
    })
}
