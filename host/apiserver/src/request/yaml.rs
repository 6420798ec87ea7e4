//! A YAML text as the real server reads it: the first document, with what is wrong in the words of Go's
//! `yaml` (which are libyaml's), and the keys that are there twice.

mod plain;

use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy};

use super::decode::Decoded;
use crate::outline::Doubled;
use windlass_yaml::untyped::Seed;
use windlass_yaml::{Yaml, go, options};

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
    let given = first_document(text);
    let body = go::body_as_go(given).filter(|_| is_open_block(given));
    let text = body.as_deref().unwrap_or(given);
    let mut notation = Yaml::default();
    let mut options = options();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    options.with_snippet = false;
    let read = windlass_yaml::as_go(text, |text| {
        notation = Yaml::merging();
        let options = options.clone();
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
            Seed(&mut notation).deserialize(yaml)
        })
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
    if !notation.doubled.is_empty() {
        let text = format!("{DOUBLED}{}", notation.doubled.join("\n"));
        let at = Vec::new();
        doubled.push(Doubled { text, at });
    }
    Ok(Decoded { value, doubled })
}

/// Whether the text can end in a block scalar without a newline.
fn is_open_block(text: &str) -> bool {
    !text.ends_with('\n') && text.contains(['|', '>'])
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
enum ErrorPosition {
    Scanning,
    Parsing,
    AtEnd,
}

/// A sign of a mistake in our parser's text, the words of Go's, and where it finds it.
const KNOWN: [(&str, &str, ErrorPosition); 16] = [
    (
        "mapping values are not allowed",
        "mapping values are not allowed in this context",
        ErrorPosition::Scanning,
    ),
    (
        "mapping keys are not allowed",
        "mapping keys are not allowed in this context",
        ErrorPosition::Scanning,
    ),
    (
        "block sequence entries are",
        "block sequence entries are not allowed in this context",
        ErrorPosition::Scanning,
    ),
    (
        "unclosed bracket '['",
        "did not find expected ',' or ']'",
        ErrorPosition::AtEnd,
    ),
    (
        "unclosed bracket '{'",
        "did not find expected ',' or '}'",
        ErrorPosition::AtEnd,
    ),
    (
        "expected ',' or ']'",
        "did not find expected ',' or ']'",
        ErrorPosition::Parsing,
    ),
    (
        "expected ',' or '}'",
        "did not find expected ',' or '}'",
        ErrorPosition::Parsing,
    ),
    (
        "did not find expected key",
        "did not find expected key",
        ErrorPosition::Parsing,
    ),
    (
        "expected node content",
        "did not find expected node content",
        ErrorPosition::Parsing,
    ),
    (
        "misplaced bracket",
        "did not find expected node content",
        ErrorPosition::Parsing,
    ),
    (
        "unclosed quote",
        "found unexpected end of stream",
        ErrorPosition::AtEnd,
    ),
    (
        "tab",
        "found character that cannot start any token",
        ErrorPosition::Scanning,
    ),
    (
        "unexpected character",
        "found character that cannot start any token",
        ErrorPosition::Scanning,
    ),
    (
        "simple key expected",
        "could not find expected ':'",
        ErrorPosition::Scanning,
    ),
    (
        "unknown escape character",
        "found unknown escape character",
        ErrorPosition::Scanning,
    ),
    (
        "exceeded max depth",
        "exceeded max depth",
        ErrorPosition::Scanning,
    ),
];

fn in_gos_words(problem: &str, line: u64, text: &str) -> String {
    let known = KNOWN.iter().find(|(sign, ..)| problem.contains(sign));
    let Some((_, words, found)) = known else {
        let line_of = problem.split_once(": ").map_or(problem, |(_, rest)| rest);
        return format!("yaml: {}", line_of.lines().next().unwrap_or_default());
    };
    let before = line.saturating_sub(1);
    let line = match found {
        ErrorPosition::Scanning if before > 0 => before + 1,
        ErrorPosition::Scanning | ErrorPosition::Parsing => before,
        ErrorPosition::AtEnd => text.lines().count() as u64,
    };
    match line {
        0 => format!("yaml: {words}"),
        line => format!("yaml: line {line}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_has_the_values_that_a_file_has() {
        for scalar in [
            "0400",
            "0x1F",
            "yes",
            "1.0",
            "1e3",
            "0899",
            "~",
            "'0400'",
            "12345678901234567890",
        ] {
            let text = format!("v: {scalar}\nl: [a]\n");
            let windlass_yaml::Untyped(want) = windlass_yaml::document(&text).unwrap();
            assert_eq!(read(text.as_bytes()).unwrap().value, want, "{text}");
        }
    }

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
        let decoded = read(b"m:\n  a: 1\n  a: 2\nb: 1\nb: 2\n").unwrap();
        assert_eq!(decoded.value, json!({ "m": { "a": 2 }, "b": 2 }));
        let lines = [
            "line 3: key \"a\" already set in map",
            "line 5: key \"b\" already set in map",
        ];
        assert_eq!(warnings(&decoded.doubled[0].text), lines);
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
