//! Sessions that expire, end, go, are slow, or are meddled with.

use super::*;

const LASTS: Duration = Duration::from_secs(15);

async fn session_of(held: &Held) -> String {
    let record = held.read().await.unwrap().unwrap();
    record.session().unwrap().to_owned()
}

/// Somebody changes a Lease by hand.
async fn edits(held: &Held, name: &str, patch: &Value) {
    let request = Request::merge_patch(format!("{}/{name}", collection("default")), patch);
    held.session.api().send(request).await.unwrap();
}

async fn deletes(held: &Held, name: &str) {
    let uri = format!("{}/{name}", collection("default"));
    let delete = Request::json(Method::DELETE, uri, &json!({}));
    held.session.api().send(delete).await.unwrap();
}

/// How long `held` waits for the Lease.
async fn waits_for(world: &World, held: &Held) -> Duration {
    let began = world.seams.clock.now();
    held.takes().await;
    world.seams.clock.now() - began
}

#[tokio::test(start_paused = true)]
async fn a_dead_host_loses_its_lease_when_its_session_has_expired_and_cannot_come_back_to_it() {
    let world = World::new();
    let dead = world.lease("dead");
    dead.takes().await;
    let before = session_of(&dead).await;
    let session = dead.session.clone();
    drop(dead);
    let next = world.lease("next");
    let waited = waits_for(&world, &next).await;
    assert!(
        waited >= LASTS && waited <= LASTS + 3 * SECOND,
        "{waited:?}"
    );
    let ended = next.session.read(&before).await.unwrap().unwrap();
    assert_eq!(ended.holder, "", "its session is ended");
    // It was only suspended: it goes on with another session, and hears that the Lease is another's.
    let revived = world.host(&session);
    assert!(!revived.holds_for(&world, 10 * SECOND).await);
    assert_eq!(holder_of(&next).await, "next");
    assert!(next.holds_for(&world, 60 * SECOND).await);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_suspended_keeps_a_lease_that_nobody_has_taken() {
    let world = World::new();
    let held = world.lease("a");
    held.takes().await;
    let (session, before) = (held.session.clone(), session_of(&held).await);
    drop(held);
    world.wait(60 * SECOND).await;
    let revived = world.host(&session);
    assert!(revived.holds_for(&world, 10 * SECOND).await);
    assert_eq!(session_of(&revived).await, before);
}

/// The heart of it: to renew a session and to take a Lease are writes to two objects.
#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_while_another_host_is_about_to_take_over_keeps_its_lease() {
    let world = World::new();
    let held = world.lease("slow");
    held.takes().await;
    let session = held.session.clone();
    drop(held);
    let other = world.lease("other");
    let takes = other.takes();
    let comes_back = async {
        world.wait(LASTS - SECOND).await;
        // The other one ends the session, which is late on its way.
        let ends = json!({ "spec": { "holderIdentity": "" } });
        world.next_update(ends, Fault::Late(6 * SECOND));
        world.wait(4 * SECOND).await;
        let revived = world.host(&session);
        assert!(revived.holds_for(&world, 60 * SECOND).await);
        assert_eq!(holder_of(&revived).await, "slow");
    };
    tokio::select! {
        biased;
        () = takes => panic!("two hosts hold it"),
        () = comes_back => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_released_is_taken_at_once_and_a_session_that_is_ended_is_gone() {
    let world = World::new();
    let (held, next) = (world.lease("a"), world.lease("next"));
    held.takes().await;
    let session = session_of(&held).await;
    let stops = async {
        world.wait(5 * SECOND).await;
        held.release().await;
        let Held { session, keeps, .. } = held;
        drop(keeps);
        session.end().await;
    };
    let (waited, ()) = join(waits_for(&world, &next), stops).await;
    assert!(waited <= 8 * SECOND, "{waited:?}");
    assert!(next.session.read(&session).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_session_of_a_host_that_may_not_delete_it_is_emptied() {
    let world = World::new();
    let held = world.lease("a");
    held.takes().await;
    let name = session_of(&held).await;
    held.release().await;
    world.always(Verb::Delete, Fault::Refuse(403));
    let Held { session, keeps, .. } = held;
    drop(keeps);
    session.end().await;
    let left = session.read(&name).await.unwrap().unwrap();
    assert_eq!(left.holder, "");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_there_is_waited_for_as_long_as_one_lasts() {
    let world = World::new();
    let dead = world.lease("dead");
    dead.takes().await;
    let session = session_of(&dead).await;
    deletes(&dead, &session).await;
    drop(dead);
    let waited = waits_for(&world, &world.lease("next")).await;
    assert!(
        waited >= LASTS && waited <= LASTS + 3 * SECOND,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_session_somebody_ends_or_deletes_opens_another_and_keeps_its_lease() {
    for is_deleted in [true, false] {
        let world = World::new();
        let (held, other) = (world.lease("a"), world.lease("other"));
        held.takes().await;
        let before = session_of(&held).await;
        let meddles = async {
            world.wait(5 * SECOND).await;
            if is_deleted {
                deletes(&other, &before).await;
            } else {
                edits(
                    &other,
                    &before,
                    &json!({ "spec": { "holderIdentity": "" } }),
                )
                .await;
            }
            world.wait(60 * SECOND).await;
        };
        tokio::select! {
            biased;
            () = held.hold() => panic!("it is lost"),
            () = other.takes() => panic!("it is taken"),
            () = meddles => {}
        }
        assert_ne!(session_of(&held).await, before);
        assert!(held.gate().allowance().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_starts_again_takes_what_it_held_and_its_former_life_is_over() {
    let world = World::new();
    let former = world.lease("a");
    former.takes().await;
    let before = session_of(&former).await;
    let again = world.lease("a");
    assert_eq!(waits_for(&world, &again).await, Duration::ZERO);
    assert_ne!(session_of(&again).await, before);
    let holds = join(
        former.holds_for(&world, 5 * SECOND),
        again.holds_for(&world, 5 * SECOND),
    );
    assert_eq!(holds.await, (false, true));
    assert!(former.gate().allowance().is_none());
    // Its former life renews on, which says nothing of this one.
    drop(again);
    let waited = waits_for(&world, &world.lease("next")).await;
    assert!(waited <= LASTS + 3 * SECOND, "{waited:?}");
    // What it does not hold any more, it does not give up.
    former.release().await;
    assert_eq!(holder_of(&former).await, "next");
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_its_label_or_its_annotation_gets_them_again() {
    let world = World::new();
    let (held, other) = (world.lease("a"), world.lease("other"));
    held.takes().await;
    for taken_off in ["labels", "annotations"] {
        let patch = json!({ "metadata": { taken_off: null } });
        edits(&other, "windlass-greeter", &patch).await;
        tokio::select! {
            biased;
            () = held.hold() => panic!("it is lost"),
            () = other.takes() => panic!("it is taken"),
            () = world.wait(30 * SECOND) => {}
        }
        let record = held.read().await.unwrap().unwrap();
        assert!(record.is_for(PLUGIN), "{record:?}");
        assert_eq!(record.session(), Some(&*session_of(&held).await));
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_list_leases_are_read_one_by_one() {
    let world = World::new();
    world.always(Verb::List, Fault::Refuse(403));
    let (held, other) = (world.lease("a"), world.lease("other"));
    held.takes().await;
    tokio::select! {
        biased;
        () = held.hold() => panic!("it is lost"),
        () = other.takes() => panic!("it is taken"),
        () = world.wait(60 * SECOND) => {}
    }
    drop(held);
    let waited = waits_for(&world, &other).await;
    assert!(waited <= LASTS + 3 * SECOND, "{waited:?}");
    let patch = json!({ "spec": { "holderIdentity": "thief" } });
    edits(&other, "windlass-greeter", &patch).await;
    assert!(!other.holds_for(&world, 3 * SECOND).await);
}

#[tokio::test(start_paused = true)]
async fn a_right_to_list_that_comes_later_is_noticed() {
    let world = World::new();
    world.next(Verb::List, Fault::Refuse(403));
    let held = world.lease("a");
    held.takes().await;
    assert!(held.holds_for(&world, 30 * SECOND).await);
    let listed = async || {
        next_beat(&held.session)
            .await
            .renewal
            .as_ref()
            .unwrap()
            .leases
            .is_some()
    };
    assert!(!listed().await, "it does not ask all the time");
    world.wait(60 * SECOND).await;
    assert!(listed().await);
}

#[tokio::test(start_paused = true)]
async fn a_slow_list_delays_a_renewal_and_one_that_never_comes_ends_it() {
    let world = World::new();
    let held = world.lease("a");
    held.takes().await;
    world.always(Verb::List, Fault::LateAnswer(5 * SECOND));
    assert!(held.holds_for(&world, 60 * SECOND).await);
    world.always(Verb::List, Fault::LateAnswer(30 * SECOND));
    let writes = async {
        world.wait(16 * SECOND).await;
        held.gate().allowance()
    };
    tokio::select! {
        biased;
        () = held.hold() => {}
        allowance = writes => assert_eq!(allowance, None),
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_list_takes_no_lease_away() {
    let world = World::new();
    let held = world.lease("a");
    held.takes().await;
    // From before it was taken.
    world.always(Verb::List, Fault::Stale(20));
    assert!(held.holds_for(&world, 60 * SECOND).await);
    assert!(held.gate().allowance().is_some());
}

#[tokio::test(start_paused = true)]
async fn clocks_that_disagree_decide_nothing() {
    for off in ["2016-11-21T09:30:00Z", "2036-11-21T09:30:00Z"] {
        let mut world = World::new();
        let right = world.seams.clone();
        world.seams.clock = Clock::starting_at(off.parse().unwrap());
        let held = world.lease("wrong");
        world.seams = right;
        held.takes().await;
        let other = world.lease("other");
        tokio::select! {
            biased;
            () = held.hold() => panic!("it is lost"),
            () = other.takes() => panic!("it is taken"),
            () = world.wait(60 * SECOND) => {}
        }
        drop(held);
        let waited = waits_for(&world, &other).await;
        assert!(
            waited >= LASTS - 3 * SECOND && waited <= LASTS + 3 * SECOND,
            "{waited:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_stood_still_for_an_hour_is_deleted_and_no_other() {
    let world = World::new();
    let dead = world.lease("dead");
    dead.takes().await;
    let session = session_of(&dead).await;
    drop(dead);
    let (one, two) = (world.lease("one"), world.lease("two"));
    one.takes().await;
    world.wait(3500 * SECOND).await;
    assert!(one.session.read(&session).await.unwrap().is_some());
    world.wait(120 * SECOND).await;
    assert!(one.session.read(&session).await.unwrap().is_none());
    for live in [&one, &two] {
        let beat = next_beat(&live.session).await;
        let name = &beat.renewal.as_ref().unwrap().session;
        assert!(live.session.read(name).await.unwrap().is_some());
    }
}
