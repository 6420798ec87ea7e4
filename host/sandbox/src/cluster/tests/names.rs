//! Objects of kinds whose names only have to fit into a path.

use super::*;

fn cluster_role(name: &str) -> ObjectRef {
    ObjectRef {
        api_version: "rbac.authorization.k8s.io/v1".into(),
        kind: "ClusterRole".into(),
        namespace: None,
        name: name.into(),
    }
}

#[tokio::test(start_paused = true)]
async fn every_name_that_the_server_accepts_is_written_and_read() {
    let world = World::new().await;
    let mut call = world.call().await;
    let long = "a".repeat(300);
    for name in [
        "team:reader",
        "Upper",
        "with space",
        "cost$",
        "é",
        "a?b#c",
        &long,
    ] {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": name }, "rules": [],
        });
        let made = parsed(call.create(role.to_string()).await);
        assert_eq!(made["metadata"]["name"], name);
        let applied = parsed(call.apply(role.to_string()).await);
        assert_eq!(applied["metadata"]["uid"], made["metadata"]["uid"]);
        let patch = json!({ "metadata": { "labels": { "a": "b" } } }).to_string();
        let patched = call.patch(cluster_role(name), None, PatchType::Merge, patch);
        assert_eq!(parsed(patched.await)["metadata"]["labels"]["a"], "b");
        let read = call.get(cluster_role(name), None, Consistency::Latest);
        assert_eq!(parsed(read.await)["metadata"]["name"], name);
        call.delete(cluster_role(name), NO_OPTIONS).await.unwrap();
        let read = call.get(cluster_role(name), None, Consistency::Latest);
        assert!(matches!(read.await, Err(Error::NotFound)), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_more_than_a_segment_is_invalid() {
    let world = World::new().await;
    let mut call = world.call().await;
    for name in ["", ".", "..", "a/b", "../../api/v1/secrets", "a%2fb"] {
        let read = call.get(cluster_role(name), None, Consistency::Latest);
        assert!(matches!(read.await, Err(Error::Invalid(_))), "{name}");
    }
}
