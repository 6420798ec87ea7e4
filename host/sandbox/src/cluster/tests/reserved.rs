//! Labels and annotations under `windlass.dev/`: no import sets or removes one, and no apply drops one.

use super::*;

const MAP: &str = "/api/v1/namespaces/default/configmaps/page";

/// A world in which the user has put labels on the ConfigMap `page`.
async fn world() -> World {
    let world = World::new().await;
    let mut page = config_map("page", &json!({ "a": "1" }));
    page["metadata"]["labels"] = json!({ "windlass.dev/set": "another", "app": "web" });
    page["metadata"]["annotations"] = json!({ "windlass.dev/note": "mine" });
    let maps = MAP.trim_end_matches("/page");
    world.somebody("POST", maps, &page).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    world
}

fn page() -> ObjectRef {
    reference("v1", "ConfigMap", "page")
}

fn marked(map: &str) -> Value {
    let mut object = config_map("page", &json!({}));
    object["metadata"][map] = json!({ "app": "web", "windlass.dev/set": "greeter" });
    object
}

#[tokio::test(start_paused = true)]
async fn every_write_that_names_one_is_denied_before_anything_is_sent() {
    let world = world().await;
    for map in ["labels", "annotations"] {
        let object = marked(map).to_string();
        let mut call = world.call().await;
        let denied = call.apply(object.clone()).await;
        assert!(matches!(denied, Err(Error::Denied(_))), "apply: {denied:?}");
        let denied = call.create(object.clone()).await;
        assert!(
            matches!(denied, Err(Error::Denied(_))),
            "create: {denied:?}"
        );
        let set = call.apply_set(vec![object]).await.unwrap_err();
        assert!(
            matches!(set[0].error, Error::Denied(_)),
            "apply-set: {set:?}"
        );
        // The API server copies what a Binding carries to its pod.
        let pod = reference("v1", "Pod", "web");
        let binding = json!({ "metadata": { "name": "web", map: { "windlass.dev/set": "x" } } });
        let binding = binding.to_string();
        let denied = call
            .create_subresource(pod, "binding".into(), binding)
            .await;
        assert!(
            matches!(denied, Err(Error::Denied(_))),
            "binding: {denied:?}"
        );
        let name = format!("/metadata/{map}/windlass.dev~1set");
        let patches = [
            (
                PatchType::Merge,
                json!({ "metadata": { map: { "windlass.dev/set": null } } }),
            ),
            (PatchType::Merge, json!({ "metadata": { map: null } })),
            (
                PatchType::Json,
                json!([{ "op": "add", "path": name, "value": "x" }]),
            ),
            (
                PatchType::Json,
                json!([{ "op": "remove", "path": format!("/metadata/{map}") }]),
            ),
            (
                PatchType::Json,
                json!([{ "op": "move", "from": name, "path": "/data/b" }]),
            ),
        ];
        for (kind, patch) in patches {
            for subresource in [None, Some("status")] {
                // No grant covers the status of a ConfigMap: that is denied too.
                let subresource = subresource.map(str::to_owned);
                let denied = call
                    .patch(page(), subresource, kind, patch.to_string())
                    .await;
                assert!(
                    matches!(denied, Err(Error::Denied(_))),
                    "{patch}: {denied:?}"
                );
            }
        }
        assert_eq!(call.traffic().requests, 0);
    }
    assert_eq!(world.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn writes_that_do_not_name_them_leave_them_alone() {
    let world = world().await;
    let mut call = world.call().await;
    call.apply(config_map("page", &json!({ "b": "2" })).to_string())
        .await
        .unwrap();
    let merge =
        json!({ "metadata": { "labels": { "app": null, "examples.windlass.dev/a": "b" } } });
    call.patch(page(), None, PatchType::Merge, merge.to_string())
        .await
        .unwrap();
    let metadata = world.read(MAP).await.unwrap()["metadata"].clone();
    assert_eq!(
        metadata["labels"],
        json!({ "windlass.dev/set": "another", "examples.windlass.dev/a": "b" })
    );
    assert_eq!(
        metadata["annotations"],
        json!({ "windlass.dev/note": "mine" })
    );
}

#[tokio::test(start_paused = true)]
async fn a_member_of_the_set_that_is_applied_by_itself_stays_one() {
    let world = World::new().await;
    let resource = world.resource("v1", "ConfigMap").await;
    let mut call = world.call().await;
    let member = config_map("page", &json!({ "a": "1" }));
    call.apply_set(vec![member.to_string()]).await.unwrap();
    world.refresh(&resource).await;
    let mut alone = config_map("page", &json!({ "a": "2" }));
    alone["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
        "uid": call.primary().uid, "controller": true, "blockOwnerDeletion": true,
    }]);
    let mut call = world.call().await;
    call.apply(alone.to_string()).await.unwrap();
    let there = world.read(MAP).await.unwrap();
    assert_eq!(there["data"], json!({ "a": "2" }));
    assert_eq!(
        there["metadata"]["labels"],
        json!({ "windlass.dev/set": "greeter" })
    );
    // The next set, without it, deletes it.
    world.refresh(&resource).await;
    let mut call = world.call().await;
    call.apply_set(Vec::new()).await.unwrap();
    assert_eq!(world.read(MAP).await, None);
}
