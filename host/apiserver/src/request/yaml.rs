//! A YAML text as the real server reads it: the first document, with what is wrong in the words of Go's
//! `yaml` (which are libyaml's), and the keys that are there twice.

mod plain;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::decode::{Decoded, whole_numbers};

/// Deeper than this nothing is read.
const MAX_DEPTH: usize = 10_000;
/// What Go's `yaml` says before a list of keys that are there twice.
const DOUBLED: &str = "yaml: unmarshal errors:\n";

/// Reads the first document; the last of several equal keys counts.
///
/// # Errors
/// What is wrong, for a message.
pub fn read(body: &[u8]) -> Result<Decoded, String> {
    let text =
        std::str::from_utf8(body).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    if let Some(value) = plain::read(text) {
        return Ok(Decoded {
            value,
            doubled: Vec::new(),
        });
    }
    let text = first_document(text);
    let mut seen = Seen::default();
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.with_snippet = false;
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
        Seed(&mut seen).deserialize(yaml)
    });
    let value = match read {
        Ok(value) => value,
        Err(serde_saphyr::Error::Eof { .. }) => Value::Null,
        Err(error) => {
            let line = error.location().map_or(1, |location| location.line());
            return Err(in_gos_words(&error.to_string(), line, text));
        }
    };
    let mut doubled = Vec::new();
    if !seen.doubled.is_empty() {
        doubled.push(format!("{DOUBLED}{}", seen.doubled.join("\n")));
    }
    Ok(Decoded {
        value: whole_numbers(value),
        doubled,
    })
}

/// The single warnings in what is wrong with a YAML text; other texts are one.
pub fn warnings(problem: &str) -> Vec<String> {
    let listed = problem
        .strip_prefix("error converting YAML to JSON: ")
        .unwrap_or(problem)
        .strip_prefix(DOUBLED);
    match listed {
        Some(listed) => listed
            .split('\n')
            .map(|line| line.trim().to_owned())
            .collect(),
        None => vec![problem.to_owned()],
    }
}

/// The text up to where a second document begins.
fn first_document(text: &str) -> &str {
    let mut begun = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marks = |sign: &str| {
            let rest = line.strip_prefix(sign);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        if begun && (marks("---") || marks("...")) {
            return text.get(..at).unwrap_or(text);
        }
        let plain = line.trim();
        begun |= marks("---") || !(plain.is_empty() || plain.starts_with(['#', '%']));
        at += line.len();
    }
    text
}

/// Where Go's parser is when it finds a mistake, which decides about the line it names.
enum Found {
    Scanning,
    Parsing,
    AtEnd,
}

/// A sign of a mistake in our parser's text, the words of Go's, and where it finds it.
const KNOWN: [(&str, &str, Found); 16] = [
    (
        "mapping values are not allowed",
        "mapping values are not allowed in this context",
        Found::Scanning,
    ),
    (
        "mapping keys are not allowed",
        "mapping keys are not allowed in this context",
        Found::Scanning,
    ),
    (
        "block sequence entries are",
        "block sequence entries are not allowed in this context",
        Found::Scanning,
    ),
    (
        "unclosed bracket '['",
        "did not find expected ',' or ']'",
        Found::AtEnd,
    ),
    (
        "unclosed bracket '{'",
        "did not find expected ',' or '}'",
        Found::AtEnd,
    ),
    (
        "expected ',' or ']'",
        "did not find expected ',' or ']'",
        Found::Parsing,
    ),
    (
        "expected ',' or '}'",
        "did not find expected ',' or '}'",
        Found::Parsing,
    ),
    (
        "did not find expected key",
        "did not find expected key",
        Found::Parsing,
    ),
    (
        "expected node content",
        "did not find expected node content",
        Found::Parsing,
    ),
    (
        "misplaced bracket",
        "did not find expected node content",
        Found::Parsing,
    ),
    (
        "unclosed quote",
        "found unexpected end of stream",
        Found::AtEnd,
    ),
    (
        "tab",
        "found character that cannot start any token",
        Found::Scanning,
    ),
    (
        "unexpected character",
        "found character that cannot start any token",
        Found::Scanning,
    ),
    (
        "simple key expected",
        "could not find expected ':'",
        Found::Scanning,
    ),
    (
        "unknown escape character",
        "found unknown escape character",
        Found::Scanning,
    ),
    ("exceeded max depth", "exceeded max depth", Found::Scanning),
];

