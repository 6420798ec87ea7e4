//! Who is allowed what by the roles that are bound, and what one may pass on.

use serde_json::{Value, json};
use windlass_apiserver::options::Authorization;
use windlass_apiserver::request::User;

use super::{MAPS, PODS, ROLES, api, headers, map, named, user};

#[tokio::test]
async fn rights_come_with_a_binding_and_go_with_it() {
    let api = api(Authorization::Rbac);
    let ann = user("ann");
    let (code, refused) = api.by(&ann, &format!("GET {PODS}"), &Value::Null).await;
    assert_eq!(
        (code, refused["message"].as_str().unwrap()),
        (
            403,
            "pods is forbidden: User \"ann\" cannot list resource \"pods\" in API group \"\" in the namespace \
             \"default\""
        )
    );
    assert_eq!(refused["details"], json!({ "kind": "pods" }));
    api.bind("default", "edit", &named("ann")).await;
    assert_eq!(
        api.by(&ann, &format!("GET {PODS}"), &Value::Null).await.0,
        200
    );
    assert_eq!(
        api.by(&ann, &format!("POST {MAPS}"), &map("a")).await.0,
        201
    );
    assert_eq!(
        api.by(&ann, "GET /api/v1/namespaces/default", &Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(
        api.by(
            &ann,
            "GET /api/v1/namespaces/kube-system/pods",
            &Value::Null
        )
        .await
        .0,
        403
    );
    assert_eq!(api.by(&ann, "GET /api/v1/nodes", &Value::Null).await.0, 403);
    let binding = format!("DELETE {ROLES}/namespaces/default/rolebindings/edit");
    api.admin(&binding, &Value::Null).await;
    assert_eq!(
        api.by(&ann, &format!("GET {PODS}"), &Value::Null).await.0,
        403
    );
}

#[tokio::test]
async fn everybody_may_look_around_and_nobody_may_do_more() {
    let api = api(Authorization::Rbac);
    let nobody = User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    };
    for (user, line, want) in [
        (&user("ann"), "GET /apis", 200),
        (&user("ann"), "GET /version", 200),
        (&nobody, "GET /version", 200),
        (&nobody, "GET /healthz", 200),
        (&nobody, "GET /apis", 403),
        (&nobody, "GET /nothing", 403),
    ] {
        assert_eq!(
            api.by(user, line, &Value::Null).await.0,
            want,
            "{} {line}",
            user.name
        );
    }
    let (_, refused) = api.by(&nobody, "GET /nothing", &Value::Null).await;
    assert_eq!(
        refused["message"],
        "forbidden: User \"system:anonymous\" cannot get path \"/nothing\""
    );
    assert_eq!(refused["details"], json!({}));
}

#[tokio::test]
async fn nobody_gives_more_than_they_have() {
    let api = api(Authorization::Rbac);
    let ann = user("ann");
    api.bind("default", "admin", &named("ann")).await;
    let role = |resource: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": resource },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": ["get"] }],
        })
    };
    let roles = format!("POST {ROLES}/namespaces/default/roles");
    assert_eq!(api.by(&ann, &roles, &role("pods")).await.0, 201);
    let (code, refused) = api.by(&ann, &roles, &role("nodes")).await;
    assert_eq!(
        (code, refused["message"].as_str().unwrap()),
        (
            403,
            "roles.rbac.authorization.k8s.io \"nodes\" is forbidden: user \"ann\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently \
             held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}"
        )
    );
    let more =
        json!({ "rules": [{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"] }] });
    let path = format!("PATCH {ROLES}/namespaces/default/roles/pods");
    assert_eq!(api.by(&ann, &path, &more).await.0, 403);
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    assert_eq!(api.by(&ann, &path, &label).await.0, 200);
    let binding = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": format!("to-{role}") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [named("bob")],
        })
    };
    let bindings = format!("POST {ROLES}/namespaces/default/rolebindings");
    assert_eq!(api.by(&ann, &bindings, &binding("view")).await.0, 201);
    assert_eq!(
        api.by(&ann, &bindings, &binding("cluster-admin")).await.0,
        403
    );
    let (code, refused) = api.by(&ann, &bindings, &binding("nope")).await;
    assert_eq!((code, &refused["reason"]), (404, &json!("NotFound")));
}

#[tokio::test]
async fn without_the_option_everything_is_allowed() {
    let api = api(Authorization::AlwaysAllow);
    assert_eq!(
        api.by(&user("ann"), &format!("GET {PODS}"), &Value::Null)
            .await
            .0,
        200
    );
    let as_bob = headers(&[("user", "bob")]);
    assert_eq!(
        api.send(&user("ann"), &as_bob, &format!("GET {PODS}"), &Value::Null)
            .await
            .0,
        200
    );
    let own = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let spec = json!({ "spec": { "nonResourceAttributes": { "verb": "get", "path": "/x" } } });
    assert_eq!(
        api.by(&user("ann"), own, &spec).await.1["status"]["allowed"],
        true
    );
}
