//! Tables: what patches touch, and what is not a patch.

use super::*;
use serde_json::json;

fn parse(kind: PatchType, patch: &Value) -> Result<Patch, Error> {
    Patch::parse(kind, &patch.to_string())
}

#[test]
fn no_form_of_a_json_patch_touches_what_is_guarded() {
    let op = |op: &str, path: &str| json!({ "op": op, "path": path, "value": [] });
    let from = |op: &str, from: &str, path: &str| json!({ "op": op, "from": from, "path": path });
    let rows = [
        (op("add", "/metadata/finalizers"), true),
        (op("add", "/metadata/finalizers/-"), true),
        (op("replace", "/metadata/ownerReferences/0/uid"), true),
        (op("remove", "/metadata/managedFields"), true),
        (op("replace", "/metadata"), true),
        (op("add", "/METADATA/Finalizers"), true),
        (op("replace", ""), true),
        (from("move", "/metadata/finalizers", "/data/x"), true),
        (from("move", "/metadata", "/data/x"), true),
        (from("move", "", "/data/x"), true),
        (from("copy", "/data/x", "/metadata/ownerReferences"), true),
        (from("copy", "/data", "/metadata"), true),
        (from("copy", "/data", ""), true),
        (from("copy", "/metadata", "/data/x"), true),
        (op("add", "/metadata/labels/a"), false),
        (op("add", "/metadata/annotations"), false),
        (op("add", "/spec/finalizers"), false),
        (op("add", "/spec/metadata/finalizers"), false),
        (op("add", "/data/metadata~1finalizers"), false),
        (op("test", "/metadata/finalizers"), false),
    ];
    for (operation, touches) in rows {
        let harmless = json!({ "op": "add", "path": "/data/a", "value": 1 });
        let patch = parse(PatchType::Json, &json!([harmless, operation])).unwrap();
        assert_eq!(patch.touches_guarded(), touches, "{operation}");
    }
}

#[test]
fn no_form_of_a_merge_patch_touches_what_is_guarded() {
    let rows = [
        (json!({ "metadata": { "finalizers": null } }), true),
        (json!({ "metadata": { "ownerReferences": [] } }), true),
        (json!({ "metadata": { "managedFields": [{}] } }), true),
        (json!({ "metadata": null }), true),
        (json!({ "metadata": [] }), true),
        (json!({ "Metadata": { "Finalizers": null } }), true),
        (
            json!({ "metadata": { "labels": { "finalizers": "x" } } }),
            false,
        ),
        (json!({ "spec": { "finalizers": null } }), false),
        (json!({}), false),
    ];
    for (patch, touches) in rows {
        let read = parse(PatchType::Merge, &patch).unwrap();
        assert_eq!(read.touches_guarded(), touches, "{patch}");
    }
}

#[test]
fn no_form_of_a_patch_touches_what_is_reserved() {
    let op = |op: &str, path: &str| json!({ "op": op, "path": path, "value": "x" });
    let from = |op: &str, from: &str, path: &str| json!({ "op": op, "from": from, "path": path });
    let label = "/metadata/labels/windlass.dev~1set";
    let annotation = "/metadata/annotations/windlass.dev~1paused";
    let rows = [
        (op("add", label), true),
        (op("replace", label), true),
        (op("remove", label), true),
        (op("remove", annotation), true),
        (op("add", "/METADATA/Labels/windlass.dev~1set"), true),
        (op("remove", "/metadata/labels"), true),
        (op("replace", "/metadata/annotations"), true),
        (op("add", "/metadata/labels"), true),
        (from("move", label, "/metadata/labels/mine"), true),
        (from("move", "/metadata/labels", "/spec/labels"), true),
        (from("move", "/metadata/labels/mine", label), true),
        (from("copy", "/metadata/labels/mine", annotation), true),
        (from("copy", "/spec/labels", "/metadata/labels"), true),
        (from("copy", label, "/metadata/labels/mine"), false),
        (op("test", label), false),
        (op("add", "/metadata/labels/app"), false),
        (
            op("remove", "/metadata/labels/examples.windlass.dev~1a"),
            false,
        ),
        (op("add", "/spec/template/metadata/labels"), false),
    ];
    for (operation, touches) in rows {
        let harmless = json!({ "op": "add", "path": "/data/a", "value": 1 });
        let patch = parse(PatchType::Json, &json!([harmless, operation])).unwrap();
        assert_eq!(patch.touches_reserved(), touches, "{operation}");
    }
    let set = "windlass.dev/set";
    let rows = [
        (json!({ "metadata": { "labels": { set: "x" } } }), true),
        (json!({ "metadata": { "labels": { set: null } } }), true),
        (
            json!({ "metadata": { "annotations": { "a": "b", set: 1 } } }),
            true,
        ),
        (json!({ "Metadata": { "Labels": { set: "x" } } }), true),
        (json!({ "metadata": { "labels": null } }), true),
        (json!({ "metadata": { "annotations": [] } }), true),
        (json!({ "metadata": { "labels": {} } }), false),
        (json!({ "metadata": { "labels": { "app": null } } }), false),
        (json!({ "data": { set: "x" } }), false),
    ];
    for (patch, touches) in rows {
        let read = parse(PatchType::Merge, &patch).unwrap();
        assert_eq!(read.touches_reserved(), touches, "{patch}");
    }
    // A name that is spelled with escapes is the name.
    let escaped = r#"{"met\u0061data":{"l\u0061bels":{"windlass.dev\u002fset":"x"}}}"#;
    let read = Patch::parse(PatchType::Merge, escaped).unwrap();
    assert!(read.touches_reserved());
}

