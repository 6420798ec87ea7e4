//! `patch` on the embedded server.

use super::*;

const MAP: &str = "/api/v1/namespaces/default/configmaps/page";

async fn world() -> World {
    let world = World::new().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .somebody("POST", maps, &config_map("page", &json!({ "a": "1" })))
        .await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    world
}

fn page() -> ObjectRef {
    reference("v1", "ConfigMap", "page")
}

async fn json_patch(call: &mut Call, target: ObjectRef, patch: &Value) -> Result<String, Error> {
    call.patch(target, None, PatchType::Json, patch.to_string())
        .await
}

async fn merge_patch(call: &mut Call, target: ObjectRef, patch: &Value) -> Result<String, Error> {
    call.patch(target, None, PatchType::Merge, patch.to_string())
        .await
}

#[tokio::test(start_paused = true)]
async fn both_forms_change_what_they_name() {
    let world = world().await;
    let mut call = world.call().await;
    let merged = merge_patch(
        &mut call,
        page(),
        &json!({ "data": { "b": "2", "a": null } }),
    )
    .await;
    assert_eq!(parsed(merged)["data"], json!({ "b": "2" }));
    let add = json!([{ "op": "add", "path": "/data/c", "value": "3" }]);
    let patched = parsed(json_patch(&mut call, page(), &add).await);
    assert_eq!(patched["data"], json!({ "b": "2", "c": "3" }));
    let stored = call.get(page(), None, Consistency::Stored).await;
    assert_eq!(
        parsed(stored),
        patched,
        "the answer is in the store at once"
    );
}

#[tokio::test(start_paused = true)]
async fn an_absent_object_is_not_found_and_a_failed_test_invalid() {
    let world = world().await;
    let mut call = world.call().await;
    let absent = || reference("v1", "ConfigMap", "absent");
    let merged = merge_patch(&mut call, absent(), &json!({ "data": {} })).await;
    assert!(matches!(merged, Err(Error::NotFound)), "{merged:?}");
    let test = json!([{ "op": "test", "path": "/data/a", "value": "9" }]);
    assert!(matches!(
        json_patch(&mut call, absent(), &test).await,
        Err(Error::NotFound)
    ));
    for read in [false, true] {
        if read {
            call.get(page(), None, Consistency::Stored).await.unwrap();
        }
        let failed = json_patch(&mut call, page(), &test).await;
        assert!(matches!(failed, Err(Error::Invalid(_))), "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_of_the_object_that_the_call_has_read() {
    let world = world().await;
    let mut call = world.call().await;
    call.get(page(), None, Consistency::Stored).await.unwrap();
    world.somebody("DELETE", MAP, &Value::Null).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .somebody(
            "POST",
            maps,
            &config_map("page", &json!({ "a": "another" })),
        )
        .await;
    let add = json!([{ "op": "add", "path": "/data/c", "value": "3" }]);
    let patched = json_patch(&mut call, page(), &add).await;
    assert!(matches!(patched, Err(Error::Conflict(_))), "{patched:?}");
    let merged = merge_patch(&mut call, page(), &json!({ "data": { "c": "3" } })).await;
    assert!(matches!(merged, Err(Error::Conflict(_))), "{merged:?}");
    assert_eq!(world.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn finalizers_owners_and_managed_fields_are_denied_before_anything_is_sent() {
    let world = world().await;
    let mut call = world.call().await;
    for patch in [
        json!([{ "op": "add", "path": "/metadata/finalizers", "value": ["x"] }]),
        json!([{ "op": "move", "from": "/metadata", "path": "/data/x" }]),
        json!([{ "op": "replace", "path": "", "value": {} }]),
    ] {
        assert!(
            matches!(
                json_patch(&mut call, page(), &patch).await,
                Err(Error::Denied(_))
            ),
            "{patch}"
        );
    }
    let merge = json!({ "metadata": { "ownerReferences": null } });
    assert!(matches!(
        merge_patch(&mut call, page(), &merge).await,
        Err(Error::Denied(_))
    ));
    // Who may not touch the object learns no more of the patch than that.
    let secret = reference("v1", "Secret", "s");
    let denied = call
        .patch(secret, None, PatchType::Merge, "no JSON".into())
        .await;
    assert!(matches!(denied, Err(Error::Denied(_))));
    assert_eq!(call.traffic().requests, 0);
}

fn deployment() -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": { "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
        } },
    })
}

