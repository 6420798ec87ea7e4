//! Admission policies that mutate.

use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{MAPS, map, send, server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy for new config maps, and its binding.
async fn policy(server: &Server, name: &str, mutations: Value, more: Value) {
    let version = "admissionregistration.k8s.io/v1";
    let mut spec = json!({
        "reinvocationPolicy": "Never", "mutations": mutations,
        "matchConstraints": { "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["configmaps"] }] },
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let object = json!({ "apiVersion": version, "kind": "MutatingAdmissionPolicy",
        "metadata": { "name": name }, "spec": spec });
    let path = format!("{GROUP}/mutatingadmissionpolicies");
    let (code, answer) = send(server, "POST", &path, &object).await;
    assert_eq!(code, 201, "{answer}");
    let binding = json!({ "apiVersion": version, "kind": "MutatingAdmissionPolicyBinding",
        "metadata": { "name": name }, "spec": { "policyName": name } });
    let path = format!("{GROUP}/mutatingadmissionpolicybindings");
    assert_eq!(send(server, "POST", &path, &binding).await.0, 201);
}

fn apply(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

fn patch(expression: &str) -> Value {
    json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } })
}

#[tokio::test]
async fn a_policy_mutates_by_configurations_and_patches() {
    let server = server(7);
    let mutations = json!([
        apply("Object{ metadata: Object.metadata{ labels: {'team': object.data.key} } }"),
        patch(
            "[JSONPatch{ op: 'test', path: '/metadata/labels/team', value: 'x' }, \
              JSONPatch{ op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: 'y' }]"
        ),
    ]);
    policy(&server, "label", mutations, json!({})).await;
    let labels = async |name: &str, value: &str| {
        let (code, made) = send(&server, "POST", MAPS, &map(name, value)).await;
        assert_eq!(code, 201, "{made}");
        made["metadata"].clone()
    };
    let made = labels("a", "x").await;
    assert_eq!(
        made["labels"],
        json!({ "app": "a", "team": "x", "a.b/c": "y" })
    );
    let owned = &made["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"];
    assert_eq!(
        *owned,
        json!({ ".": {}, "f:app": {} }),
        "nobody owns what a policy sets"
    );
    let made = labels("b", "z").await;
    assert_eq!(
        made["labels"],
        json!({ "app": "b", "team": "z" }),
        "the test does not hold"
    );
}

#[tokio::test]
async fn a_policy_is_asked_once_more_if_it_says_so() {
    let server = server(7);
    let count = "Object{ data: Object.data{ key: object.data.key + 'x' } }";
    let more = json!({ "reinvocationPolicy": "IfNeeded" });
    policy(&server, "again", json!([apply(count)]), more).await;
    let (_, made) = send(&server, "POST", MAPS, &map("a", "")).await;
    assert_eq!(made["data"]["key"], "xx");
}

#[tokio::test]
async fn a_mutation_that_cannot_be_made_is_refused_unless_it_is_to_be_ignored() {
    let server = server(7);
    let broken = || json!([apply("Object{ data: Object.wrong{} }")]);
    policy(
        &server,
        "ignored",
        broken(),
        json!({ "failurePolicy": "Ignore" }),
    )
    .await;
    assert_eq!(send(&server, "POST", MAPS, &map("a", "x")).await.0, 201);
    policy(&server, "fails", broken(), json!({})).await;
    let (code, status) = send(&server, "POST", MAPS, &map("b", "x")).await;
    assert_eq!(
        (code, &status["reason"]),
        (403, &json!("Invalid")),
        "{status}"
    );
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with("policy 'fails' with binding 'fails' denied request: "),
        "{message}"
    );
    assert!(
        message.contains("unexpected type name \"Object.wrong\", expected \"Object.data\""),
        "{message}"
    );
}