fn in_gos_words(problem: &str, line: u64, text: &str) -> String {
    let known = KNOWN.iter().find(|(sign, ..)| problem.contains(sign));
    let Some((_, words, found)) = known else {
        let line_of = problem.split_once(": ").map_or(problem, |(_, rest)| rest);
        return format!("yaml: {}", line_of.lines().next().unwrap_or_default());
    };
    let before = line.saturating_sub(1);
    let line = match found {
        Found::Scanning if before > 0 => before + 1,
        Found::Scanning | Found::Parsing => before,
        Found::AtEnd => text.lines().count() as u64,
    };
    match line {
        0 => format!("yaml: {words}"),
        line => format!("yaml: line {line}: {words}"),
    }
}

#[derive(Default)]
struct Seen {
    depth: usize,
    doubled: Vec<String>,
}

struct Seed<'a>(&'a mut Seen);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seen {
    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(E::custom("exceeded max depth"));
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed(self.0))? {
            list.push(item);
        }
        self.0.depth -= 1;
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>()?;
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<Spanned<String>>()? {
            let value = fields.next_value_seed(Seed(self.0))?;
            if map.contains_key(&name.value) {
                let line = name.referenced.line();
                self.0.doubled.push(format!(
                    "  line {line}: key {:?} already set in map",
                    name.value
                ));
            }
            map.insert(name.value, value);
        }
        self.0.depth -= 1;
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_read_as_go_reads_it() {
        let cases = [
            (
                "a: 1\nb: [x, 0x10, 1.0, null]\n",
                json!({ "a": 1, "b": ["x", 16, 1, null] }),
            ),
            ("# only this\n---\na: 1\n---\nb: 2\n", json!({ "a": 1 })),
            ("a: 1\n...\nb: 2\n", json!({ "a": 1 })),
            ("k: |\n  x\n  --- y\n", json!({ "k": "x\n--- y\n" })),
            ("", json!(null)),
            ("just text", json!("just text")),
        ];
        for (text, want) in cases {
            assert_eq!(read(text.as_bytes()).unwrap().value, want, "{text}");
        }
    }

    #[test]
    fn keys_that_are_there_twice_are_named_with_their_lines() {
        let decoded = read(b"m:\n  a: 1\n  a: 2\nn: 1\nn: 2\n").unwrap();
        assert_eq!(decoded.value, json!({ "m": { "a": 2 }, "n": 2 }));
        let lines = [
            "line 3: key \"a\" already set in map",
            "line 5: key \"n\" already set in map",
        ];
        assert_eq!(warnings(&decoded.doubled[0]), lines);
        assert_eq!(warnings("other\ntext"), ["other\ntext"]);
    }

    #[test]
    fn mistakes_have_gos_words() {
        let cases = [
            (
                "a: b: c",
                "yaml: mapping values are not allowed in this context",
            ),
            (
                "x: 1\na: b: c\n",
                "yaml: line 2: mapping values are not allowed in this context",
            ),
            ("{a: [b", "yaml: line 1: did not find expected ',' or ']'"),
            (
                "a: 1\nb: {c: 1\n",
                "yaml: line 2: did not find expected ',' or '}'",
            ),
            (
                "a: @x\n",
                "yaml: found character that cannot start any token",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(read(text.as_bytes()).unwrap_err(), want, "{text}");
        }
    }
}
