//! Reviews: what somebody may do, and whom a token stands for.

use serde_json::json;
use windlass_apiserver::options::Authorization;
use windlass_apiserver::request::User;

use super::{api, named, user};

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
