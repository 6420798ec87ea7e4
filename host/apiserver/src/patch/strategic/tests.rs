//! The tables of apimachinery's own tests, and what the real server answers for a Deployment.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::schema::{Schema, SchemaNode, Types};

/// Each patch that the tests of apimachinery v0.36.4 apply to a `MergeItem`, then random ones, and what
/// comes of it there.
const CASES: &str = include_str!("../../../testdata/strategic.jsonl");

/// The type that apimachinery's tests are about.
fn merge_item() -> Schema {
    let list = |items: Value| json!({ "type": "array", "items": items });
    let merged = |items: Value, strategy: &str, key: Option<&str>| {
        let mut list = list(items);
        list["x-kubernetes-patch-strategy"] = json!(strategy);
        if let Some(key) = key {
            list["x-kubernetes-patch-merge-key"] = json!(key);
        }
        list
    };
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let item = json!({ "$ref": "MergeItem" });
    let map = json!({ "type": "object", "additionalProperties": text });
    let retains = json!({
        "name": text, "value": text, "other": text, "simpleMap": map,
        "mergingIntList": merged(number.clone(), "merge", None),
        "mergingList": merged(item.clone(), "merge", Some("name")),
        "nonMergingList": list(item.clone()),
    });
    let mut fields = retains.clone();
    fields["nonMergingIntList"] = list(number);
    fields["mergeItemPtr"] = item.clone();
    fields["replacingItem"] = json!({ "type": "object", "x-kubernetes-patch-strategy": "replace" });
    fields["jsonItem"] = json!({ "type": "object" });
    fields["retainKeysMap"] = json!({
        "type": "object", "properties": retains, "x-kubernetes-patch-strategy": "retainKeys",
    });
    fields["retainKeysMergingList"] = merged(item.clone(), "merge,retainKeys", Some("name"));
    let merge_item = json!({ "type": "object", "properties": fields });
    let types = Types::new(
        [(
            "MergeItem".to_owned(),
            SchemaNode::parse(&merge_item).unwrap(),
        )]
        .into(),
    );
    Schema::new(SchemaNode::parse(&item).unwrap(), Arc::new(types))
}

#[test]
fn patches_do_what_apimachinery_does() {
    let schema = merge_item();
    let mut count = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let found = strategic(&case["object"], &case["patch"], schema.view());
        match case.get("error") {
            Some(error) => assert_eq!(&json!(found.unwrap_err().message), error, "{line}"),
            None => assert_eq!(found.as_ref(), Ok(&case["result"]), "{line}"),
        }
        count += 1;
    }
    assert!(count > 350);
}

fn deployment() -> Value {
    json!({
        "metadata": { "finalizers": ["a.b/c", "a.b/d"] },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "a": "b" } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%" } },
            "template": { "spec": { "containers": [
                { "name": "x", "image": "img", "ports": [{ "containerPort": 80 }] },
                { "name": "z", "image": "w" },
            ] } },
        },
    })
}

fn apply(patch: &Value) -> Result<Value, Refusal> {
    let resources = crate::builtin::resources();
    let mut resources = resources.iter();
    let deployments = resources
        .find(|found| found.plural == "deployments")
        .unwrap();
    strategic(&deployment(), patch, deployments.schema().unwrap().view())
}

#[test]
fn the_schemas_of_built_in_kinds_say_how_lists_merge() {
    let pod = |containers: Value| json!({ "spec": { "template": { "spec": { "containers": containers } } } });
    let merged = apply(&pod(json!([
        { "name": "x", "ports": [{ "containerPort": 81 }] }, { "name": "z", "$patch": "delete" },
    ])));
    assert_eq!(
        merged.unwrap()["spec"]["template"]["spec"]["containers"],
        json!([{ "name": "x", "image": "img", "ports": [{ "containerPort": 81 }, { "containerPort": 80 }] }])
    );
    let metadata =
        json!({ "$deleteFromPrimitiveList/finalizers": ["a.b/c"], "finalizers": ["e.f/g"] });
    let merged = apply(&json!({ "metadata": metadata })).unwrap();
    assert_eq!(
        merged["metadata"],
        json!({ "finalizers": ["e.f/g", "a.b/d"] })
    );
    let strategy = json!({ "$retainKeys": ["type"], "type": "Recreate" });
    let merged = apply(&json!({ "spec": { "strategy": strategy } })).unwrap();
    assert_eq!(merged["spec"]["strategy"], json!({ "type": "Recreate" }));
}

#[test]
fn patches_that_do_not_fit_are_refused_as_by_the_real_server() {
    let pod = |spec: Value| json!({ "spec": { "template": { "spec": spec } } });
    let rows = [
        (
            json!([]),
            400,
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            pod(json!({ "containers": [{ "image": "q" }] })),
            500,
            "map: map[image:q] does not contain declared merge key: name",
        ),
        (
            pod(json!({ "containers": [{ "$patch": "merge", "name": "x" }] })),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            pod(json!({ "containers": [{ "$patch": "foo", "name": "x" }] })),
            500,
            "unknown patch type: foo in map: map[$patch:foo name:x]",
        ),
        (
            json!({ "spec": { "$patch": "foo" } }),
            500,
            "unknown patch type: foo in map: map[$patch:foo]",
        ),
        (
            json!({ "spec": { "$patch": 3 } }),
            500,
            "unknown patch type: %!s(int64=3) in map: map[$patch:3]",
        ),
        (
            json!({ "$retainKeys": 1 }),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({ "spec": { "strategy": { "$retainKeys": ["type"], "rollingUpdate": {} } } }),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({ "metadata": { "$deleteFromPrimitiveList": ["a.b/c"] } }),
            400,
            "invalid patch format of primitive list",
        ),
        (
            json!({ "metadata": { "$setElementOrder/finalizers": 1 } }),
            500,
            "expected a []interface {}, but received a int64",
        ),
        (
            json!({ "metadata": { "$setElementOrder/finalizers": ["a.b/d"], "finalizers": ["q.b/c"] } }),
            500,
            "The order in patch list:\n[q.b/c]\n doesn't match $setElementOrder list:\n[a.b/d]\n",
        ),
        (
            json!({ "metadata": { "finalizers": [1] } }),
            500,
            "list element types are not identical: [[a.b/c a.b/d] [1]]",
        ),
        (
            pod(json!({ "$setElementOrder/bogus": [{ "a": 1 }] })),
            500,
            "unable to find api field in struct PodSpec for the json field \"bogus\"",
        ),
    ];
    for (patch, code, message) in rows {
        let refusal = apply(&patch).unwrap_err();
        assert_eq!(
            (refusal.code.as_u16(), refusal.message.as_str()),
            (code, message),
            "{patch}"
        );
    }
}
