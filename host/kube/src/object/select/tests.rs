//! Rows of the texts of objects.

use super::*;
use serde_json::{Value, json};

fn selection(paths: &[&str]) -> Selection {
    Selection::of(&Fields::parse(paths.iter().copied()).unwrap())
}

fn row(text: &str, paths: &[&str]) -> Value {
    let row = selection(paths).row(text, usize::MAX).unwrap();
    serde_json::from_str(&row).unwrap_or_else(|error| panic!("{row}: {error}"))
}

#[test]
fn a_row_has_a_value_for_each_path_and_null_for_what_is_absent() {
    let object = json!({
        "apiVersion": "v1",
        "metadata": { "name": "a", "labels": { "app.kubernetes.io/name": "b", "it's": 1 } },
        "spec": {
            "containers": [
                { "name": "x", "ports": [{ "port": 1 }, {}, { "port": 2 }] },
                { "image": "i", "ports": [] },
                7,
            ],
            "deep": [[1, 2], [3], 4],
            "on": true, "text": "a\"},]\\", "number": -1.5e3, "none": null, "empty": {}, "list": [],
        },
    });
    let rows: [(&[&str], Value); 14] = [
        (&[".metadata.name", ".apiVersion"], json!(["a", "v1"])),
        (
            &[".status.phase", ".metadata.name.x", ".spec.on[*]"],
            json!([null, null, null]),
        ),
        (
            &[".metadata.labels['app.kubernetes.io/name']"],
            json!(["b"]),
        ),
        (&[".spec.containers[*].name"], json!([["x", null, null]])),
        (
            &[
                ".spec.containers[*].ports[*].port",
                ".spec.containers[*].image",
            ],
            json!([[[1, null, 2], [], null], [null, "i", null]]),
        ),
        (
            &[".spec.deep[*]", ".spec.deep[*][*]"],
            json!([[[1, 2], [3], 4], [[1, 2], [3], null]]),
        ),
        (
            &[".spec.on", ".spec.text", ".spec.number"],
            json!([true, "a\"},]\\", -1500.0]),
        ),
        (
            &[".spec.none", ".spec.empty", ".spec.list"],
            json!([null, {}, []]),
        ),
        (&[".spec.list[*]", ".spec.empty[*].a"], json!([[], null])),
        (
            &[".metadata", ".metadata.name"],
            json!([object["metadata"], "a"]),
        ),
        (
            &[".metadata.name", ".metadata", ".metadata.name"],
            json!(["a", object["metadata"], "a"]),
        ),
        (
            &[".spec.containers", ".spec.containers[*].name"],
            json!([object["spec"]["containers"], ["x", null, null]]),
        ),
        (
            &[".metadata.labels", ".spec.empty.a"],
            json!([object["metadata"]["labels"], null]),
        ),
        (&[], json!([])),
    ];
    for text in [
        object.to_string(),
        serde_json::to_string_pretty(&object).unwrap(),
    ] {
        for (paths, want) in &rows {
            assert_eq!(row(&text, paths), *want, "{paths:?}");
        }
    }
}

#[test]
fn a_name_that_needs_escapes_is_found_by_what_it_says() {
    let text = r#"{"data":{"a\"b":1,"c\u003cd":2,"\\":{"x":3}}}"#;
    let paths = [".data['a\"b']", ".data['c<d']", r".data['\'].x"];
    assert_eq!(row(text, &paths), json!([1, 2, 3]));
}

#[test]
fn no_row_is_longer_than_there_is_room() {
    let items = vec!["0"; 1000].join(",");
    let text = format!(r#"{{"a":[{items}],"b":"{}"}}"#, "x".repeat(1000));
    // Each item becomes a null.
    for (path, length) in [(".a[*].x", 5003), (".a[*]", 2003), (".b", 1004)] {
        let selection = selection(&[path]);
        assert_eq!(
            selection.row(&text, length).map(|row| row.len()),
            Ok(length),
            "{path}"
        );
        assert_eq!(selection.row(&text, length - 1), Err(NoRoom), "{path}");
    }
}

#[test]
fn what_is_nested_deep_or_is_not_json_is_passed_over() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(r#"{{"a":{deep},"b":{{"c":2}}}}"#);
    assert_eq!(row(&text, &[".b.c"]), json!([2]));
    for text in [
        "",
        "7",
        "[",
        "{",
        "{\"b",
        "{\"b\"",
        "{\"b\":",
        "null",
        "{\"b\":{\"c\"",
        "\"\\",
        "{\"b\":[\"\\",
    ] {
        assert!(
            selection(&[".b.c", ".b[*].x"])
                .row(text, usize::MAX)
                .is_ok(),
            "{text}"
        );
    }
}
