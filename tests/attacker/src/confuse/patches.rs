//! Patches that no grant covers.

use serde_json::{Value, json};

use super::{VICTIM, end, tried};
use crate::{Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, PatchType};

/// Patches of an object that the plugin may patch, in a way that it may not.
pub(crate) fn patches(primary: &Primary) -> Outcome {
    let target = primary.core("ConfigMap", VICTIM);
    let operation =
        |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    let moved =
        |op: &str, from: &str, path: &str| json!([{ "op": op, "from": from, "path": path }]);
    let finalizers = || json!(["attacker.example/x"]);
    let json_patches = [
        ("the whole object", operation("replace", "", json!({}))),
        ("all metadata", operation("replace", "/metadata", json!({}))),
        (
            "an escaped field",
            json!([{ "op": "remove", "path": "/metadata/fin~0alizers" }]),
        ),
        (
            "two slashes first",
            operation("add", "//metadata/finalizers", finalizers()),
        ),
        (
            "two slashes inside",
            operation("add", "/metadata//finalizers", finalizers()),
        ),
        (
            "a copy into finalizers",
            moved("copy", "/data", "/metadata/finalizers"),
        ),
        (
            "a move into finalizers",
            moved("move", "/metadata/labels", "/metadata/finalizers"),
        ),
        (
            "a field in upper case",
            operation("add", "/metadata/Finalizers", finalizers()),
        ),
        (
            "another namespace",
            operation("replace", "/metadata/namespace", json!("other")),
        ),
        (
            "another name",
            operation("replace", "/metadata/name", json!("other")),
        ),
        (
            "another kind",
            operation("replace", "/kind", json!("Secret")),
        ),
        (
            "another UID",
            operation("replace", "/metadata/uid", json!("x")),
        ),
    ];
    for (what, patch) in json_patches {
        let answer = cluster::patch(&target, None, PatchType::Json, &patch.to_string());
        tried(&format!("JSON patch of {what}"), answer);
    }
    let merge_patches = [
        ("no metadata", r#"{"metadata":null}"#),
        (
            "finalizers, second",
            r#"{"metadata":{"labels":{"a":"b"}},"metadata":{"finalizers":["x"]}}"#,
        ),
        (
            "finalizers, first",
            r#"{"metadata":{"finalizers":["x"]},"metadata":{"labels":{"a":"b"}}}"#,
        ),
        (
            "a directive",
            r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}}"#,
        ),
        (
            "escaped finalizers",
            r#"{"met\u0061data":{"final\u0069zers":["x"]}}"#,
        ),
    ];
    for (what, patch) in merge_patches {
        let answer = cluster::patch(&target, None, PatchType::Merge, patch);
        tried(&format!("merge patch of {what}"), answer);
    }
    end()
}
