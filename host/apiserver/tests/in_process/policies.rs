//! Admission policies: what they refuse, warn of, and need.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{MAPS, map, send, server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

async fn make(server: &Server, plural: &str, kind: &str, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": { "name": name }, "spec": spec,
    });
    let (code, answer) = send(server, "POST", &format!("{GROUP}/{plural}"), &object).await;
    assert_eq!(code, 201, "{answer}");
}

/// A policy for config maps, with more in its spec.
async fn policy(server: &Server, name: &str, more: Value) {
    let mut spec = json!({ "matchConstraints": { "resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"],
    }] } });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let kind = "ValidatingAdmissionPolicy";
    make(server, "validatingadmissionpolicies", kind, name, &spec).await;
}

/// A binding of a policy, with more in its spec.
async fn bind(server: &Server, policy: &str, more: Value) {
    let mut spec = json!({ "policyName": policy, "validationActions": ["Deny"] });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let (kind, name) = ("ValidatingAdmissionPolicyBinding", format!("{policy}-here"));
    make(
        server,
        "validatingadmissionpolicybindings",
        kind,
        &name,
        &spec,
    )
    .await;
}

fn validations(expression: &str) -> Value {
    json!({ "validations": [{ "expression": expression }] })
}

#[tokio::test]
async fn a_bound_policy_denies_what_it_does_not_hold_for() {
    let server = server(7);
    policy(&server, "short", json!({
        "variables": [{ "name": "long", "expression": "object.data.exists(key, object.data[key].size() > 3)" }],
        "validations": [{ "expression": "request.operation == 'DELETE' || !variables.long",
            "messageExpression": "'too long: ' + object.metadata.name" }],
    }))
    .await;
    assert_eq!(
        send(&server, "POST", MAPS, &map("a", "long enough"))
            .await
            .0,
        201,
        "nobody binds it"
    );
    bind(&server, "short", json!({})).await;
    let (code, status) = send(&server, "POST", MAPS, &map("b", "long enough")).await;
    let why =
        "ValidatingAdmissionPolicy 'short' with binding 'short-here' denied request: too long: b";
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
            "reason": "Invalid", "message": format!("configmaps \"b\" is forbidden: {why}"),
            "details": { "name": "b", "kind": "configmaps", "causes": [{ "message": why }] },
        })
    );
    assert_eq!(code, 422);
    assert_eq!(send(&server, "POST", MAPS, &map("b", "abc")).await.0, 201);
    let change = json!({ "data": { "key": "long enough" } });
    let path = format!("{MAPS}/b");
    assert_eq!(send(&server, "PATCH", &path, &change).await.0, 422);
    assert_eq!(send(&server, "DELETE", &path, &Value::Null).await.0, 200);
}

#[tokio::test]
async fn a_deletion_is_admitted_with_the_old_object() {
    let server = server(7);
    policy(&server, "keep", json!({
        "matchConditions": [{ "name": "gone", "expression": "request.operation == 'DELETE'" }],
        "validations": [{ "expression": "oldObject.data.key != 'precious'", "message": "it stays",
            "reason": "Forbidden" }],
    }))
    .await;
    bind(&server, "keep", json!({})).await;
    for (name, value, want) in [("a", "precious", 403), ("b", "cheap", 200)] {
        assert_eq!(send(&server, "POST", MAPS, &map(name, value)).await.0, 201);
        let path = format!("{MAPS}/{name}");
        assert_eq!(send(&server, "DELETE", &path, &Value::Null).await.0, want);
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_denied_unless_it_is_to_be_ignored() {
    let server = server(7);
    let mut spec = validations("object.data.absent == 'x'");
    policy(&server, "broken", spec.clone()).await;
    bind(&server, "broken", json!({})).await;
    let (code, status) = send(&server, "POST", MAPS, &map("a", "x")).await;
    let why = "expression 'object.data.absent == 'x'' resulted in error: no such key: absent";
    assert!(
        status["message"].as_str().unwrap().ends_with(why),
        "{status}"
    );
    assert_eq!(code, 422);
    let path = format!("{GROUP}/validatingadmissionpolicies/broken");
    spec["failurePolicy"] = "Ignore".into();
    let change = json!({ "spec": spec });
    assert_eq!(send(&server, "PATCH", &path, &change).await.0, 200);
    assert_eq!(send(&server, "POST", MAPS, &map("a", "x")).await.0, 201);
}

#[tokio::test]
async fn a_binding_hands_its_policy_parameters() {
    let server = server(7);
    let params = |name: &str, limit: &str| {
        let mut params = map(name, limit);
        params["metadata"]["labels"] = json!({ "role": "limit" });
        params
    };
    let path = "/api/v1/namespaces/kube-system/configmaps";
    let spec = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "validations": [{ "expression": "object.data.key.size() <= int(params.data.key)" }],
    });
    policy(&server, "limit", spec).await;
    let reference = json!({ "namespace": "kube-system", "parameterNotFoundAction": "Deny",
        "selector": { "matchLabels": { "role": "limit" } } });
    let only = json!({ "namespaceSelector":
        { "matchLabels": { "kubernetes.io/metadata.name": "default" } } });
    let more = json!({ "paramRef": reference, "matchResources": only });
    bind(&server, "limit", more).await;
    let (_, status) = send(&server, "POST", MAPS, &map("a", "x")).await;
    let why = "failed to configure binding: no params found for policy binding with `Deny` \
               parameterNotFoundAction";
    assert!(
        status["message"].as_str().unwrap().ends_with(why),
        "{status}"
    );
    for (name, limit) in [("one", "3"), ("two", "5")] {
        assert_eq!(
            send(&server, "POST", path, &params(name, limit)).await.0,
            201
        );
    }
    assert_eq!(
        send(&server, "POST", MAPS, &map("a", "four")).await.0,
        422,
        "one of two says no"
    );
    assert_eq!(send(&server, "POST", MAPS, &map("a", "abc")).await.0, 201);
}

#[tokio::test]
async fn a_binding_that_warns_lets_the_request_through() {
    let server = server(7);
    policy(&server, "never", validations("false")).await;
    bind(
        &server,
        "never",
        json!({ "validationActions": ["Warn", "Audit"] }),
    )
    .await;
    let request = Request::post(MAPS)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(map("a", "x").to_string())))
        .unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), 201);
    assert_eq!(
        response.headers()["warning"],
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'never' with binding 'never-here': failed \
         expression: false\""
    );
}

#[tokio::test]
async fn without_roles_everybody_has_all_rights() {
    let server = server(7);
    let asked = "authorizer.group('').resource('secrets').name('a').check('impersonate').allowed()";
    for (name, expression) in [("allowed", asked.to_owned()), ("not", format!("!{asked}"))] {
        policy(&server, name, validations(&expression)).await;
        bind(&server, name, json!({})).await;
    }
    let (code, status) = send(&server, "POST", MAPS, &map("a", "b")).await;
    assert_eq!(code, 422);
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("'not' with binding"), "{message}");
}
