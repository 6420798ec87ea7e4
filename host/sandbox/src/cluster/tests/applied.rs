//! Nothing is sent when nothing would change, and what would is.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;

const MAP: &str = "/api/v1/namespaces/default/configmaps/page";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn map(data: &Value) -> Value {
    config_map("page", data)
}

fn deployment(cpu: &Value) -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [
                    { "name": "web", "image": "web:1", "resources": { "requests": { "cpu": cpu } },
                      "ports": [{ "containerPort": 80 }] },
                ] },
            },
        },
    })
}

/// Applies `object` in a call of its own; answers how many requests that took.
async fn apply(world: &World, object: &Value) -> u32 {
    let mut call = world.call().await;
    call.apply(object.to_string()).await.unwrap();
    call.traffic().requests
}

async fn refresh(world: &World) {
    for (api_version, kind) in [("v1", "ConfigMap"), ("apps/v1", "Deployment")] {
        let resource = world.resource(api_version, kind).await;
        world.refresh(&resource).await;
    }
}

#[tokio::test(start_paused = true)]
async fn cpu_of_a_half_applied_a_hundred_times_is_one_write() {
    let world = World::new().await;
    let mut requests = 0;
    for turn in 0..100 {
        requests += apply(&world, &deployment(&json!(0.5))).await;
        if turn % 3 == 0 {
            refresh(&world).await;
        }
    }
    assert_eq!((requests, world.writes().len()), (1, 1));
    let kept = world.read(DEPLOYMENT).await.unwrap();
    let cpu = kept.pointer("/spec/template/spec/containers/0/resources/requests/cpu");
    assert_eq!(cpu, Some(&json!("500m")));
}

