//! Hosts from before sessions beside hosts with them.

use super::*;

/// What a host from before sessions writes: it keeps labels and annotations, and goes by `renewTime` alone.
async fn writes_as_an_old_host(lease: &Lease, host: &str) {
    let (api, uri) = (lease.session.api(), Lease::path("default", "greeter"));
    let there: Option<Value> = api.read(uri.clone()).await.unwrap();
    let metadata = there.as_ref().map_or_else(
        || json!({ "name": "windlass-greeter", "namespace": "default" }),
        |there| there["metadata"].clone(),
    );
    let time = now(lease.session.seams());
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
        "spec": {
            "holderIdentity": host, "leaseDurationSeconds": 15,
            "acquireTime": time, "renewTime": time, "leaseTransitions": 1,
        },
    });
    let (method, uri) = match there {
        Some(_) => (Method::PUT, uri),
        None => (Method::POST, collection("default")),
    };
    api.send(Request::json(method, uri, &object)).await.unwrap();
}

/// Whether a host from before sessions takes the Lease over within `duration`.
async fn is_free_for_an_old_host(world: &World, lease: &Lease, duration: Duration) -> bool {
    let clock = world.seams.clock;
    let (began, mut watched) = (clock.now(), ObservedLease::default());
    while clock.now() - began < duration {
        let record = lease.read().await.unwrap().unwrap();
        if watched.is_free(&record, clock.now(), 15 * SECOND) {
            return true;
        }
        world.wait(2 * SECOND).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn an_old_host_takes_nothing_from_a_live_one_and_waits_an_hour_for_a_dead_one() {
    let world = World::new();
    let held = world.lease("new");
    held.takes().await;
    tokio::select! {
        biased;
        () = held.hold() => panic!("it is lost"),
        is_free = is_free_for_an_old_host(&world, &held, 5 * 3600 * SECOND) => assert!(!is_free),
    }
    let Held { lease, keeps, .. } = held;
    drop(keeps);
    assert!(!is_free_for_an_old_host(&world, &lease, 3590 * SECOND).await);
    assert!(is_free_for_an_old_host(&world, &lease, 3610 * SECOND).await);
}

#[tokio::test(start_paused = true)]
async fn an_old_host_takes_over_at_once_after_a_release() {
    let world = World::new();
    let held = world.lease("new");
    held.takes().await;
    held.release().await;
    assert!(is_free_for_an_old_host(&world, &held, SECOND).await);
}

/// What an old host keeps on a Lease of the annotations of a new one says nothing any more.
#[tokio::test(start_paused = true)]
async fn an_old_host_that_renews_keeps_its_lease_and_loses_it_when_it_does_not() {
    for held_before in [false, true] {
        let world = World::new();
        if held_before {
            // Its session expires, and is not even there.
            let dead = world.lease("dead");
            dead.takes().await;
        }
        let other = world.lease("other");
        let renews = async {
            for _ in 0..60 {
                writes_as_an_old_host(&other, "old").await;
                world.wait(2 * SECOND).await;
            }
        };
        tokio::select! {
            biased;
            () = renews => {}
            () = other.takes() => panic!("it is taken"),
        }
        let began = world.seams.clock.now();
        other.takes().await;
        let waited = world.seams.clock.now() - began;
        assert!(waited >= 15 * SECOND && waited <= 18 * SECOND, "{waited:?}");
        assert_eq!(holder_of(&other).await, "other");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_an_old_host_takes_is_lost() {
    for name in ["old", "new"] {
        let world = World::new();
        let held = world.lease("new");
        held.takes().await;
        assert!(held.holds_for(&world, 10 * SECOND).await);
        writes_as_an_old_host(&held, name).await;
        assert!(!held.holds_for(&world, 5 * SECOND).await, "{name}");
    }
}
