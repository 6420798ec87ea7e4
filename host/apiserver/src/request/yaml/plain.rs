//! JSON that is the same in YAML: what most clients send as YAML, read by the faster parser.
//!
//! What the two might take for something else is left to the parser of YAML: line breaks and characters
//! that not every text may have, some escapes, numbers but for integers, merge keys, keys that are too long
//! or there twice, and what is nested too deeply.

use serde::de::{DeserializeSeed, Error};
use serde_json::{Map, Value};

use windlass_yaml::untyped::{Notation, Seed};

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
    let value = Seed(&mut Plain).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// Takes only what means the same in both formats.
struct Plain;

impl Notation for Plain {
    type Key = String;

    const EXPECTED: &'static str = "what is the same in JSON and YAML";

    fn number<E: Error>(_number: f64) -> Result<Value, E> {
        Err(E::custom("a number for the parser of YAML"))
    }

    /// The parser of JSON has a limit of its own.
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        Ok(())
    }

    fn leave(&mut self) {}

    fn field<E: Error>(&mut self, key: &String, map: &Map<String, Value>) -> Result<(), E> {
        if key.len() > LONGEST_KEY || key == MERGE || map.contains_key(key) {
            return Err(E::custom("a key for the parser of YAML"));
        }
        Ok(())
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
