//! Lists from the store and from the server: an invalid selector is invalid in both.

use super::*;
use crate::bindings::cluster::ListQuery;

#[tokio::test(start_paused = true)]
async fn an_invalid_label_selector_is_invalid_wherever_the_answer_comes_from() {
    let world = World::new().await;
    let long = "a-name-that-is-valid-for-an-object-but-longer-than-the-63-bytes-of-a-label";
    for selector in [
        format!("owner={long}"),
        format!("owner in ({long})"),
        "owner=shop/ada".into(),
        "owner=-1".into(),
        "-x".into(),
        "a/b/c".into(),
    ] {
        let maps = "/api/v1/namespaces/default/configmaps?labelSelector=";
        let encoded: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        let (code, _) = send(
            &world.server,
            "GET",
            &format!("{maps}{encoded}"),
            &Value::Null,
        )
        .await;
        assert_eq!(code, 400, "the server's own answer to {selector}");
        for consistency in [Consistency::Stored, Consistency::Latest] {
            let query = ListQuery {
                api_version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: Some("default".into()),
                label_selector: Some(selector.clone()),
                field_selector: None,
                limit: None,
                consistency,
            };
            let answer = world.call().await.list(query).await;
            assert!(
                matches!(answer, Err(Error::Invalid(_))),
                "{selector} {consistency:?}: {answer:?}"
            );
        }
    }
}