#[tokio::test(start_paused = true)]
async fn no_write_of_a_call_wakes_it_and_anybody_elses_does() {
    let world = World::new().await;
    world.woken.lock().clear();
    let mut call = world.call().await;
    call.apply_set(vec![deployment().to_string()])
        .await
        .unwrap();
    let web = || reference("apps/v1", "Deployment", "web");
    let scale = json!({ "spec": { "replicas": 3 } });
    let scaled = call.patch(
        web(),
        Some("scale".into()),
        PatchType::Merge,
        scale.to_string(),
    );
    scaled.await.unwrap();
    let mut owned = config_map("made", &json!({}));
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
        "uid": call.primary().uid,
    }]);
    call.create(owned.to_string()).await.unwrap();
    let made = reference("v1", "ConfigMap", "made");
    merge_patch(&mut call, made, &json!({ "data": { "a": "1" } }))
        .await
        .unwrap();
    let refresh = async || {
        for (api_version, kind) in [("v1", "ConfigMap"), ("apps/v1", "Deployment")] {
            let resource = world.resource(api_version, kind).await;
            world.refresh(&resource).await;
        }
        std::mem::take(&mut *world.woken.lock())
    };
    assert_eq!(refresh().await, []);
    // It asks for what is there: what it is answered is somebody else's.
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let labels = json!({ "metadata": { "labels": { "by": "somebody" } } });
    world.somebody("PATCH", path, &labels).await;
    let scaled = call.patch(
        web(),
        Some("scale".into()),
        PatchType::Merge,
        scale.to_string(),
    );
    scaled.await.unwrap();
    assert_eq!(refresh().await, [call.primary().key.clone()]);
    let scale = "/apis/apps/v1/namespaces/default/deployments/web/scale";
    let more = json!({ "spec": { "replicas": 5 } });
    world.somebody("PATCH", scale, &more).await;
    assert_eq!(refresh().await, [call.primary().key.clone()]);
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_read_and_patched_as_such() {
    let world = World::new().await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    world.somebody("POST", deployments, &deployment()).await;
    let resource = world.resource("apps/v1", "Deployment").await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    let web = || reference("apps/v1", "Deployment", "web");
    let scale = parsed(
        call.get(web(), Some("scale".into()), Consistency::Stored)
            .await,
    );
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(1))
    );
    for (kind, patch, replicas) in [
        (PatchType::Merge, json!({ "spec": { "replicas": 3 } }), 3),
        (
            PatchType::Json,
            json!([{ "op": "replace", "path": "/spec/replicas", "value": 4 }]),
            4,
        ),
    ] {
        // With and without the UID of what was read.
        for read in [false, true] {
            if read {
                call.get(web(), None, Consistency::Stored).await.unwrap();
            }
            let patched = call
                .patch(web(), Some("scale".into()), kind, patch.to_string())
                .await;
            let scale = parsed(patched);
            assert_eq!(
                (&scale["kind"], &scale["spec"]["replicas"]),
                (&json!("Scale"), &json!(replicas))
            );
        }
    }
    let stored = parsed(call.get(web(), None, Consistency::Stored).await);
    assert_eq!(
        stored["kind"], "Deployment",
        "a Scale never takes the object's place"
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_is_patched_only_of_the_object_that_is_meant() {
    let world = World::new().await;
    let mut call = world.call().await;
    let ada = || reference("examples.windlass.dev/v1", "Greeting", "ada");
    let status = json!({ "status": { "text": "Hello" } }).to_string();
    let patched = call
        .patch(
            ada(),
            Some("status".into()),
            PatchType::Merge,
            status.clone(),
        )
        .await;
    assert_eq!(parsed(patched)["status"]["text"], "Hello");
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    world.somebody("DELETE", greeting, &Value::Null).await;
    let another = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
        "metadata": { "name": "ada" }, "spec": { "name": "another" },
    });
    world
        .somebody("POST", greeting.trim_end_matches("/ada"), &another)
        .await;
    let replace =
        json!([{ "op": "add", "path": "/status", "value": { "text": "Hi" } }]).to_string();
    for (kind, patch) in [(PatchType::Merge, status), (PatchType::Json, replace)] {
        let patched = call.patch(ada(), Some("status".into()), kind, patch).await;
        assert!(matches!(patched, Err(Error::Conflict(_))), "{patched:?}");
    }
    assert_eq!(world.read(greeting).await.unwrap()["status"], Value::Null);
}

