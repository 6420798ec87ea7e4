//! Calls of a plugin that observes: nothing is sent, and the journal says what would have been.

use super::set::{MAPS, child, refresh, set, set_for};
use super::*;
use windlass_kube::api::{ApiError, Request};
use windlass_view::{Difference, Wrote};

/// The world, seen by a plugin that observes.
async fn observed(world: World) -> World {
    let setting = Setting {
        writes: WriteMode::Observed,
        ..Setting::default()
    };
    world.set(setting).await
}

/// What the last call about `ada` would have written: the end, the object, and the fields that differ.
async fn told(world: &World) -> Vec<String> {
    let key = Key::new(Some("default"), "ada");
    let writes = world.cluster.view.ends(&key).writes;
    let line = |wrote: &Wrote| {
        let end = format!("{:?}", wrote.end);
        let end = end.split(['(', ' ']).next().unwrap_or_default().to_owned();
        let paths = |fields: &[Difference]| fields.iter().map(|it| it.path.clone()).collect();
        let fields: Vec<String> = paths(wrote.end.differences());
        format!("{end} {} {}", wrote.key.name, fields.join(" "))
    };
    let lines: Vec<String> = writes.iter().map(line).collect();
    lines.iter().map(|it| it.trim_end().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_apply_is_told_against_the_live_object_and_not_sent() {
    let world = World::new().await;
    let foreign = config_map("c", &json!({ "a": "1", "b": "theirs" }));
    world.somebody("POST", MAPS, &foreign).await;
    let world = observed(world).await;
    let before = world.server.history().records().len();
    for (data, want) in [
        (json!({ "a": "2" }), "Changed c .data.a"),
        (json!({ "a": "1" }), "Changed c"),
    ] {
        let mut call = world.call().await;
        call.apply(config_map("c", &data).to_string())
            .await
            .unwrap();
        assert_eq!(told(&world).await, [want]);
    }
    let mut call = world.call().await;
    call.apply(child("new").to_string()).await.unwrap();
    call.apply(child("new").to_string()).await.unwrap();
    assert_eq!(told(&world).await, ["Created new .data.of", "Changed new"]);
    assert_eq!(world.server.history().records().len(), before);
    assert!(
        world.cluster.captured.all().is_empty(),
        "it would grow forever"
    );
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changes_is_compared_again() {
    let world = World::new().await;
    world.somebody("POST", MAPS, &child("c")).await;
    let world = observed(world).await;
    let mut call = world.call().await;
    call.apply(child("c").to_string()).await.unwrap();
    assert_eq!(told(&world).await, ["Changed c"]);
    drop(call);
    world.woken.lock().clear();
    let path = format!("{MAPS}/c");
    world
        .somebody("PATCH", &path, &json!({ "data": { "of": "x" } }))
        .await;
    refresh(&world).await;
    assert_eq!(*world.woken.lock(), [Key::new(Some("default"), "ada")]);
}

#[tokio::test(start_paused = true)]
async fn what_a_set_would_delete_is_told() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let world = observed(world).await;
    let before = world.server.history().records().len();
    set(&world, &["a", "c"]).await.unwrap();
    let want = ["Changed a", "Created c .data.of", "Deleted b"];
    assert_eq!(told(&world).await, want);
    set_for(&world, "ada", &[]).await.unwrap();
    assert_eq!(told(&world).await, ["Deleted a", "Deleted b"]);
    assert_eq!(world.server.history().records().len(), before);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_asked_of_it_the_connection_sends_reads_alone() {
    let world = observed(World::new().await).await;
    let before = world.server.history().records().len();
    let api = &world.cluster.api;
    assert!(!api.may_write());
    let object = child("x");
    let path = || format!("{MAPS}/x");
    let writes = [
        Request::apply(format!("{}?fieldManager=x", path()), &object),
        Request::merge_patch(path(), &object),
        Request::json(http::Method::POST, MAPS.to_owned(), &object),
        Request::json(http::Method::PUT, path(), &object),
        Request::json(http::Method::DELETE, path(), &Value::Null),
        Request::delete_collection(MAPS.to_owned(), &Value::Null),
    ];
    for write in writes {
        let sent = api.send(write).await;
        assert!(matches!(sent, Err(ApiError::ReadOnly)), "{sent:?}");
    }
    api.send(Request::get(MAPS.to_owned())).await.unwrap();
    assert_eq!(world.server.history().records().len(), before);
}
