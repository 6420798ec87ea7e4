//! Objects that are given with what a client cannot set.

use serde_json::{Value, json};
use windlass_apiserver::faults::{Fault, Matcher, Switch};

use crate::support::{MAPS, map, send, server};

#[tokio::test(start_paused = true)]
async fn what_is_given_is_there_as_it_says_of_itself() {
    let server = server(1);
    let given = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "far", "uid": "u-1", "generation": 7,
            "deletionTimestamp": "2026-11-21T09:29:00Z", "finalizers": ["x.y/z"],
        },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web" }] },
            },
        },
        "status": { "replicas": 3 },
    });
    server.give(&given).unwrap();
    let path = "/apis/apps/v1/namespaces/far/deployments/web";
    let (code, held) = send(&server, "GET", path, &Value::Null).await;
    assert_eq!(code, 200, "{held}");
    for field in ["uid", "generation", "deletionTimestamp", "finalizers"] {
        assert_eq!(held["metadata"][field], given["metadata"][field], "{field}");
    }
    assert_eq!(held["status"]["replicas"], 3);
    assert_eq!(held["spec"]["replicas"], 1, "defaults are filled in");
    // What somebody edits is a change like any other.
    let (resource, key) = server.called("Deployment", "far", "web").unwrap();
    let edit = json!({ "spec": { "replicas": 2 }, "status": { "replicas": 2 } });
    server.edit(&resource, &key, &edit).unwrap();
    let (_, held) = send(&server, "GET", path, &Value::Null).await;
    let seen = [
        &held["metadata"]["generation"],
        &held["spec"]["replicas"],
        &held["status"]["replicas"],
    ];
    assert_eq!(seen, [&json!(8), &json!(2), &json!(2)], "{held}");
    // Given again, it has what it says and no more; a version that it was copied with says nothing.
    let mut again = given;
    again["metadata"]["resourceVersion"] = json!("1");
    again["metadata"]["deletionTimestamp"] = Value::Null;
    again.as_object_mut().unwrap().remove("status");
    server.give(&again).unwrap();
    let (_, held) = send(&server, "GET", path, &Value::Null).await;
    let gone = ["/status/replicas", "/metadata/deletionTimestamp"];
    assert!(
        gone.iter().all(|field| held.pointer(field).is_none()),
        "{held}"
    );
}

/// A definition; `status` as a tool that makes definitions writes it, if it does.
fn definition(group: &str, plural: &str, kind: &str, status: Option<Value>) -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": plural, "kind": kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    if let Some(status) = status {
        definition["status"] = status;
    }
    definition
}

#[tokio::test(start_paused = true)]
async fn every_definition_that_is_given_is_served() {
    let empty = json!({
        "acceptedNames": { "kind": "", "plural": "" }, "conditions": [], "storedVersions": [],
    });
    let server = server(1);
    let kinds = [
        ("a.example.dev", "ones", "One", None),
        ("b.example.dev", "twos", "Two", None),
        ("a.example.dev", "threes", "Three", Some(empty)),
        ("a.example.dev", "fours", "Four", Some(Value::Null)),
    ];
    for (number, (group, plural, kind, status)) in kinds.iter().enumerate() {
        let definition = definition(group, plural, kind, status.clone());
        server.give(&definition).unwrap();
        // Given again, it is served as before.
        server.give(&definition).unwrap();
        for (group, plural, kind, _) in &kinds[..=number] {
            let path = format!("/apis/{group}/v1/namespaces/default/{plural}");
            let object = json!({
                "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": { "name": "x" },
            });
            server.give(&object).unwrap();
            let (code, list) = send(&server, "GET", &path, &Value::Null).await;
            assert_eq!(code, 200, "{kind} after {number} more: {list}");
            assert_eq!(list["items"].as_array().unwrap().len(), 1);
        }
        let path =
            format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}");
        let (_, held) = send(&server, "GET", &path, &Value::Null).await;
        assert_eq!(held["status"]["acceptedNames"]["kind"], *kind);
        assert_eq!(held["status"]["storedVersions"], json!(["v1"]));
    }
}

