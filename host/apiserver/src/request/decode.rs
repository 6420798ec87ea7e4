//! A body becomes an object: JSON or YAML, with what is wrong in it as the real server says it.

use http::StatusCode;
use serde::de::{DeserializeSeed, Error};
use serde_json::{Map, Value};
use windlass_yaml::untyped::{Notation, Seed, float};

use super::golang;
use crate::json::type_name;
use crate::outline::{self, Doubled, OutlineStep};
use crate::status::Refusal;

/// Deeper than this nothing is read: the real server's JSON decoder has the same limit.
const MAX_DEPTH: usize = 10_000;
/// More fields that are there twice are not named: the real server's JSON decoder has the same limit.
const MAX_DOUBLED: usize = 100;
/// More keys that are there again are not looked at: each costs the time to write its whole path.
const MAX_REPEATS: usize = 1_000;

/// What a body holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value.
    pub value: Value,
    /// What is there twice.
    pub doubled: Vec<Doubled>,
}

/// What becomes of the values of a key that is there again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The last one counts, as in Go's maps.
    Replaces,
    /// Each is read into what is there already, as in Go's structs.
    Joins,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "formats")]
pub enum BodyFormat {
    Json,
    Yaml,
    Protobuf,
}

/// The format that a `Content-Type` names.
///
/// # Errors
/// 415 for others.
pub fn format(content_type: Option<&str>) -> Result<BodyFormat, Refusal> {
    let kind = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim() {
        "" | "application/json" | "*/*" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        _ => Err(unsupported(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// 415: the body is in a format that is not taken here.
pub fn unsupported(accepted: &str) -> Refusal {
    Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "UnsupportedMediaType",
        format!(
            "the body of the request was in an unknown format - accepted media types include: \
             {accepted}"
        ),
    )
}

/// Reads JSON, and notes fields that are there twice (the last one counts).
///
/// # Errors
/// What is wrong, for a message.
pub fn json(body: &[u8]) -> Result<Decoded, String> {
    json_for(body, DuplicateKeys::Replaces)
}

/// The same for maps or for structs.
///
/// # Errors
/// As [`json`].
pub fn json_for(body: &[u8], again: DuplicateKeys) -> Result<Decoded, String> {
    read(body, again).or_else(|error| match golang::json_error(body) {
        Some(wrong) => Err(wrong),
        // Go takes what is not text for the sign that stands for it.
        None => read(&golang::as_text(body), again).map_err(|_| error.to_string()),
    })
}

fn read(body: &[u8], again: DuplicateKeys) -> Result<Decoded, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    // Depth is bounded by `Seed` below; the caller has a stack for it (`crate::deep`).
    deserializer.disable_recursion_limit();
    let mut notation = Json::new(again);
    let value = Seed(&mut notation)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))?;
    Ok(Decoded {
        value,
        doubled: notation.doubled,
    })
}

/// What Go says of a body that is to tell its version and kind, and is nothing that could.
pub fn type_error(value: &Value) -> Option<String> {
    let within = |word: &str, place: &str| {
        Some(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {word} into Go {place}"
        ))
    };
    let fields = match value {
        Value::Null => return None,
        Value::Object(fields) => fields,
        other => {
            let word = type_name(other);
            return within(
                word,
                "value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind \
                 string \"json:\\\"kind,omitempty\\\"\" }",
            );
        }
    };
    for field in ["apiVersion", "kind"] {
        match fields.get(field) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                return within(
                    type_name(other),
                    &format!("struct field .{field} of type string"),
                );
            }
        }
    }
    None
}

/// JSON as a [`Notation`]: floats stay floats until they are kept.
struct Json {
    again: DuplicateKeys,
    path: Vec<OutlineStep>,
    /// How often a key was there before.
    repeats: usize,
    doubled: Vec<Doubled>,
}

impl Notation for Json {
    type Key = String;

    const EXPECTED: &'static str = "a JSON value";

    fn number<E>(number: f64) -> Result<Value, E> {
        Ok(float(number))
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        if self.path.len() >= MAX_DEPTH {
            return Err(E::custom("exceeded max depth"));
        }
        self.path.push(OutlineStep::Item(0));
        Ok(())
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn item(&mut self, index: usize) {
        self.name(OutlineStep::Item(index));
    }

    fn field<E>(&mut self, key: &String, map: &Map<String, Value>) -> Result<(), E> {
        self.name(OutlineStep::Field(key.clone()));
        if map.contains_key(key) {
            self.note();
        }
        Ok(())
    }

    fn again(&self, before: Value, value: Value) -> Value {
        match self.again {
            DuplicateKeys::Replaces => value,
            DuplicateKeys::Joins => joined(before, value),
        }
    }
}

/// What Go's decoder makes of a value that is read into another.
fn joined(before: Value, value: Value) -> Value {
    match (before, value) {
        (Value::Object(mut before), Value::Object(value)) => {
            for (key, value) in value {
                let value = match before.remove(&key) {
                    Some(before) => joined(before, value),
                    None => value,
                };
                before.insert(key, value);
            }
            Value::Object(before)
        }
        (Value::Array(before), Value::Array(value)) => {
            let mut before = before.into_iter();
            let items = value.into_iter().map(|value| match before.next() {
                Some(before) => joined(before, value),
                None => value,
            });
            Value::Array(items.collect())
        }
        (_, value) => value,
    }
}

impl Json {
    fn new(again: DuplicateKeys) -> Self {
        Self {
            again,
            path: Vec::new(),
            repeats: 0,
            doubled: Vec::new(),
        }
    }