#[test]
fn a_patch_is_applied_within_reason() {
    let apply = |patch: Value| {
        let object = json!({ "data": { "a": "x".repeat(1000) } });
        parse(PatchType::Json, &patch).unwrap().apply(object)
    };
    let set = apply(json!([{ "op": "replace", "path": "/data/a", "value": 1 }]));
    assert_eq!(set.unwrap(), json!({ "data": { "a": 1 } }));
    let absent = apply(json!([{ "op": "replace", "path": "/data/b", "value": 1 }]));
    assert!(matches!(absent, Err(Error::Invalid(_))));
    let copy = |n: usize| json!({ "op": "copy", "from": "/data", "path": format!("/data/{n}") });
    let doubled = apply((0..40).map(copy).collect());
    let Err(doubled) = doubled else {
        panic!("it grew 2^40 times")
    };
    assert!(format!("{doubled:?}").contains("3 MiB"), "{doubled:?}");
    let wrap = |n: usize| {
        let (here, there) = (format!("/n{n}"), format!("/n{}/in", n + 1));
        let add = json!({ "op": "add", "path": format!("/n{}", n + 1), "value": {} });
        [add, json!({ "op": "move", "from": here, "path": there })]
    };
    let mut nested = vec![json!({ "op": "add", "path": "/n0", "value": {} })];
    nested.extend((0..200).flat_map(wrap));
    let nested = apply(json!(nested)).unwrap_err();
    assert!(format!("{nested:?}").contains("too deep"), "{nested:?}");
    let merge = parse(PatchType::Merge, &json!({ "data": { "a": null } })).unwrap();
    assert_eq!(
        merge.apply(json!({ "data": { "a": 1 } })).unwrap(),
        json!({ "data": {} })
    );
}

#[test]
fn what_is_no_patch_is_invalid() {
    let many: Vec<Value> = (0..=OPERATIONS)
        .map(|_| json!({ "op": "test", "path": "" }))
        .collect();
    for (kind, patch) in [
        (PatchType::Merge, json!([])),
        (PatchType::Merge, json!(null)),
        (PatchType::Merge, json!("x")),
        (PatchType::Json, json!({})),
        (PatchType::Json, json!([7])),
        (PatchType::Json, json!([{ "path": "/a" }])),
        (PatchType::Json, json!([{ "op": "add" }])),
        (PatchType::Json, json!([{ "op": "Add", "path": "/a" }])),
        (PatchType::Json, json!([{ "op": "add", "path": 7 }])),
        (
            PatchType::Json,
            json!([{ "op": "add", "path": "x/metadata/finalizers" }]),
        ),
        (PatchType::Json, json!([{ "op": "move", "path": "/a" }])),
        (
            PatchType::Json,
            json!([{ "op": "move", "from": "metadata", "path": "/a" }]),
        ),
        (PatchType::Json, json!(many)),
    ] {
        assert!(
            matches!(parse(kind, &patch), Err(Error::Invalid(_))),
            "{patch:.100}"
        );
    }
    assert!(Patch::parse(PatchType::Merge, "{").is_err());
    assert!(
        Patch::parse(
            PatchType::Merge,
            &format!("{{\"a\":\"{}\"}}", "x".repeat(LARGEST))
        )
        .is_err()
    );
}

#[test]
fn a_patch_repeats_harmlessly_if_it_only_sets() {
    let add = json!({ "op": "add", "path": "/a/-", "value": 1 });
    let replace = json!({ "op": "replace", "path": "/a", "value": 1 });
    let uid = json!({ "op": "test", "path": "/metadata/uid", "value": "u" });
    let version = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "1" });
    for (patch, harmless) in [
        (json!([replace]), true),
        (json!([uid, replace]), true),
        (json!([uid, add]), false),
        (json!([version, add]), false),
    ] {
        let read = parse(PatchType::Json, &patch).unwrap();
        assert_eq!(read.repeats_harmlessly(), harmless, "{patch}");
    }
    assert!(
        parse(PatchType::Merge, &json!({}))
            .unwrap()
            .repeats_harmlessly()
    );
}

#[test]
fn the_version_that_a_patch_is_for_is_what_it_tests_or_names() {
    let at = |path: &str, op: &str| json!([{ "op": op, "path": path, "value": "7" }]);
    let version = "/metadata/resourceVersion";
    for (kind, patch, want) in [
        (PatchType::Json, at(version, "test"), Some("7")),
        (PatchType::Json, at(version, "add"), None),
        (PatchType::Json, at("/metadata/uid", "test"), None),
        (
            PatchType::Merge,
            json!({ "metadata": { "resourceVersion": "7" } }),
            Some("7"),
        ),
        (
            PatchType::Merge,
            json!({ "metadata": { "resourceVersion": null } }),
            None,
        ),
        (PatchType::Merge, json!({ "resourceVersion": "7" }), None),
    ] {
        let read = parse(kind, &patch).unwrap();
        assert_eq!(read.version(), want, "{patch}");
    }
}
