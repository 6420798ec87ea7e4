//! JSON that is the same in YAML: what most clients send as YAML, read by the faster parser.
//!
//! What the two might take for something else is left to the parser of YAML: line breaks and characters
//! that not every text may have, some escapes, numbers but for integers, merge keys, keys that are too long
//! or there twice, and what is nested too deeply.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// In YAML, a longer one must be announced.
const LONGEST_KEY: usize = 512;
const MERGE: &str = "<<";

/// Reads an object; nothing if it has to be read as YAML.
pub(super) fn read(text: &str) -> Option<Value> {
    let text = text.trim_end_matches('\n');
    let same = text.starts_with('{')
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !["\\u", "\\/"].iter().any(|escape| text.contains(escape));
    if !same {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Seed.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

struct Seed;

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("what is the same in JSON and YAML")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        let value = i64::try_from(value).map_err(E::custom)?;
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name.len() > LONGEST_KEY || name == MERGE || map.contains_key(&name) {
                return Err(A::Error::custom("a key for the parser of YAML"));
            }
            map.insert(name, fields.next_value_seed(Self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_and_yaml_agree_about_is_read_at_once() {
        let text = r#"{"a": [1, -2, true, null, "x: # \"y\"\n"], "b":{"c":{}}}"#;
        let want = json!({ "a": [1, -2, true, null, "x: # \"y\"\n"], "b": { "c": {} } });
        assert_eq!(read(text), Some(want.clone()));
        assert_eq!(read(&format!("{text}\n")), Some(want.clone()));
        // Reading it as YAML comes to the same.
        let yaml = super::super::read(format!("# as YAML\n{text}").as_bytes());
        assert_eq!(yaml.unwrap().value, want);
    }

    #[test]
    fn the_rest_is_left_to_yaml() {
        let long = format!(r#"{{"{}": 1}}"#, "k".repeat(600));
        let deep = format!("{}{}", r#"{"a":"#.repeat(200), "1");
        let texts = [
            "a: 1",
            "[1]",
            "{a: 1}",
            r#"{"a": 1.0}"#,
            r#"{"a": -0}"#,
            r#"{"a": 1e3}"#,
            r#"{"a": 9223372036854775808}"#,
            r#"{"a": 1, "a": 2}"#,
            r#"{"<<": {}}"#,
            r#"{"a": "\u0041"}"#,
            r#"{"a": "\/"}"#,
            r#"{"a": "ä"}"#,
            "{\"a\":\n1}",
            "{\"a\": \"\t\"}",
            r#"{"a": 1} # and more"#,
            &long,
            &deep,
        ];
        for text in texts {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