#[tokio::test(start_paused = true)]
async fn pods_find_the_account_that_they_run_as() {
    let server = server(1);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "namespace": "far" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    server.give(&pod).unwrap();
    assert!(server.called("Pod", "far", "a").is_some());
    // Also in a namespace that was there, and whose account no controller has made yet.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    server.give(&pod).unwrap();
    assert!(server.called("Pod", "default", "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn what_a_cluster_shows_of_an_object_can_be_given() {
    let server = server(1);
    let uid = "6f1c2b5e-0000-4000-8000-00000000ada0";
    let labels = json!({ "app": "a", "controller-uid": uid, "job-name": "a" });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "a", "generateName": "a-", "namespace": "far", "uid": uid, "resourceVersion": "7",
            "generation": 1, "creationTimestamp": "2026-11-21T09:29:00Z", "managedFields": [], "labels": labels,
        },
        "spec": {
            "selector": { "matchLabels": { "batch.kubernetes.io/controller-uid": uid } },
            "template": {
                "metadata": { "labels": { "batch.kubernetes.io/controller-uid": uid, "app": "a" } },
                "spec": { "restartPolicy": "Never", "containers": [{ "name": "a", "image": "a" }] },
            },
        },
    });
    server.give(&job).unwrap();
    let (resource, key) = server.called("Job", "far", "a").unwrap();
    let held = server.stored(&resource, &key).unwrap();
    for path in [
        "/metadata/uid",
        "/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid",
        "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
    ] {
        assert_eq!(held.pointer(path), Some(&json!(uid)), "{path}: {held}");
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "b", "namespace": "far" },
        "spec": { "serviceAccountName": "builder", "containers": [{ "name": "a", "image": "a" }] },
    });
    server.give(&pod).unwrap();
    assert!(server.called("Pod", "far", "b").is_some());
    // A name can be left to the server.
    let made = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "generateName": "c-", "namespace": "far" },
    });
    server.give(&made).unwrap();
    let path = "/api/v1/namespaces/far/configmaps";
    let (_, list) = send(&server, "GET", path, &Value::Null).await;
    let names = list["items"].as_array().unwrap().iter();
    let mut names = names.filter_map(|item| item["metadata"]["name"].as_str());
    assert!(names.any(|name| name.starts_with("c-")), "{list}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_refused() {
    let server = server(1);
    let wrong = |object: Value| server.give(&object).unwrap_err().message;
    let said = wrong(json!({ "apiVersion": "x.dev/v1", "kind": "X" }));
    assert!(said.contains("no kind \"X\" of \"x.dev/v1\""), "{said}");
    let said = wrong(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "dato": {},
    }));
    assert!(said.contains("unknown field \"dato\""), "{said}");
    assert!(server.called("ConfigMap", "default", "a").is_none());
    server.give(&map("a", "1")).unwrap();
    let (resource, key) = server.called("ConfigMap", "default", "a").unwrap();
    server.take_away(&resource, &key).unwrap();
    assert!(server.stored(&resource, &key).is_err());
}

#[tokio::test(start_paused = true)]
async fn one_write_of_several_to_an_object_can_fail() {
    let server = server(1);
    server.give(&map("a", "1")).unwrap();
    server.faults().switch_on(Switch {
        name: "second".to_owned(),
        on: Matcher {
            object: Some(("default".into(), "a".into(), String::new())),
            sent: Some(json!({ "data": { "key": "2" } })),
            ..Matcher::default()
        },
        from: 0,
        times: u64::MAX,
        fault: Fault::Refuse(503),
    });
    let path = format!("{MAPS}/a");
    for (value, want) in [("1", 200), ("2", 503), ("2", 503), ("3", 200)] {
        let patch = json!({ "data": { "key": value, "more": "x" } });
        let (code, _) = send(&server, "PATCH", &path, &patch).await;
        assert_eq!(code, want, "{value}");
    }
    let (code, _) = send(&server, "POST", MAPS, &map("b", "2")).await;
    assert_eq!(code, 201, "another object");
}
