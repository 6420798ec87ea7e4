//! The tables of `evanphx/json-patch` v4, and what the real server answers.

use serde_json::json;

use super::document::MAX_COPIED;
use super::*;

#[test]
fn patches_do_what_the_real_servers_library_does() {
    let rows = [
        (
            json!({ "foo": "bar" }),
            json!([{ "op": "add", "path": "/baz", "value": "qux" }]),
            json!({ "baz": "qux", "foo": "bar" }),
        ),
        (
            json!({ "foo": ["bar", "baz"] }),
            json!([{ "op": "add", "path": "/foo/1", "value": "qux" }]),
            json!({ "foo": ["bar", "qux", "baz"] }),
        ),
        (
            json!({ "foo": ["bar", "baz"] }),
            json!([{ "op": "add", "path": "/foo/-1", "value": "qux" }]),
            json!({ "foo": ["bar", "baz", "qux"] }),
        ),
        (
            json!({ "baz": "qux", "foo": "bar" }),
            json!([{ "op": "remove", "path": "/baz" }]),
            json!({ "foo": "bar" }),
        ),
        (
            json!({ "foo": ["bar", "qux", "baz"] }),
            json!([{ "op": "remove", "path": "/foo/1" }]),
            json!({ "foo": ["bar", "baz"] }),
        ),
        (
            json!({ "foo": ["bar", "qux", "baz"] }),
            json!([{ "op": "remove", "path": "/foo/-2" }]),
            json!({ "foo": ["bar", "baz"] }),
        ),
        (
            json!({ "foo": "bar" }),
            json!([{ "op": "replace", "path": "/baz", "value": "boo" }]),
            json!({ "baz": "boo", "foo": "bar" }),
        ),
        (
            json!({ "a": { "b": 1 }, "c": {} }),
            json!([{ "op": "move", "from": "/a/b", "path": "/c/d" }]),
            json!({ "a": {}, "c": { "d": 1 } }),
        ),
        (
            json!({ "foo": [1, 2, 3, 4] }),
            json!([{ "op": "move", "from": "/foo/1", "path": "/foo/3" }]),
            json!({ "foo": [1, 3, 4, 2] }),
        ),
        (
            json!({ "foo": ["bar"] }),
            json!([{ "op": "add", "path": "/foo/-", "value": ["abc"] }]),
            json!({ "foo": ["bar", ["abc"]] }),
        ),
        (
            json!({ "foo": ["bar"] }),
            json!([{ "op": "copy", "path": "/foo/0", "from": "/foo" }]),
            json!({ "foo": [["bar"], "bar"] }),
        ),
        (
            json!({ "foo": 1 }),
            json!([{ "op": "copy", "path": "/bar", "from": "/baz" }]),
            json!({ "foo": 1, "bar": null }),
        ),
        (
            json!({ "foo": [] }),
            json!([{ "op": "add", "path": "/foo/-1", "value": "qux" }]),
            json!({ "foo": ["qux"] }),
        ),
        (
            json!({ "bar": [{ "baz": null }] }),
            json!([{ "op": "replace", "path": "/bar/0/baz", "value": 1 }]),
            json!({ "bar": [{ "baz": 1 }] }),
        ),
        (
            json!({ "foo": 1 }),
            json!([{ "op": "add", "path": "/bar" }]),
            json!({ "foo": 1, "bar": null }),
        ),
        (
            json!({ "foo": 1 }),
            json!([{ "op": "add", "path": "x/bar", "value": 2 }]),
            json!({ "foo": 1, "bar": 2 }),
        ),
        (
            json!({ "a/b": 1, "~": 2 }),
            json!([{ "op": "remove", "path": "/a~1b" }, { "op": "remove", "path": "/~0" }]),
            json!({}),
        ),
        (
            json!({ "foo": 1 }),
            json!([{ "op": "replace", "path": "", "value": { "bar": 2 } }]),
            json!({ "bar": 2 }),
        ),
        (json!({ "foo": 1 }), json!(null), json!({ "foo": 1 })),
    ];
    for (object, patch, expected) in rows {
        assert_eq!(json(&object, &patch), Ok(expected), "{object} with {patch}");
    }
}

#[test]
fn tests_pass_as_in_the_real_servers_library() {
    let rows = [
        (
            json!({ "baz": "qux", "foo": ["a", 2] }),
            json!({ "path": "/foo/1", "value": 2 }),
            true,
        ),
        (
            json!({ "baz": "qux" }),
            json!({ "path": "/baz", "value": "bar" }),
            false,
        ),
        (
            json!({ "foo": ["a", 2] }),
            json!({ "path": "/foo/1", "value": "c" }),
            false,
        ),
        (
            json!({ "baz": "qux" }),
            json!({ "path": "/foo", "value": 42 }),
            false,
        ),
        // The finalizer helper of kube-rs relies on it.
        (
            json!({ "baz": "qux" }),
            json!({ "path": "/foo", "value": null }),
            true,
        ),
        (
            json!({ "foo": null }),
            json!({ "path": "/foo", "value": null }),
            true,
        ),
        (
            json!({ "foo": {} }),
            json!({ "path": "/foo", "value": null }),
            false,
        ),
        (
            json!({ "foo": [] }),
            json!({ "path": "/foo", "value": null }),
            false,
        ),
        (json!({ "foo": [] }), json!({ "path": "/foo" }), false),
        (json!({ "baz": [] }), json!({ "path": "/foo" }), true),
        (
            json!({ "baz": [] }),
            json!({ "path": "/foo/bar", "value": null }),
            false,
        ),
        (
            json!({ "baz": [] }),
            json!({ "path": "/baz/0", "value": null }),
            false,
        ),
        (
            json!({ "baz/foo": "qux" }),
            json!({ "path": "/baz~1foo", "value": "qux" }),
            true,
        ),
        (
            json!({ "a": 1 }),
            json!({ "path": "", "value": { "a": 1 } }),
            true,
        ),
    ];
    for (object, mut operation, passes) in rows {
        operation["op"] = json!("test");
        let patch = json!([operation]);
        assert_eq!(
            json(&object, &patch).is_ok(),
            passes,
            "{object} with {patch}"
        );
    }
}

