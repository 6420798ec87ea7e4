//! Requests of one user that act as another.

use serde_json::{Value, json};
use windlass_apiserver::options::Authorization;
use windlass_apiserver::request::User;

use super::{PODS, api, headers, named, user};

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