/// Compare and swap: the patch is sent once, for the version that it names, and tells of any other.
#[tokio::test(start_paused = true)]
async fn a_patch_of_one_version_is_a_conflict_if_the_object_has_another() {
    let maps = "/api/v1/namespaces/default/configmaps";
    let test = |version: &Value| json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
    let set = json!({ "op": "replace", "path": "/data/a", "value": "2" });
    type Make = Box<dyn Fn(&Value) -> (PatchType, Value)>;
    // (the patch of a version, how many requests a conflict takes)
    let rows: [(Make, u32); 2] = [
        (
            Box::new(move |version| (PatchType::Json, json!([test(version), set.clone()]))),
            2,
        ),
        (
            Box::new(|version| {
                let named = json!({ "resourceVersion": version });
                (
                    PatchType::Merge,
                    json!({ "metadata": named, "data": { "a": "2" } }),
                )
            }),
            1,
        ),
    ];
    for (patch, requests) in rows {
        let world = World::new().await;
        let made = config_map("page", &json!({ "a": "1" }));
        let made = world.somebody("POST", maps, &made).await;
        let old = made["metadata"]["resourceVersion"].clone();
        let change = json!({ "data": { "b": "1" } });
        let changed = world
            .somebody("PATCH", &format!("{maps}/page"), &change)
            .await;
        let now = changed["metadata"]["resourceVersion"].clone();
        let send = async |version: &Value| {
            let mut call = world.call().await;
            let (kind, patch) = patch(version);
            let target = reference("v1", "ConfigMap", "page");
            let answer = call.patch(target, None, kind, patch.to_string()).await;
            (answer, call.traffic().requests)
        };
        let (answer, sent) = send(&old).await;
        assert!(matches!(answer, Err(Error::Conflict(_))), "{answer:?}");
        assert_eq!((sent, world.writes().len()), (requests, 0));
        let (answer, sent) = send(&now).await;
        assert_eq!(parsed(answer)["data"]["a"], "2");
        assert_eq!((sent, world.writes().len()), (1, 1));
    }
}

/// What quota admission has charged is not overwritten.
#[tokio::test(start_paused = true)]
async fn a_status_that_names_its_version_is_not_sent_for_a_newer_one() {
    let world = World::new().await;
    let path = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let ada = world.read(path).await.unwrap();
    let old = ada["metadata"]["resourceVersion"].clone();
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    world.somebody("PATCH", path, &labels).await;
    let mut call = world.call().await;
    let patch = json!({ "metadata": { "resourceVersion": old }, "status": { "text": "x" } });
    let target = reference("examples.windlass.dev/v1", "Greeting", "ada");
    let status = Some("status".to_owned());
    let answer = call
        .patch(target, status, PatchType::Merge, patch.to_string())
        .await;
    assert!(matches!(answer, Err(Error::Conflict(_))), "{answer:?}");
    assert_eq!(call.traffic().requests, 1);
}
