//! What a dry run answers, and what a write is refused for that a dry run is not.

use serde_json::{Value, json};

use crate::support::{MAPS, map, send, server};

#[tokio::test(start_paused = true)]
async fn a_dry_run_of_a_creation_does_not_look_at_the_version() {
    let server = server(1);
    let mut versioned = map("a", "1");
    versioned["metadata"]["resourceVersion"] = "5".into();
    let dry = format!("{MAPS}?dryRun=All");
    let (code, shown) = send(&server, "POST", &dry, &versioned).await;
    assert_eq!(code, 201, "{shown}");
    assert_eq!(shown["metadata"]["resourceVersion"], "5");
    let (code, refused) = send(&server, "POST", MAPS, &versioned).await;
    assert_eq!(code, 500, "{refused}");
    send(&server, "POST", MAPS, &map("a", "1")).await;
    let (code, _) = send(&server, "POST", &dry, &versioned).await;
    assert_eq!(code, 409);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_as_if_the_object_were_kept() {
    let server = server(1);
    let version = |name: &str, fields: Value| {
        json!({ "name": name, "served": true, "storage": name == "v1", "schema": {
            "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": fields } } } } })
    };
    let text = || json!({ "type": "string" });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.a.example.com" },
        "spec": { "group": "a.example.com", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [
                version("v1", json!({ "both": { "type": "string", "default": "kept" } })),
                version("v2", json!({ "both": text(), "new": text() })),
            ] },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, made) = send(&server, "POST", crds, &crd).await;
    assert_eq!(code, 201, "{made}");
    let things = "/apis/a.example.com/v2/namespaces/default/things";
    let thing = json!({ "apiVersion": "a.example.com/v2", "kind": "Thing", "metadata": { "name": "a" },
        "spec": { "new": "x" } });
    let (code, dry) = send(&server, "POST", &format!("{things}?dryRun=All"), &thing).await;
    assert_eq!(code, 201, "{dry}");
    let (_, written) = send(&server, "POST", things, &thing).await;
    assert_eq!(dry["spec"], json!({ "both": "kept" }));
    assert_eq!(dry["spec"], written["spec"]);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_is_not_refused_for_the_size_of_the_object() {
    let server = server(1);
    let revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let large = json!({ "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": { "name": "a" },
        "revision": 1, "data": { "k": "x".repeat(1_573_000) } });
    let (code, _) = send(&server, "POST", &format!("{revisions}?dryRun=All"), &large).await;
    assert_eq!(code, 201);
    let (code, refused) = send(&server, "POST", revisions, &large).await;
    assert_eq!(
        (code, &refused["message"]),
        (500, &json!("etcdserver: request is too large"))
    );
}
