//! The server as a service without a socket: the default of a custom resource's status.

use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{next, send, server, watch};

const THINGS: &str = "/apis/a.example.com/v1/things";

async fn install(server: &Server) {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "size": { "type": "integer" } } },
        "status": { "type": "object", "default": { "phase": "Pending" },
            "properties": { "phase": { "type": "string" }, "seen": { "type": "integer" } } } } } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.a.example.com" },
        "spec": {
            "group": "a.example.com",
            "scope": "Cluster",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "selectableFields": [{ "jsonPath": ".status.phase" }], "schema": schema,
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = send(server, "POST", path, &definition).await;
    assert_eq!(code, 201, "{answer}");
}

fn thing(name: &str) -> Value {
    json!({
        "apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": { "name": name },
        "status": { "phase": "Mine" },
    })
}

fn phase(object: &Value) -> &str {
    object["status"]["phase"].as_str().unwrap_or("none")
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap();
    version.parse().unwrap()
}

#[tokio::test]
async fn every_reader_of_an_object_sees_the_default_that_creation_did_not_keep() {
    let server = server(1);
    install(&server).await;
    let dry = format!("{THINGS}?dryRun=All");
    let (code, answer) = send(&server, "POST", &dry, &thing("dry")).await;
    assert_eq!((code, phase(&answer)), (201, "Pending"));

    let mut events = watch(&server, &format!("{THINGS}?watch=true&resourceVersion=0")).await;
    let (code, created) = send(&server, "POST", THINGS, &thing("a")).await;
    assert_eq!((code, phase(&created)), (201, "Pending"));
    let event = next(&mut events).await.unwrap();
    assert_eq!(phase(&event["object"]), "Pending", "{event}");

    let path = format!("{THINGS}/a");
    for path in [path.clone(), format!("{path}/status")] {
        let (_, got) = send(&server, "GET", &path, &Value::Null).await;
        assert_eq!(phase(&got), "Pending", "{path}");
    }
    for (selector, want) in [("", 1), ("Pending", 1), ("Mine", 0)] {
        let path = match selector {
            "" => THINGS.to_owned(),
            phase => format!("{THINGS}?fieldSelector=status.phase%3D{phase}"),
        };
        let (_, list) = send(&server, "GET", &path, &Value::Null).await;
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), want, "{selector}");
        assert!(items.iter().all(|item| phase(item) == "Pending"));
    }
}

#[tokio::test]
async fn the_first_write_keeps_the_default_and_the_next_one_changes_nothing() {
    let server = server(1);
    install(&server).await;
    let (_, created) = send(&server, "POST", THINGS, &thing("a")).await;
    let path = format!("{THINGS}/a");
    let nothing = json!({ "metadata": { "name": "a" } });
    let (code, first) = send(&server, "PATCH", &path, &nothing).await;
    assert_eq!((code, phase(&first)), (200, "Pending"));
    assert!(
        version(&first) > version(&created),
        "the default was not kept before"
    );
    let (_, second) = send(&server, "PATCH", &path, &nothing).await;
    assert_eq!(version(&second), version(&first));

    let seen = json!({ "status": { "seen": 1 } });
    let (code, seen) = send(&server, "PATCH", &format!("{path}/status"), &seen).await;
    assert_eq!(code, 200);
    assert_eq!(seen["status"], json!({ "phase": "Pending", "seen": 1 }));
    let gone = json!({ "status": null });
    let (_, again) = send(&server, "PATCH", &format!("{path}/status"), &gone).await;
    assert_eq!(again["status"], json!({ "phase": "Pending" }));
    let size = json!({ "spec": { "size": 2 }, "status": { "phase": "Mine" } });
    let (_, other) = send(&server, "PATCH", &path, &size).await;
    assert_eq!(
        (phase(&other), &other["spec"]["size"]),
        ("Pending", &json!(2))
    );
}
