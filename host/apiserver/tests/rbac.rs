//! Rights on a server that asks its roles: requests, impersonation, grants and reviews.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::request::User;
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Api(Server);

fn api(authorization: Authorization) -> Api {
    let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
    let seams = Seams {
        clock: Clock::new(move || start),
        rng: Rng::seeded(7),
    };
    let options = Options {
        authorization,
        ..Options::default()
    };
    Api(Server::with(seams, options))
}

fn user(name: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..User::default()
    }
}

impl Api {
    async fn send(
        &self,
        user: &User,
        headers: &HeaderMap,
        line: &str,
        body: &Value,
    ) -> (u16, Value) {
        let (method, path) = line.split_once(' ').unwrap();
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        request = request.extension(user.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let response = self.0.handle(request.body(Full::new(bytes)).unwrap()).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn by(&self, user: &User, line: &str, body: &Value) -> (u16, Value) {
        self.send(user, &HeaderMap::new(), line, body).await
    }

    async fn admin(&self, line: &str, body: &Value) -> Value {
        let (code, made) = self.by(&User::admin(), line, body).await;
        assert!(code < 300, "{line}: {made}");
        made
    }

    async fn bind(&self, namespace: &str, role: &str, to: &Value) -> Value {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": role },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [to],
        });
        let path = format!("POST {ROLES}/namespaces/{namespace}/rolebindings");
        self.admin(&path, &binding).await
    }
}

fn named(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let all = lines.iter().map(|(name, value)| {
        let name: HeaderName = format!("impersonate-{name}").parse().unwrap();
        (name, value.parse().unwrap())
    });
    all.collect()
}

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
async fn one_acts_as_another_with_the_right_to() {
    let api = api(Authorization::Rbac);
    let as_bob = headers(&[("user", "bob")]);
    let line = format!("GET {PODS}");
    let (code, refused) = api.send(&User::admin(), &as_bob, &line, &Value::Null).await;
    assert_eq!(code, 403);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("User \"bob\" cannot list"),
        "{refused}"
    );
    api.bind("default", "view", &named("bob")).await;
    assert_eq!(
        api.send(&User::admin(), &as_bob, &line, &Value::Null)
            .await
            .0,
        200
    );
    let (code, refused) = api.send(&user("ann"), &as_bob, &line, &Value::Null).await;
    assert_eq!(
        (code, refused["message"].as_str().unwrap()),
        (
            403,
            "pods is forbidden: User \"ann\" cannot impersonate-on:user-info:list resource \"pods\" in API \
             group \"\" in the namespace \"default\""
        )
    );
    let who = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let all = headers(&[
        ("user", "bob"),
        ("group", "g"),
        ("uid", "u"),
        ("extra-acme.com%2Fx", "y"),
    ]);
    let (code, review) = api.send(&User::admin(), &all, who, &json!({})).await;
    assert_eq!(code, 201, "{review}");
    assert_eq!(
        review["status"]["userInfo"],
        json!({
            "username": "bob", "uid": "u", "groups": ["g", "system:authenticated"],
            "extra": { "acme.com/x": ["y"] },
        })
    );
    let nameless = headers(&[("group", "g")]);
    assert_eq!(
        api.send(&User::admin(), &nameless, who, &json!({})).await.0,
        400
    );
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
async fn reviews_say_what_is_allowed_and_why() {
    let api = api(Authorization::Rbac);
    let ann = user("ann");
    api.bind("default", "view", &named("ann")).await;
    let base = "/apis/authorization.k8s.io/v1";
    let asked = |verb: &str| json!({ "resourceAttributes": { "namespace": "default", "verb": verb, "resource": "pods" } });
    let own = format!("POST {base}/selfsubjectaccessreviews");
    let (code, review) = api.by(&ann, &own, &json!({ "spec": asked("list") })).await;
    assert_eq!(code, 201, "{review}");
    assert_eq!(
        review["status"],
        json!({
            "allowed": true,
            "reason": "RBAC: allowed by RoleBinding \"view/default\" of ClusterRole \"view\" to User \"ann\"",
        })
    );
    let (_, review) = api
        .by(&ann, &own, &json!({ "spec": asked("delete") }))
        .await;
    assert_eq!(review["status"], json!({ "allowed": false }));
    let (_, review) = api
        .by(&User::admin(), &own, &json!({ "spec": asked("delete") }))
        .await;
    assert_eq!(review["status"], json!({ "allowed": true }));
    let mut of_ann = asked("list");
    of_ann["user"] = "ann".into();
    let line = format!("POST {base}/subjectaccessreviews");
    let (_, review) = api
        .by(&User::admin(), &line, &json!({ "spec": of_ann }))
        .await;
    assert_eq!(review["status"]["allowed"], true);
    assert_eq!(api.by(&ann, &line, &json!({ "spec": of_ann })).await.0, 403);
    let local = format!("POST {base}/namespaces/default/localsubjectaccessreviews");
    let (_, review) = api
        .by(&User::admin(), &local, &json!({ "spec": of_ann }))
        .await;
    assert_eq!(review["status"]["allowed"], true, "{review}");
    let rules = format!("POST {base}/selfsubjectrulesreviews");
    let (_, review) = api
        .by(&ann, &rules, &json!({ "spec": { "namespace": "default" } }))
        .await;
    let resources = review["status"]["resourceRules"].as_array().unwrap();
    assert!(resources.iter().any(|rule| {
        rule["resources"]
            .as_array()
            .unwrap()
            .contains(&json!("pods"))
    }));
    let (code, refused) = api.by(&ann, &own, &json!({})).await;
    assert_eq!(
        (code, refused["message"].as_str().unwrap()),
        (
            422,
            ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: exactly one \
             of nonResourceAttributes or resourceAttributes must be specified"
        )
    );
}

#[tokio::test]
async fn a_tokens_review_says_whom_it_stands_for() {
    let api = api(Authorization::Rbac);
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bot" } });
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    api.admin(&format!("POST {accounts}"), &account).await;
    let made = api
        .admin(
            &format!("POST {accounts}/bot/token"),
            &json!({ "spec": {} }),
        )
        .await;
    let token = made["status"]["token"].as_str().unwrap();
    let reviews = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    let review = api
        .admin(reviews, &json!({ "spec": { "token": token } }))
        .await;
    assert_eq!(review["status"]["authenticated"], true);
    assert_eq!(
        review["status"]["user"]["username"],
        "system:serviceaccount:default:bot"
    );
    let review = api
        .admin(reviews, &json!({ "spec": { "token": "wrong" } }))
        .await;
    assert_eq!(
        review["status"],
        json!({ "user": {}, "error": "invalid bearer token" })
    );
    let (code, _) = api
        .by(&User::admin(), reviews, &json!({ "spec": {} }))
        .await;
    assert_eq!(code, 400);
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
