//! MutatingAdmissionPolicies: which are asked, with what, and what becomes of one that fails. The answers are what
//! the real server's code says (apiserver `pkg/admission/plugin/policy/{generic,mutating}`).

use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{MAPS, map, send, server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// Makes and binds a policy for new config maps.
async fn mutating(server: &Server, name: &str, mutations: Value, more: Value) {
    let mut spec = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
        }] },
        "mutations": mutations, "reinvocationPolicy": "Never",
    });
    for (field, value) in more.as_object().unwrap() {
        match field.as_str() {
            "objectSelector" => spec["matchConstraints"][field] = value.clone(),
            field => spec[field] = value.clone(),
        }
    }
    made(server, "MutatingAdmissionPolicy", name, spec).await;
    let spec = json!({ "policyName": name });
    made(server, "MutatingAdmissionPolicyBinding", name, spec).await;
}

async fn made(server: &Server, kind: &str, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name }, "spec": spec,
    });
    let lower = kind.to_lowercase();
    let plural = match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{lower}s"),
    };
    let (code, answer) = send(server, "POST", &format!("{GROUP}/{plural}"), &object).await;
    assert_eq!(code, 201, "{answer}");
}

fn apply(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

fn patch(operation: &str) -> Value {
    let expression = format!("[JSONPatch{{{operation}}}]");
    json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } })
}

fn label(key: &str) -> Value {
    apply(&format!(
        "Object{{ metadata: Object.metadata{{ labels: {{'{key}': 'y'}} }} }}"
    ))
}

#[tokio::test]
async fn policies_are_matched_with_the_object_that_was_sent() {
    let server = server(7);
    mutating(&server, "a", json!([label("x")]), json!({})).await;
    let selector = json!({ "matchLabels": { "x": "y" } });
    let again = json!({ "objectSelector": selector, "reinvocationPolicy": "IfNeeded" });
    mutating(&server, "b", json!([label("z")]), again).await;
    let (_, held) = send(&server, "POST", MAPS, &map("a", "1")).await;
    assert_eq!(held["metadata"]["labels"], json!({ "app": "a", "x": "y" }));
    let mut labelled = map("b", "1");
    labelled["metadata"]["labels"] = json!({ "x": "y" });
    let (_, held) = send(&server, "POST", MAPS, &labelled).await;
    assert_eq!(held["metadata"]["labels"], json!({ "x": "y", "z": "y" }));
}

#[tokio::test]
async fn what_fails_in_the_second_round_counts() {
    let server = server(7);
    let once = apply(
        "has(object.metadata.labels) ? Object{ data: {'n': string(1 / 0)} } : Object{ metadata: \
         Object.metadata{ labels: {'x': 'y'} } }",
    );
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    mutating(&server, "a", json!([once]), again).await;
    let (code, status) = send(&server, "POST", MAPS, &map("a", "1")).await;
    assert_eq!(
        (code, &status["reason"]),
        (403, &json!("Invalid")),
        "{status}"
    );
}

#[tokio::test]
async fn the_first_mutation_that_fails_is_told_and_each_is_a_cause() {
    let server = server(7);
    let broken = |key: &str| patch(&format!("op: 'remove', path: '/data/{key}'"));
    let both = json!([broken("one"), broken("two")]);
    mutating(&server, "a", both, json!({})).await;
    let (code, status) = send(&server, "POST", MAPS, &map("a", "1")).await;
    let told = |key: &str| {
        format!(
            "policy 'a' with binding 'a' denied request: JSON Patch: error in remove for path: '/data/{key}': \
             Unable to remove nonexistent key: {key}: missing value"
        )
    };
    assert_eq!((code, &status["message"]), (403, &json!(told("one"))));
    let causes = json!([{ "message": told("one") }, { "message": told("two") }]);
    assert_eq!(status["details"]["causes"], causes);
}

#[tokio::test]
async fn a_patch_that_does_not_fit_is_refused() {
    let missing = "policy 'a' with binding 'a' denied request: JSON Patch: ";
    let rows = [
        (
            "op: 'test', path: '/metadata/absent/x', value: 1",
            403,
            format!(
                "{missing}test operation does not apply: is missing path: /metadata/absent/x: missing value"
            ),
        ),
        (
            "op: 'move', from: '/data/zz', path: '/data/q'",
            403,
            format!(
                "{missing}error in move for path: 'zz': Unable to remove nonexistent key: zz: missing value"
            ),
        ),
        (
            "op: 'add', path: '/nofield', value: 'x'",
            500,
            "Internal error occurred: strict decoding error: unknown field \"nofield\"".to_owned(),
        ),
        (
            "op: 'add', path: '/data/q', value: 1",
            500,
            "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type \
             string"
                .to_owned(),
        ),
    ];
    for (operation, code, message) in rows {
        let server = server(7);
        mutating(&server, "a", json!([patch(operation)]), json!({})).await;
        let (found, status) = send(&server, "POST", MAPS, &map("a", "1")).await;
        assert_eq!(
            (found, &status["message"]),
            (code, &json!(message)),
            "{operation}"
        );
    }
    let server = server(7);
    let harmless = patch("op: 'test', path: '/data/key', value: 'other'");
    mutating(&server, "a", json!([harmless]), json!({})).await;
    assert_eq!(send(&server, "POST", MAPS, &map("a", "1")).await.0, 201);
}

#[tokio::test]
async fn policies_see_webhooks_and_not_each_other() {
    let server = server(7);
    let spec = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"],
        }] },
        "validations": [{ "expression": "false" }],
    });
    made(&server, "ValidatingAdmissionPolicy", "none", spec.clone()).await;
    let binding = json!({ "policyName": "none", "validationActions": ["Deny"] });
    made(&server, "ValidatingAdmissionPolicyBinding", "none", binding).await;
    made(&server, "ValidatingAdmissionPolicy", "other", spec).await;
    let hooks = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "a" },
    });
    let path = format!("{GROUP}/validatingwebhookconfigurations");
    assert_eq!(send(&server, "POST", &path, &hooks).await.0, 422);
}

#[tokio::test]
async fn a_name_that_the_server_makes_is_not_in_the_request() {
    let server = server(7);
    let spec = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
        }] },
        "validations": [{ "expression": "request.?name.orValue('') == ''" }],
    });
    made(&server, "ValidatingAdmissionPolicy", "unnamed", spec).await;
    let binding = json!({ "policyName": "unnamed", "validationActions": ["Deny"] });
    made(
        &server,
        "ValidatingAdmissionPolicyBinding",
        "unnamed",
        binding,
    )
    .await;
    assert_eq!(send(&server, "POST", MAPS, &map("a", "1")).await.0, 422);
    let mut generated = map("a", "1");
    generated["metadata"] = json!({ "generateName": "a-" });
    let (code, answer) = send(&server, "POST", MAPS, &generated).await;
    assert_eq!(code, 201, "{answer}");
}