#[test]
fn operations_that_cannot_be_done_are_refused() {
    let rows = [
        (
            json!({ "foo": "bar" }),
            json!({ "op": "add", "path": "/baz/bat", "value": "qux" }),
        ),
        (
            json!({ "a": { "b": { "d": 1 } } }),
            json!({ "op": "remove", "path": "/a/b/c" }),
        ),
        (
            json!({ "a": { "b": { "d": 1 } } }),
            json!({ "op": "move", "from": "/a/b/c", "path": "/a/b/e" }),
        ),
        (
            json!({ "a": { "b": [1] } }),
            json!({ "op": "remove", "path": "/a/b/1" }),
        ),
        (
            json!({ "a": { "b": [1] } }),
            json!({ "op": "move", "from": "/a/b/1", "path": "/a/b/2" }),
        ),
        (
            json!({ "foo": "bar" }),
            json!({ "op": "add", "pathz": "/baz", "value": "qux" }),
        ),
        (
            json!({ "foo": "bar" }),
            json!({ "op": "add", "path": "", "value": "qux" }),
        ),
        (
            json!({ "foo": "bar" }),
            json!({ "op": "replace", "path": "", "value": "qux" }),
        ),
        (
            json!({ "foo": ["bar", "baz"] }),
            json!({ "op": "replace", "path": "/foo/2", "value": "bum" }),
        ),
        (
            json!({ "foo": ["bar", "baz"] }),
            json!({ "op": "add", "path": "/foo/-4", "value": "bum" }),
        ),
        (
            json!({ "name": { "foo": "bat" } }),
            json!({ "op": "replace", "path": "/foo/bar", "value": "baz" }),
        ),
        (
            json!({ "foo": ["bar"] }),
            json!({ "op": "add", "path": "/foo/2", "value": "bum" }),
        ),
        (
            json!({ "foo": [] }),
            json!({ "op": "remove", "path": "/foo/-" }),
        ),
        (
            json!({ "foo": [] }),
            json!({ "op": "remove", "path": "/foo/-1" }),
        ),
        (json!({}), json!({ "op": null, "path": "" })),
        (json!({}), json!({ "op": "add", "path": null })),
        (json!({}), json!({ "op": "copy", "from": null })),
        (
            json!({ "foo": [1, 2] }),
            json!({ "op": "move", "from": "/foo/1", "path": "/foo/4" }),
        ),
        (
            json!({ "foo": 1 }),
            json!({ "op": "merge", "path": "/foo" }),
        ),
        (json!({ "foo": 1 }), json!(null)),
    ];
    for (object, operation) in rows {
        let refusal = json(&object, &json!([operation])).unwrap_err();
        assert_eq!(refusal, rejected(), "{object} with {operation}");
    }
}

#[test]
fn what_is_no_patch_is_refused_as_by_the_real_server() {
    let rows = [
        (
            json!({}),
            "object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json!([1]),
            "number into Go value of type handlers.jsonPatchOp",
        ),
        (
            json!([{ "op": 5 }]),
            "number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            json!([{ "path": [] }]),
            "array into Go struct field jsonPatchOp.path of type string",
        ),
    ];
    for (patch, what) in rows {
        let refusal = json(&json!({}), &patch).unwrap_err();
        let message = format!("error decoding patch: json: cannot unmarshal {what}");
        assert_eq!((refusal.code.as_u16(), refusal.message), (400, message));
    }
}

#[test]
fn patches_have_limits() {
    let one = json!({ "op": "test", "path": "/a", "value": null });
    let allowed = vec![one.clone(); MAX_OPERATIONS];
    assert!(json(&json!({}), &json!(allowed)).is_ok());
    let refusal = json(&json!({}), &json!(vec![one; MAX_OPERATIONS + 1])).unwrap_err();
    assert_eq!(refusal.reason, "RequestEntityTooLarge");

    let copy = json!({ "op": "copy", "from": "/a", "path": "/b/-" });
    let large = json!({ "a": "x".repeat(MAX_COPIED / 4), "b": [] });
    assert!(json(&large, &json!(vec![copy.clone(); 3])).is_ok());
    assert_eq!(json(&large, &json!(vec![copy; 4])), Err(rejected()));

    let deeper = (1..60).flat_map(|level| {
        let fresh = format!("/{level}");
        [
            json!({ "op": "add", "path": fresh, "value": {} }),
            json!({ "op": "move", "from": format!("/{}", level - 1), "path": format!("/{level}/x") }),
        ]
    });
    assert_eq!(
        json(&json!({ "0": {} }), &deeper.collect()),
        Err(rejected())
    );
}

#[test]
fn strict_validation_names_unknown_fields_of_operations() {
    let patch = json!([{ "op": "test", "path": "/a" }, { "op": "test", "path": "/a", "zz": 1 }]);
    assert_eq!(
        json_unknown_fields(&patch),
        ["json patch unknown field \"[1].zz\""]
    );
}
