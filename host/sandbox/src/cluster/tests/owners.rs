//! `adopt`, `disown`, `hold` and `release` on the embedded server.

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const HOLD: &str = "example.com/hold";

/// A world in which the plugin may adopt ConfigMaps, with one that somebody made; its UID.
async fn world(metadata: &Value) -> (World, String) {
    let setting = Setting {
        adopts: true,
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let mut object = config_map("page", &json!({ "a": "1" }));
    for (field, value) in metadata.as_object().unwrap() {
        object["metadata"][field] = value.clone();
    }
    let made = world.somebody("POST", MAPS, &object).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
    (world, uid)
}

fn page() -> ObjectRef {
    reference("v1", "ConfigMap", "page")
}

async fn there(world: &World) -> Option<Value> {
    world.read(&format!("{MAPS}/page")).await
}

fn owner(uid: &str, controller: bool) -> Value {
    json!({ "apiVersion": "x.dev/v1", "kind": "X", "name": "x", "uid": uid, "controller": controller })
}

#[tokio::test(start_paused = true)]
async fn what_nobody_controls_is_adopted_with_a_finalizer_in_one_write() {
    let (world, uid) = world(&json!({ "ownerReferences": [owner("other", false)] })).await;
    let mut call = world.call().await;
    let ada = call.primary().uid.clone();
    let adopted = parsed(
        call.adopt(page(), uid.clone(), None, Some(HOLD.into()))
            .await,
    );
    let owners = &adopted["metadata"]["ownerReferences"];
    assert_eq!(owners[0]["uid"], "other", "others stay");
    let own = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada", "uid": ada,
        "controller": true, "blockOwnerDeletion": true,
    });
    assert_eq!(owners[1], own);
    assert_eq!(adopted["metadata"]["finalizers"], json!([HOLD]));
    assert_eq!(adopted["data"], json!({ "a": "1" }));
    assert_eq!(world.writes().len(), 1);
    // Again, nothing is sent.
    let again = parsed(call.adopt(page(), uid, None, Some(HOLD.into())).await);
    assert_eq!(again["metadata"]["ownerReferences"], *owners);
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_adopted_is_a_conflict_or_gone_and_stays_as_it_is() {
    let going = json!({ "finalizers": ["theirs/keep"] });
    let controlled = json!({ "ownerReferences": [owner("other", true)] });
    // (its metadata, what somebody does, which UID is asked for; the answer)
    type Does = Option<(&'static str, &'static str)>;
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let map = "/api/v1/namespaces/default/configmaps/page";
    let rows: [(Value, Does, bool, &str); 4] = [
        (controlled, None, true, "conflict"),
        (json!({}), None, false, "conflict"),
        (going, Some(("DELETE", map)), true, "conflict"),
        (json!({}), Some(("DELETE", greeting)), true, "gone"),
    ];
    for (metadata, does, is_uid, want) in rows {
        let (world, uid) = world(&metadata).await;
        let mut call = world.call().await;
        if let Some((method, path)) = does {
            world.somebody(method, path, &Value::Null).await;
        }
        let before = there(&world).await;
        let uid = if is_uid { uid } else { "another".into() };
        let answer = call.adopt(page(), uid, None, None).await;
        assert_eq!(answer.unwrap_err().word(), want, "{metadata}");
        assert_eq!(there(&world).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_primary_controls_can_adopt_and_others_cannot() {
    for (is_controlled, want) in [(true, None), (false, Some("denied"))] {
        let (world, uid) = world(&json!({})).await;
        let ada = world.call().await.primary().uid.clone();
        let owners = if is_controlled {
            json!([owner(&ada, true)])
        } else {
            json!([])
        };
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "default", "ownerReferences": owners },
            "spec": {
                "selector": { "matchLabels": { "a": "b" } },
                "template": {
                    "metadata": { "labels": { "a": "b" } },
                    "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
                },
            },
        });
        let path = "/apis/apps/v1/namespaces/default/deployments";
        let made = world.somebody("POST", path, &deployment).await;
        let mut call = world.call().await;
        let by = reference("apps/v1", "Deployment", "web");
        let answer = call.adopt(page(), uid, Some(by), None).await;
        assert_eq!(answer.as_ref().err().map(Error::word), want);
        if let Ok(adopted) = answer {
            let owners = &parsed(Ok(adopted))["metadata"]["ownerReferences"];
            assert_eq!(owners[0]["uid"], made["metadata"]["uid"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disown_takes_the_primary_off_and_what_is_gone_is_a_success() {
    let (world, uid) = world(&json!({})).await;
    let mut call = world.call().await;
    let ada = call.primary().uid.clone();
    let owners = json!({ "metadata": {
        "ownerReferences": [owner("other", false), owner(&ada, true)], "finalizers": [HOLD, "theirs/keep"],
    } });
    world
        .somebody("PATCH", &format!("{MAPS}/page"), &owners)
        .await;
    // The store is behind what the call has read.
    call.get(page(), None, Consistency::Latest).await.unwrap();
    call.disown(page(), uid.clone(), Vec::new(), Some(HOLD.into()))
        .await
        .unwrap();
    let left = there(&world).await.unwrap();
    assert_eq!(left["metadata"]["ownerReferences"][0]["uid"], "other");
    assert_eq!(
        left["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(left["metadata"]["finalizers"], json!(["theirs/keep"]));
    let writes = world.writes().len();
    call.disown(page(), uid.clone(), Vec::new(), None)
        .await
        .unwrap();
    call.disown(page(), "another".into(), Vec::new(), None)
        .await
        .unwrap();
    let gone = reference("v1", "ConfigMap", "gone");
    call.disown(gone, uid.clone(), Vec::new(), None)
        .await
        .unwrap();
    assert_eq!(world.writes().len(), writes, "nothing is sent");
    let other = call.disown(page(), uid, vec!["other".into()], None).await;
    assert!(matches!(other, Err(Error::Denied(_))), "{other:?}");
}

#[tokio::test(start_paused = true)]
async fn a_granted_finalizer_is_put_on_and_taken_off_and_no_other() {
    let (world, uid) = world(&json!({ "finalizers": ["theirs/keep"] })).await;
    let mut call = world.call().await;
    for other in ["theirs/keep", "windlass.dev/greeter", ""] {
        let held = call.hold_object(page(), uid.clone(), other.into()).await;
        assert!(matches!(held, Err(Error::Denied(_))), "{other} {held:?}");
        let released = call.release_object(page(), uid.clone(), other.into()).await;
        assert!(matches!(released, Err(Error::Denied(_))), "{other}");
    }
    let held = parsed(call.hold_object(page(), uid.clone(), HOLD.into()).await);
    assert_eq!(held["metadata"]["finalizers"], json!(["theirs/keep", HOLD]));
    let another = call
        .hold_object(page(), "another".into(), HOLD.into())
        .await;
    assert!(matches!(another, Err(Error::Conflict(_))), "{another:?}");
    call.release_object(page(), uid.clone(), HOLD.into())
        .await
        .unwrap();
    let left = there(&world).await.unwrap();
    assert_eq!(left["metadata"]["finalizers"], json!(["theirs/keep"]));
    world
        .somebody("DELETE", &format!("{MAPS}/page"), &Value::Null)
        .await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let late = call.hold_object(page(), uid, HOLD.into()).await;
    assert!(matches!(late, Err(Error::Gone)), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_object_has_granted_finalizers_and_no_other() {
    let (world, _) = world(&json!({})).await;
    let mut call = world.call().await;
    for (n, finalizer, is_granted) in [
        (1, HOLD, true),
        (2, "windlass.dev/greeter", true),
        (3, "theirs/keep", false),
        (4, "windlass.dev/other", false),
    ] {
        let names = [format!("created-{n}"), format!("applied-{n}")];
        let objects = names.each_ref().map(|name| {
            let mut object = config_map(name, &json!({}));
            object["metadata"]["finalizers"] = json!([finalizer]);
            object.to_string()
        });
        let [created, applied] = objects;
        let answers = [call.create(created).await, call.apply(applied).await];
        for (name, answer) in names.iter().zip(answers) {
            let there = world.read(&format!("{MAPS}/{name}")).await;
            if is_granted {
                assert!(answer.is_ok(), "{name} {answer:?}");
                let finalizers = &there.unwrap()["metadata"]["finalizers"];
                assert_eq!(*finalizers, json!([finalizer]), "{name}");
            } else {
                assert!(matches!(answer, Err(Error::Denied(_))), "{name} {answer:?}");
                assert_eq!(there, None, "{name}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_plugins_own_finalizer_is_put_on_the_primary_once() {
    let (world, _) = world(&json!({})).await;
    let mut call = world.call().await;
    call.protect().await.unwrap();
    let path = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let greeting = world.read(path).await.unwrap();
    let finalizers = &greeting["metadata"]["finalizers"];
    assert_eq!(*finalizers, json!(["windlass.dev/greeter"]));
    let writes = world.writes().len();
    call.protect().await.unwrap();
    assert_eq!(world.writes().len(), writes, "nothing is sent again");
}

/// Somebody else changes the object between each look and the write.
#[tokio::test(start_paused = true)]
async fn a_change_that_others_overtake_is_decided_again() {
    let (world, uid) = world(&json!({})).await;
    let mut call = world.call().await;
    let path = format!("{MAPS}/page");
    let change = json!({ "metadata": { "finalizers": ["theirs/keep"] } });
    world.somebody("PATCH", &path, &change).await;
    let held = parsed(call.hold_object(page(), uid, HOLD.into()).await);
    assert_eq!(held["metadata"]["finalizers"], json!(["theirs/keep", HOLD]));
}

#[tokio::test(start_paused = true)]
async fn without_adopt_in_the_grant_nothing_is_adopted() {
    let world = World::new().await;
    let made = world
        .somebody("POST", MAPS, &config_map("page", &json!({})))
        .await;
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
    let mut call = world.call().await;
    let answer = call.adopt(page(), uid, None, None).await;
    assert!(matches!(answer, Err(Error::Denied(_))), "{answer:?}");
    assert_eq!(call.traffic().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_sends_no_change_of_owners() {
    let setting = Setting {
        adopts: true,
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let (world, uid) = world(&json!({})).await;
    let world = world.set(setting).await;
    let mut call = world.call().await;
    let adopted = parsed(call.adopt(page(), uid.clone(), None, None).await);
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["name"], "ada");
    call.disown(page(), uid, Vec::new(), None).await.unwrap();
    assert_eq!(world.writes().len(), 0);
}
