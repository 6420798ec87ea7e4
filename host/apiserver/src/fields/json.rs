//! Field sets as `fieldsV1` has them: `{"f:spec":{".":{},"f:replicas":{},"k:{\"name\":\"web\"}":{}}}`.
//!
//! What a later version of the format may add is dropped, as the real server does.

use serde_json::{Map, Number, Value};

use super::path::PathElement;
use super::set::Set;
use crate::status::shown::json;

/// Why something is not a field set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSet(String);

impl Set {
    /// Reads `fieldsV1`.
    ///
    /// # Errors
    /// If it is not a field set.
    pub fn from_json(json: &Value) -> Result<Self, NoSet> {
        Ok(read(json)?.0.unwrap_or_default())
    }

    /// Writes `fieldsV1`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.to_map())
    }

    fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for member in &self.members {
            map.insert(step_to_text(member), Value::Object(Map::new()));
        }
        for (step, below) in &self.children {
            let mut below = below.to_map();
            if self.members.contains(step) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(step_to_text(step), Value::Object(below));
        }
        map
    }
}

/// What is below a field, and whether the field itself is a member.
fn read(json: &Value) -> Result<(Option<Set>, bool), NoSet> {
    let empty = Map::new();
    let fields = match json {
        Value::Object(fields) => fields,
        Value::Null => &empty,
        _ => return Err(NoSet("a field set is an object".to_owned())),
    };
    let mut is_member = false;
    let mut set = Set::default();
    for (name, value) in fields {
        if name == "." {
            is_member = true;
            continue;
        }
        let Some(step) = step_from_text(name)? else {
            continue;
        };
        let (below, is_member) = read(value)?;
        if is_member {
            set.members.insert(step.clone());
        }
        if let Some(below) = below {
            set.children.insert(step, below);
        }
    }
    if set.is_empty() {
        Ok((None, true))
    } else {
        Ok((Some(set), is_member))
    }
}

fn step_to_text(step: &PathElement) -> String {
    match step {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), json(value)))
                .collect();
            format!("k:{{{}}}", fields.join(","))
        }
        PathElement::Value(value) => format!("v:{}", json(value)),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// Nothing for steps of a kind that we do not know.
fn step_from_text(text: &str) -> Result<Option<PathElement>, NoSet> {
    let (kind, rest) = match text.as_bytes() {
        [kind, b':', ..] => (kind, text.get(2..).unwrap_or_default()),
        [] | [_] => return Err(NoSet("key must be 2 characters long:".to_owned())),
        _ => return Err(NoSet(format!("missing colon: {text}"))),
    };
    let value = || serde_json::from_str(rest).map_err(|error| NoSet(error.to_string()));
    Ok(Some(match kind {
        b'f' => PathElement::field(rest),
        b'v' => PathElement::Value(as_float(value()?)),
        b'k' => {
            let Value::Object(fields) = value()? else {
                return Err(NoSet(format!("no object: {rest}")));
            };
            let fields = fields.into_iter();
            PathElement::Key(fields.map(|(name, v)| (name, as_float(v))).collect())
        }
        b'i' => {
            let index = rest
                .parse()
                .map_err(|_| NoSet(format!("no number: {rest}")))?;
            PathElement::Index(index)
        }
        _ => return Ok(None),
    }))
}

/// The real server reads numbers of field sets as floats, which shows in messages.
fn as_float(value: Value) -> Value {
    let float = match &value {
        Value::Number(number) => number.as_f64().and_then(Number::from_f64),
        _ => None,
    };
    float.map_or(value, Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_are_written_as_they_were_read() {
        let examples = [
            json!({}),
            json!({ "f:aaa": {}, "f:aab": {}, "i:1": {}, "v:1": {}, "v:\"aa\"": {}, "v:true": {},
                "k:{\"name\":\"first\"}": {}, "k:{\"port\":443,\"protocol\":\"tcp\"}": {} }),
            json!({ "f:aaa": { ".": {}, "k:{\"name\":\"second\"}": { "v:3": { "f:aab": {} } } } }),
            json!({ "f:spec": { ".": {}, "f:apps": { ".": {},
                "k:{\"name\":\" app-🚀\"}": { ".": {}, "f:name": {} } } } }),
            json!({ "v:\"a\\u003cb\"": {}, "v:1.5": {} }),
        ];
        for example in examples {
            assert_eq!(Set::from_json(&example).unwrap().to_json(), example);
        }
    }

    #[test]
    fn sets_have_one_form_however_they_were_written() {
        let table = [
            (
                json!({ "k:{ \"protocol\":\"udp\",\"port\":443.0}": {} }),
                json!({ "k:{\"port\":443,\"protocol\":\"udp\"}": {} }),
            ),
            (json!({ "v: 3": {}, "v:3.0": {} }), json!({ "v:3": {} })),
            // What is not known is dropped.
            (json!({ "f:a": {}, "r:b": {} }), json!({ "f:a": {} })),
            (json!({ "f:a": { "r:b": {} } }), json!({ "f:a": {} })),
            (json!({ "f:a": { ".": {} } }), json!({ "f:a": {} })),
            (json!({ ".": {} }), json!({})),
            (json!({ "f:a": null }), json!({ "f:a": {} })),
            (json!(null), json!({})),
        ];
        for (read, written) in table {
            assert_eq!(Set::from_json(&read).unwrap().to_json(), written, "{read}");
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for wrong in [
            json!([]),
            json!("f:a"),
            json!({ "f": {} }),
            json!({ "": {} }),
            json!({ "spec": {} }),
            json!({ "ä:a": {} }),
            json!({ "f:a": 1 }),
            json!({ "i:x": {} }),
            json!({ "v:{": {} }),
            json!({ "k:1": {} }),
        ] {
            assert!(Set::from_json(&wrong).is_err(), "{wrong}");
        }
    }
}