    fn name(&mut self, step: OutlineStep) {
        if let Some(last) = self.path.last_mut() {
            *last = step;
        }
    }

    /// Notes that the field at the path is there twice.
    fn note(&mut self) {
        self.repeats += 1;
        if self.repeats > MAX_REPEATS || self.doubled.len() >= MAX_DOUBLED {
            return;
        }
        let text = format!("duplicate field {:?}", outline::path(&self.path));
        if self.doubled.iter().all(|doubled| doubled.text != text) {
            let at = self.path.clone();
            self.doubled.push(Doubled { text, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::deep;

    #[test]
    fn fields_that_are_there_twice_are_noted_and_the_last_one_counts() {
        let body = br#"{"a":1,"spec":{"list":[{"x":1,"x":2}],"y":{}},"a":2}"#;
        let decoded = json(body).unwrap();
        assert_eq!(
            decoded.value,
            json!({ "a": 2, "spec": { "list": [{ "x": 2 }], "y": {} } })
        );
        let doubled: Vec<&str> = { decoded.doubled.iter() }
            .map(|doubled| doubled.text.as_str())
            .collect();
        let expected = [
            "duplicate field \"spec.list[0].x\"",
            "duplicate field \"a\"",
        ];
        assert_eq!(doubled, expected);
    }

    #[test]
    fn in_structs_the_values_of_a_field_that_is_there_twice_are_joined() {
        let body = br#"{"a":{"x":1,"y":[{"p":1},2]},"a":{"z":2,"y":[{"q":1}]},"b":1,"b":"c"}"#;
        assert_eq!(
            json_for(body, DuplicateKeys::Joins).unwrap().value,
            json!({ "a": { "x": 1, "y": [{ "p": 1, "q": 1 }], "z": 2 }, "b": "c" })
        );
    }

    #[test]
    fn fields_that_are_there_twice_are_noted_once_and_in_the_order_of_their_keys() {
        let doubled = |body: &str| -> Vec<String> {
            let doubled = json(body.as_bytes()).unwrap().doubled.into_iter();
            doubled.map(|doubled| doubled.text).collect()
        };
        let cases = [
            (
                r#"{"a":{},"a":{"x":1,"x":2}}"#,
                vec!["duplicate field \"a\"", "duplicate field \"a.x\""],
            ),
            (r#"{"a":1,"a":2,"a":3}"#, vec!["duplicate field \"a\""]),
            (
                r#"{"l":[{"x":1,"x":2},[{"y":1,"y":2}]]}"#,
                vec![
                    "duplicate field \"l[0].x\"",
                    "duplicate field \"l[1][0].y\"",
                ],
            ),
            (r#"{".a":1,".a":2}"#, vec!["duplicate field \".a\""]),
        ];
        for (body, want) in cases {
            assert_eq!(doubled(body), want, "{body}");
        }
        let many = (0..101).map(|number| format!(r#""f{number}":1,"f{number}":2"#));
        let many = format!("{{{}}}", many.collect::<Vec<_>>().join(","));
        let many = doubled(&many);
        assert_eq!(many.len(), 100);
        assert_eq!(many[99], "duplicate field \"f99\"");
        let again = format!(
            r#"{{"a":0{},"b":1,"b":2}}"#,
            r#","a":1"#.repeat(MAX_REPEATS)
        );
        assert_eq!(doubled(&again), ["duplicate field \"a\""]);
    }

    #[test]
    fn numbers_are_floats_until_they_are_kept() {
        let body =
            b"[1, 1.0, 1.5, 9223372036854775807, 9223372036854775808, 12345678901234567890, 1e3]";
        let value = json(body).unwrap().value;
        assert_ne!(value[0], value[1]);
        assert_eq!(
            windlass_yaml::whole_numbers(value).to_string(),
            "[1,1,1.5,9223372036854775807,9223372036854776000,12345678901234567000,1000]"
        );
    }

    #[test]
    fn what_is_no_text_is_taken_for_its_sign() {
        let read = |body: &[u8]| json(body).unwrap().value;
        assert_eq!(
            read(br#""\ud800x \ud83d\ude00 \udc00""#),
            "\u{fffd}x \u{1f600} \u{fffd}"
        );
        assert_eq!(read(b"\"a\xffb\""), "a\u{fffd}b");
    }

    #[test]
    fn depth_is_bounded_and_nothing_overflows() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let read = |depth| {
            let text = nested(depth);
            crate::deep::roomy(deep::nesting(text.as_bytes()), || {
                json(text.as_bytes()).map(drop)
            })
        };
        assert_eq!(read(9_000), Ok(()));
        let why = read(20_000).unwrap_err();
        assert!(why.contains("exceeded max depth"), "{why}");
        assert!(json(b"{\"a\":}").is_err());
        assert!(json(b"{} {}").is_err());
    }
}
