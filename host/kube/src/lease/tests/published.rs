//! What hosts publish of crashes on a Lease.

use super::*;

/// A host that knows of a crash, `run`, that the component was at work in.
fn after_a_crash(world: &World, run: &str) -> Crashes {
    let (now, hex) = (world.seams.clock.wall(), digest(b"poison").hex());
    let crashes = Crashes::in_memory();
    let text = format!(r#"[{{"run":"{run}","at":"{now}","digest":"{hex}"}}]"#);
    crashes.listen(&text, now);
    crashes
}

fn is_quarantined(world: &World, crashes: &Crashes) -> bool {
    let now = world.seams.clock.wall();
    crashes.quarantine(&digest(b"poison"), now).is_some()
}

async fn annotations_of(lease: &Lease) -> Option<Value> {
    lease.read().await.unwrap().unwrap().annotations
}

#[tokio::test(start_paused = true)]
async fn what_hosts_publish_of_crashes_stays_whoever_writes_the_lease_and_its_holder_hears_of_it() {
    let world = World::new();
    let heard = Crashes::in_memory();
    let holder = world.lease("a").listening(heard.clone());
    holder.takes().await;
    let poison = [digest(b"poison")].into();
    for run in ["one", "two"] {
        assert!(!is_quarantined(&world, &heard));
        let crashed = world.lease("b").listening(after_a_crash(&world, run));
        crashed.publish(&poison).await.unwrap();
        assert!(holder.holds_for(&world, 5 * SECOND).await);
    }
    assert!(is_quarantined(&world, &heard), "two crashes of two hosts");
    assert_eq!(holder_of(&holder).await, "a", "it still holds the Lease");
    holder.release().await;
    let late = Crashes::in_memory();
    let next = world.lease("c").listening(late.clone());
    next.takes().await;
    assert!(
        is_quarantined(&world, &late),
        "it hears of it before it has the Lease"
    );
    let published = annotations_of(&next).await.unwrap();
    let names: Vec<_> = published.as_object().unwrap().keys().collect();
    assert_eq!(names, ["windlass.dev/crashes", "windlass.dev/session"]);
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_published_on_a_lease_that_nobody_has_had_and_with_annotations_of_users() {
    let world = World::new();
    let poison = [digest(b"poison")].into();
    let crashed = world.lease("b").listening(after_a_crash(&world, "one"));
    crashed.publish(&poison).await.unwrap();
    let heard = Crashes::in_memory();
    let lease = world.lease("a").listening(heard.clone());
    let began = world.seams.clock.now();
    lease.takes().await;
    assert_eq!(world.seams.clock.now(), began, "nobody else holds it");
    let patch =
        json!({ "metadata": { "annotations": { "team": "apps" }, "labels": { "app": "x" } } });
    let path = Lease::path("default", "greeter");
    lease
        .session
        .api()
        .send(Request::merge_patch(path, &patch))
        .await
        .unwrap();
    let crashed = world.lease("c").listening(after_a_crash(&world, "two"));
    crashed.publish(&poison).await.unwrap();
    assert!(lease.holds_for(&world, 5 * SECOND).await);
    assert!(is_quarantined(&world, &heard));
    let record = lease.read().await.unwrap().unwrap();
    assert_eq!(
        record.annotations.unwrap().get("team"),
        Some(&json!("apps"))
    );
    let labels = json!({ "app": "x", "windlass.dev/lease": "plugin" });
    assert_eq!(record.labels, Some(labels));
}

#[tokio::test(start_paused = true)]
async fn a_host_with_nothing_to_tell_writes_nothing() {
    let world = World::new();
    let lease = world.lease("a").listening(Crashes::in_memory());
    lease.publish(&[digest(b"poison")].into()).await.unwrap();
    assert!(lease.read().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_published_crash_is_no_sign_of_life_of_the_holder() {
    let world = World::new();
    world.lease("dead").takes().await;
    let began = world.seams.clock.now();
    let next = world.lease("next");
    let publishes = async {
        world.wait(10 * SECOND).await;
        let crashed = world.lease("b").listening(after_a_crash(&world, "one"));
        crashed.publish(&[digest(b"poison")].into()).await.unwrap();
    };
    join(next.takes(), publishes).await;
    let waited = world.seams.clock.now() - began;
    assert!(waited < 20 * SECOND, "{waited:?}");
}
