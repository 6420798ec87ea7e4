//! Kinds that are not served, not yet or no more.

use super::*;

impl World {
    async fn thing(&self, name: &str) {
        let body =
            json!({ "apiVersion": "x.dev/v1", "kind": "Thing", "metadata": { "name": name } });
        let (code, answer) = self.send("POST", THINGS, &body).await;
        assert_eq!(code, 201, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_counts_as_empty_and_is_waited_for() {
    let world = World::new();
    let (things, handler) = world.subscribe(things());
    world.within(things.synced()).await;
    assert_eq!(things.phase(), InformerPhase::Absent);
    world.define("Namespaced", &["v1"]).await;
    world.thing("a").await;
    world.within(things.reached(InformerPhase::Synced)).await;
    assert_eq!(handler.told(), "+a");
}

#[tokio::test(start_paused = true)]
async fn a_crd_deleted_while_watched_takes_its_objects_along_and_may_come_back() {
    let world = World::new();
    world.define("Namespaced", &["v1"]).await;
    world.thing("a").await;
    let (things, handler) = world.subscribe(things());
    world.within(things.synced()).await;
    assert_eq!(handler.told(), "+a");
    world.undefine().await;
    world.within(things.reached(InformerPhase::Absent)).await;
    assert_eq!(handler.told(), "-a~");
    assert_eq!(things.objects(), 0);
    world.define("Namespaced", &["v1"]).await;
    world.thing("b").await;
    world.within(things.reached(InformerPhase::Synced)).await;
    assert_eq!(handler.told(), "+b");
}

#[tokio::test(start_paused = true)]
async fn a_crd_that_comes_back_with_another_scope_is_another_kind() {
    let world = World::new();
    world.define("Namespaced", &["v1"]).await;
    world.thing("a").await;
    let everywhere = InformerKey {
        namespace: None,
        ..things()
    };
    let (things, handler) = world.subscribe(everywhere);
    world.within(things.synced()).await;
    // It is away for so short a time that nobody sees it.
    world.undefine().await;
    let again = definition("Cluster", &["v1"]);
    while world.send("POST", CRDS, &again).await.0 != 201 {
        world.wait(SECOND / 100).await;
    }
    let body = json!({ "apiVersion": "x.dev/v1", "kind": "Thing", "metadata": { "name": "b" } });
    world.send("POST", "/apis/x.dev/v1/things", &body).await;
    world.within(things.reached(InformerPhase::Absent)).await;
    assert_eq!((handler.told(), things.objects()), ("+a -a~".into(), 0));
}

/// A server that starts, or one behind a bad proxy, may say 404 of what it serves.
#[tokio::test(start_paused = true)]
async fn a_404_alone_takes_nothing_out() {
    let world = World::new();
    world.define("Namespaced", &["v1"]).await;
    world.thing("a").await;
    let (things, handler) = world.subscribe(things());
    world.within(things.synced()).await;
    world.fault(Verb::Watch, 0, 3, Fault::Refuse(404));
    world.wait(1200 * SECOND).await;
    world.thing("b").await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+a +b~");
}

#[tokio::test(start_paused = true)]
async fn a_barrier_passes_an_absent_kind_and_waits_for_one_that_has_come() {
    let world = World::new();
    let (things, _) = world.subscribe(things());
    world.within(things.barrier()).await;
    assert_eq!(things.phase(), InformerPhase::Absent);
    world.define("Namespaced", &["v1"]).await;
    world.thing("a").await;
    // So long discovery believes that something is absent.
    world.wait(SECOND).await;
    world.within(things.barrier()).await;
    assert_eq!(things.objects(), 1);
    world.undefine().await;
    world.within(things.reached(InformerPhase::Absent)).await;
    // Its lists are another kind's.
    world.define("Cluster", &["v1"]).await;
    let body = json!({ "apiVersion": "x.dev/v1", "kind": "Thing", "metadata": { "name": "b" } });
    world.send("POST", "/apis/x.dev/v1/things", &body).await;
    world.within(things.barrier()).await;
    assert_eq!(things.phase(), InformerPhase::Absent);
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_version_that_is_not_served_for_a_while_come_back_as_they_were() {
    let world = World::new();
    world.define("Namespaced", &["v1", "v2"]).await;
    world.thing("a").await;
    world.thing("b").await;
    let (things, handler) = world.subscribe(things());
    world.within(things.synced()).await;
    assert_eq!(handler.told(), "+a +b");
    handler.may_return.store(true, Ordering::Relaxed);
    let path = format!("{CRDS}/things.x.dev");
    let versions = |served: bool| {
        let mut versions = definition("Namespaced", &["v2", "v1"])["spec"]["versions"].take();
        versions[1]["served"] = json!(served);
        json!({ "spec": { "versions": versions } })
    };
    for told in ["-a~ -b~", "+a +b", "-a~ -b~", "+a +b"] {
        let serves = told.starts_with('+');
        let (code, answer) = world.send("PATCH", &path, &versions(serves)).await;
        assert_eq!(code, 200, "{answer}");
        let phase = match serves {
            true => InformerPhase::Synced,
            false => InformerPhase::Absent,
        };
        world.within(things.reached(phase)).await;
        assert_eq!(handler.told(), told);
    }
}
