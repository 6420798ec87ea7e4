//! Webhook configurations and admission policies.

use serde_json::{Value, json};

use super::judge;

const GROUP: &str = "admissionregistration.k8s.io/v1";

fn hook(change: &Value) -> Value {
    let mut hook = json!({
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": { "url": "https://example.com/a" },
    });
    for (field, value) in change.as_object().unwrap() {
        hook[field] = value.clone();
    }
    json!({ "metadata": { "name": "a" }, "webhooks": [hook] })
}

#[test]
fn a_webhook_has_a_full_name_a_client_and_no_side_effects() {
    let place = format!("{GROUP}/validatingwebhookconfigurations");
    let judge = |change: &Value, old: Option<&Value>| judge(&place, &hook(change), old);
    assert!(judge(&json!({}), None).is_empty());
    let cases = [
        (
            json!({ "name": "a" }),
            "webhooks[0].name: Invalid value: \"a\": should be a domain with at least three segments \
             separated by dots",
        ),
        (
            json!({ "sideEffects": "Some" }),
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \
             \"NoneOnDryRun\"",
        ),
        (
            json!({ "clientConfig": {} }),
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            json!({ "clientConfig": { "url": "http://example.com" } }),
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; \
             desired format: https://host[/path]",
        ),
        (
            json!({ "clientConfig": { "service": { "name": "a", "namespace": "b", "path": "/a//b" } } }),
            "webhooks[0].clientConfig.service.path: Invalid value: \"/a//b\": segment[1] may not be empty",
        ),
        (
            json!({ "timeoutSeconds": 31 }),
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 \
             seconds",
        ),
        (
            json!({ "rules": [{ "operations": ["CREATE"], "apiGroups": ["*", "a"], "apiVersions": ["v1"],
                "resources": ["pods"] }] }),
            "webhooks[0].rules[0].apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not \
             specify other API groups",
        ),
        (
            json!({ "matchConditions": [{ "name": "a", "expression": "'a'" }] }),
            "webhooks[0].matchConditions[0].expression: Invalid value: \"'a'\": must evaluate to bool but \
             got string",
        ),
        (
            json!({ "admissionReviewVersions": ["v2"] }),
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, \
             v1beta1",
        ),
    ];
    for (change, want) in cases {
        assert_eq!(judge(&change, None), [want], "{change}");
    }
    let loose = json!({ "sideEffects": "Some" });
    assert!(
        judge(&loose, Some(&hook(&loose))).is_empty(),
        "it was so before"
    );
}

fn policy(change: &Value) -> Value {
    let mut spec = json!({
        "matchConstraints": { "resourceRules": [{ "operations": ["CREATE"], "apiGroups": [""],
            "apiVersions": ["v1"], "resources": ["configmaps"] }] },
        "validations": [{ "expression": "object.metadata.name == 'a'" }],
    });
    for (field, value) in change.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "metadata": { "name": "a" }, "spec": spec })
}

#[test]
fn a_policy_has_rules_and_expressions_that_compile() {
    let place = format!("{GROUP}/validatingadmissionpolicies");
    let judge = |change: &Value| judge(&place, &policy(change), None);
    assert!(judge(&json!({})).is_empty());
    let cases = [
        (
            json!({ "matchConstraints": {} }),
            "spec.matchConstraints.resourceRules: Required value",
        ),
        (
            json!({ "validations": [{ "expression": "true", "reason": "Gone" }] }),
            "spec.validations[0].reason: Unsupported value: \"Gone\": supported values: \"Forbidden\", \
             \"Invalid\", \"RequestEntityTooLarge\"",
        ),
        (
            json!({ "validations": [{ "expression": "true", "message": "a\nb" }] }),
            "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
        (
            json!({ "paramKind": { "apiVersion": "v1", "kind": "-" } }),
            "spec.paramKind.kind: Invalid value: \"-\": may have mixed case, but should otherwise match: a \
             DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
             alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
             regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ),
        (
            json!({ "variables": [{ "name": "in", "expression": "1" }] }),
            "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier",
        ),
    ];
    for (change, want) in cases {
        assert_eq!(judge(&change), [want], "{change}");
    }
    let unknown = judge(&json!({ "validations": [{ "expression": "params.a == 1" }] }));
    assert!(
        unknown[0].contains("undeclared reference to 'params'"),
        "{unknown:?}"
    );
    let rights = json!({ "validations": [{ "expression": "true",
        "messageExpression": "authorizer.path('/').check('get').reason()" }] });
    let rights = judge(&rights);
    assert!(
        rights[0].contains("undeclared reference to 'authorizer'"),
        "{rights:?}"
    );
}

#[test]
fn a_binding_says_what_becomes_of_a_denial() {
    let place = format!("{GROUP}/validatingadmissionpolicybindings");
    let judge = |spec: Value| {
        let binding = json!({ "metadata": { "name": "a" }, "spec": spec });
        judge(&place, &binding, None)
    };
    assert!(judge(json!({ "policyName": "a", "validationActions": ["Warn", "Audit"] })).is_empty());
    assert_eq!(
        judge(json!({ "policyName": "a", "validationActions": [] })),
        ["spec.validationActions: Required value: at least one validation action is required"]
    );
    let both = judge(json!({ "policyName": "a", "validationActions": ["Deny", "Warn"] }));
    assert!(
        both[0].contains("must not contain both Deny and Warn"),
        "{both:?}"
    );
    let nothing = json!({ "parameterNotFoundAction": "Deny" });
    let of_nothing =
        json!({ "policyName": "a", "validationActions": ["Deny"], "paramRef": nothing });
    assert_eq!(
        judge(of_nothing),
        ["spec.paramRef: Required value: one of name or selector must be specified"]
    );
}
