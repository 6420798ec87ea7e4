//! Forms that libyaml reads.

use serde_json::json;

use super::*;
use crate::values;

/// The values that kubectl 1.36 makes of each: `kubectl create --dry-run=client -o json`.
#[test]
fn forms_of_libyaml_are_read_as_kubectl_reads_them() {
    let cases = [
        ("a: \"x\n y\nz\"\nb: 1\n", json!({ "a": "x y z", "b": 1 })),
        (
            "a:\n  b: 'x\ny\n\n  z'\n",
            json!({ "a": { "b": "x y\nz" } }),
        ),
        (
            "a:\n  - \"x\n  y\"\n  - 'z\nw'\n",
            json!({ "a": ["x y", "z w"] }),
        ),
        ("a: \"x\\\ny\"\n", json!({ "a": "xy" })),
        ("a: 'it''s\nit'\n", json!({ "a": "it's it" })),
        ("a: \"x\n\ty\"\n", json!({ "a": "x y" })),
        (
            "a: {\n\tb: c,\n \td: [\n\t1]\n}\n",
            json!({ "a": { "b": "c", "d": [1] } }),
        ),
        ("a: [\n\t'x\ny' # it's\n\t]\n", json!({ "a": ["x y"] })),
        ("a: \"x\u{85}y\"\n", json!({ "a": "x y" })),
        ("a: 'x \u{85} y'\n", json!({ "a": "x y" })),
        ("a: \"x\u{85}\u{85}y\"\n", json!({ "a": "x\ny" })),
        (
            "a: \"x\u{85}\n \u{85}y\"\nb: c\n",
            json!({ "a": "x\n\ny", "b": "c" }),
        ),
        ("a: '\u{85}x'\n", json!({ "a": " x" })),
        ("a: \"x \u{2028} y\"\n", json!({ "a": "x\u{2028}y" })),
        ("a: x\u{85}\nb: c\n", json!({ "a": "x", "b": "c" })),
        ("a: |\n  x\u{85}  y\n", json!({ "a": "x\ny\n" })),
        ("a: b # c\u{2028}d: e\n", json!({ "a": "b", "d": "e" })),
        ("a: \"x\n\t\n\ty\"\n", json!({ "a": "x\ny" })),
        // What is in a block or in a plain scalar stays as it is.
        (
            "a: it's\n  'quoted\n\n  'too\nb: 'x\ny'\n",
            json!({ "a": "it's 'quoted\n'too", "b": "x y" }),
        ),
        ("- x\n  'y\n- 'x\ny'\n", json!(["x 'y", "x y"])),
        (
            "a: |\n  \"x\n  y: {\n  \tz\nb: \"x\ny\"\n",
            json!({ "a": "\"x\ny: {\n\tz\n", "b": "x y" }),
        ),
        (
            "- a: >-\n    'x\n  b: \"x\ny\"\n",
            json!([{ "a": "'x", "b": "x y" }]),
        ),
        (
            "a: it's {\nb: \"x\ny\"\n",
            json!({ "a": "it's {", "b": "x y" }),
        ),
        ("# \"\na: 'x\ny' # '\n", json!({ "a": "x y" })),
    ];
    for (text, want) in cases {
        let read = values(text).map_err(|error| error.to_string());
        assert_eq!(read, Ok(vec![want]), "{text}");
    }
}

#[test]
fn what_neither_reads_stays_an_error() {
    for text in [
        "a: \"x\n---\ny\"\n",
        "a: \"x\n",
        "a:\n\tb: c\n",
        "a: {\n\tb: c\n",
    ] {
        assert!(values(text).is_err(), "{text}");
    }
}

#[test]
fn a_block_at_the_end_of_a_body_has_a_newline_only_if_the_body_has_one() {
    let cases = [
        ("a: |\n  x", "x"),
        ("a: |+\n  x\n\n  y", "x\n\ny"),
        ("a: >2\n  x", "x"),
        ("a: |\n  x\n", "x\n"),
        ("a: |\n  x\n  ", "x\n"),
        ("a: |-\n  x\n", "x"),
    ];
    for (text, want) in cases {
        let body = body_as_go(text);
        let read = values(body.as_deref().unwrap_or(text)).unwrap();
        assert_eq!(read[0]["a"], want, "{text}");
    }
    assert_eq!(body_as_go("a: |\n  x\nb: c"), None);
}
