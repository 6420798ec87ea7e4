//! Admission policies that ask for rights.

use http::HeaderMap;
use serde_json::json;
use windlass_apiserver::options::Authorization;
use windlass_apiserver::request::User;

use super::{MAPS, ROLES, api, user};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

#[tokio::test]
async fn a_policy_asks_what_the_writer_may_do() {
    let api = api(Authorization::Rbac);
    let (admin, none) = (User::admin(), HeaderMap::new());
    let version = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": "a" },
        "spec": {
            "matchConstraints": { "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"] }] },
            "validations": [{ "message": "no", "expression":
                "authorizer.group('').resource('pods').namespace('default').check('create').allowed() && \
                 authorizer.requestResource.check('create').allowed()" }],
        },
    });
    let binding = json!({
        "apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": "a" },
        "spec": { "policyName": "a", "validationActions": ["Deny"] },
    });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "maps" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] }],
    });
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "maps" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob" }],
    });
    let posts = [
        (format!("{GROUP}/validatingadmissionpolicies"), policy),
        (
            format!("{GROUP}/validatingadmissionpolicybindings"),
            binding,
        ),
        (format!("{ROLES}/clusterroles"), role),
        (format!("{ROLES}/clusterrolebindings"), bound),
    ];
    for (path, body) in &posts {
        let (code, answer) = api.send(&admin, &none, &format!("POST {path}"), body).await;
        assert_eq!(code, 201, "{answer}");
    }
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let post = format!("POST {MAPS}");
    let (code, answer) = api.send(&user("bob"), &none, &post, &map).await;
    let message = answer.get("message").cloned().unwrap_or_default();
    assert_eq!(
        message,
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: no"
    );
    assert_eq!(code, 422);
    assert_eq!(api.send(&admin, &none, &post, &map).await.0, 201);
}