#[tokio::test(start_paused = true)]
async fn somebodys_change_of_other_fields_makes_us_send_nothing() {
    let world = World::new().await;
    assert_eq!(apply(&world, &deployment(&json!(0.5))).await, 1);
    let others = [
        json!({ "metadata": { "annotations": { "theirs": "1" } } }),
        json!({ "spec": { "replicas": 3, "paused": true } }),
        json!({ "spec": { "template": { "metadata": { "annotations": { "restarted": "now" } } } } }),
    ];
    for change in others {
        world.somebody("PATCH", DEPLOYMENT, &change).await;
        refresh(&world).await;
        assert_eq!(apply(&world, &deployment(&json!(0.5))).await, 0, "{change}");
    }
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "template": { "spec": { "containers": [{ "name": "sidecar", "image": "s:1" }] } } },
    });
    let path = format!("{DEPLOYMENT}?fieldManager=mesh&force=true");
    world.somebody("PATCH", &path, &sidecar).await;
    world
        .somebody(
            "PATCH",
            &format!("{DEPLOYMENT}/status"),
            &json!({ "status": { "replicas": 1 } }),
        )
        .await;
    refresh(&world).await;
    assert_eq!(apply(&world, &deployment(&json!(0.5))).await, 0);
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_field_that_somebody_edited_is_put_back() {
    let world = World::new().await;
    let ours = map(&json!({ "a": "1", "b": "2" }));
    apply(&world, &ours).await;
    world
        .somebody("PATCH", MAP, &json!({ "data": { "a": "9", "c": "3" } }))
        .await;
    refresh(&world).await;
    assert_eq!(apply(&world, &ours).await, 1);
    let data = world.read(MAP).await.unwrap()["data"].clone();
    assert_eq!(data, json!({ "a": "1", "b": "2", "c": "3" }));
    refresh(&world).await;
    assert_eq!(
        apply(&world, &ours).await,
        0,
        "and then it is as it should be"
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_that_somebody_forced_away_is_taken_back() {
    let world = World::new().await;
    let ours = map(&json!({ "a": "1" }));
    apply(&world, &ours).await;
    let path = format!("{MAP}?fieldManager=them&force=true");
    // The same value is not a quarrel: both own it then.
    world
        .somebody("PATCH", &path, &map(&json!({ "a": "1" })))
        .await;
    refresh(&world).await;
    assert_eq!(apply(&world, &ours).await, 0);
    world
        .somebody("PATCH", &path, &map(&json!({ "a": "7" })))
        .await;
    refresh(&world).await;
    assert_eq!(apply(&world, &ours).await, 1);
    assert_eq!(world.read(MAP).await.unwrap()["data"], json!({ "a": "1" }));
}

#[tokio::test(start_paused = true)]
async fn a_field_that_somebody_removed_is_put_back() {
    let world = World::new().await;
    let ours = map(&json!({ "a": "1", "b": "2" }));
    apply(&world, &ours).await;
    world
        .somebody("PATCH", MAP, &json!({ "data": { "a": null } }))
        .await;
    refresh(&world).await;
    assert_eq!(apply(&world, &ours).await, 1);
    assert_eq!(
        world.read(MAP).await.unwrap()["data"],
        json!({ "a": "1", "b": "2" })
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_new_version_drops_goes_from_the_live_object() {
    let world = World::new().await;
    apply(&world, &map(&json!({ "a": "1", "b": "2" }))).await;
    refresh(&world).await;
    assert_eq!(apply(&world, &map(&json!({ "a": "1" }))).await, 1);
    assert_eq!(world.read(MAP).await.unwrap()["data"], json!({ "a": "1" }));
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_new_version_drops_goes_also_after_a_restart() {
    let world = World::new().await;
    apply(&world, &map(&json!({ "a": "1", "b": "2" }))).await;
    let world = world.restarted().await;
    let kept = map(&json!({ "a": "1" }));
    assert_eq!(apply(&world, &kept).await, 1);
    assert_eq!(world.read(MAP).await.unwrap()["data"], json!({ "a": "1" }));
    assert_eq!(apply(&world, &kept).await, 0);
    // What is not known is sent; it changes nothing, so it is not a write.
    let world = world.restarted().await;
    assert_eq!(apply(&world, &kept).await, 1);
    assert_eq!(world.writes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn two_primaries_that_share_an_object_each_take_back_only_their_part() {
    let world = World::new().await;
    for (name, data) in [
        ("ada", json!({ "ada": "1" })),
        ("bob", json!({ "bob": "1" })),
    ] {
        let mut call = world.call_for(name).await;
        call.apply(map(&data).to_string()).await.unwrap();
    }
    refresh(&world).await;
    let mut call = world.call_for("ada").await;
    call.apply(map(&json!({ "ada": "1" })).to_string())
        .await
        .unwrap();
    assert_eq!(call.traffic().requests, 0, "bob's part is not ada's");
    let mut call = world.call_for("ada").await;
    let kept = parsed(call.apply(map(&json!({})).to_string()).await);
    assert_eq!(kept["data"], json!({ "bob": "1" }));
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_status_is_not_sent_again() {
    let world = World::new().await;
    let status = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
        "metadata": { "name": "ada", "namespace": "default" }, "status": { "text": "Hello" },
    });
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let mut sent = Vec::new();
    for change in [json!({}), json!({ "spec": { "greeting": "Ahoy" } })] {
        world.somebody("PATCH", greeting, &change).await;
        let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
        world.refresh(&resource).await;
        let mut call = world.call().await;
        call.apply_status(status.to_string()).await.unwrap();
        sent.push(call.traffic().requests);
    }
    assert_eq!(sent, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn whether_the_object_was_read_before_makes_no_difference() {
    let world = World::new().await;
    let ours = map(&json!({ "a": "1" }));
    assert_eq!(apply(&world, &ours).await, 1);
    let target = reference("v1", "ConfigMap", "page");
    let mut call = world.call().await;
    call.get(target, None, Consistency::Stored).await.unwrap();
    call.apply(ours.to_string()).await.unwrap();
    assert_eq!(call.traffic().requests, 0);
}

/// The answer to an apply that changes nothing carries the version of what somebody else did while it was
/// under way, and must not pass for its own echo.
#[tokio::test(start_paused = true)]
async fn what_others_did_during_an_apply_that_changed_nothing_runs_the_key_again() {
    for (plural, status) in [("greetings", true), ("configmaps", false)] {
        let world = World::new().await;
        let apply = async |world: &World| {
            let mut call = world.call().await;
            let mut page = map(&json!({ "a": "1" }));
            let primary = call.primary().clone();
            page["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
                "uid": primary.uid,
            }]);
            let ready = json!({
                "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
                "metadata": { "name": "ada", "namespace": "default", "uid": primary.uid },
                "status": { "text": "Hello" },
            });
            if status {
                call.apply_status(ready.to_string()).await
            } else {
                call.apply(page.to_string()).await
            }
            .unwrap();
        };
        apply(&world).await;
        // This one does not know what it applied, so it sends.
        let world = world.restarted().await;
        world.woken.lock().clear();
        world.server.faults().switch_on(Switch {
            name: "slow".to_owned(),
            on: Matcher {
                verb: Some(Verb::Patch),
                plural: Some(plural.to_owned()),
                user: None,
                ..Matcher::default()
            },
            from: 0,
            times: 1,
            fault: Fault::Late(Duration::from_secs(2)),
        });
        let other = async {
            world
                .cluster
                .api
                .clock()
                .sleep(Duration::from_secs(1))
                .await;
            let path = if status {
                "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada"
            } else {
                MAP
            };
            let theirs = json!({ "metadata": { "annotations": { "theirs": "1" } } });
            world.somebody("PATCH", path, &theirs).await;
        };
        futures::future::join(apply(&world), other).await;
        refresh(&world).await;
        let ada = world.call().await.primary().key.clone();
        let woken = world.woken.lock().clone();
        assert!(woken.contains(&ada), "{plural}: {woken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn that_another_object_of_the_name_is_as_wanted_is_no_answer() {
    let world = World::new().await;
    let ours = map(&json!({ "a": "1" }));
    apply(&world, &ours).await;
    let target = reference("v1", "ConfigMap", "page");
    let mut call = world.call().await;
    call.get(target, None, Consistency::Stored).await.unwrap();
    world.somebody("DELETE", MAP, &Value::Null).await;
    refresh(&world).await;
    apply(&world, &ours).await;
    let answer = call.apply(ours.to_string()).await;
    assert!(matches!(answer, Err(Error::Conflict(_))), "{answer:?}");
}
