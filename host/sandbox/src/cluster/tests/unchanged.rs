//! `unchanged-for` on the embedded server.

use std::time::Duration;

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn unchanged_for(call: &mut Call, name: &str) -> Result<u32, Error> {
    call.unchanged_for(reference("v1", "ConfigMap", name)).await
}

#[tokio::test(start_paused = true)]
async fn it_counts_from_when_the_host_has_seen_the_version() {
    let world = World::new().await;
    let resource = world.resource("v1", "ConfigMap").await;
    world
        .somebody("POST", MAPS, &config_map("a", &json!({})))
        .await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    let first = unchanged_for(&mut call, "a").await.unwrap();
    tokio::time::advance(Duration::from_secs(7)).await;
    world.refresh(&resource).await;
    let later = unchanged_for(&mut call, "a").await.unwrap();
    assert!((7_000..8_000).contains(&(later - first)), "{first} {later}");
    let change = json!({ "data": { "b": "c" } });
    world.somebody("PATCH", &format!("{MAPS}/a"), &change).await;
    world.refresh(&resource).await;
    let changed = unchanged_for(&mut call, "a").await.unwrap();
    assert!(changed < 7_000, "{changed}");
    tokio::time::advance(Duration::from_secs(60 * 24 * 3600)).await;
    assert_eq!(unchanged_for(&mut call, "a").await.unwrap(), u32::MAX);
    // It costs no request.
    assert_eq!(call.traffic().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn it_is_tracked_also_of_what_is_absent() {
    let world = World::new().await;
    let resource = world.resource("v1", "ConfigMap").await;
    let mut call = world.call().await;
    let absent = unchanged_for(&mut call, "a").await;
    assert!(matches!(absent, Err(Error::NotFound)), "{absent:?}");
    world.cluster.view.settles(&call.primary().key);
    world.woken.lock().clear();
    world
        .somebody("POST", MAPS, &config_map("a", &json!({})))
        .await;
    world.refresh(&resource).await;
    let key = &call.primary().key;
    assert_eq!(*world.woken.lock(), std::slice::from_ref(key));
}

#[tokio::test(start_paused = true)]
async fn it_needs_a_store_and_the_verb_watch() {
    let world = World::new().await.set(Setting {
        sees_maps: false,
        ..Setting::default()
    });
    let mut call = world.await.call().await;
    let unseen = unchanged_for(&mut call, "a").await;
    assert!(matches!(unseen, Err(Error::Other(_))), "{unseen:?}");
    let pod = call.unchanged_for(reference("v1", "Pod", "a")).await;
    assert!(matches!(pod, Err(Error::Denied(_))), "{pod:?}");
}
