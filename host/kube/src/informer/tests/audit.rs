//! What only the audit can heal, and what it leaves alone. The faults are those that etcd's watches
//! have had.

use super::*;

/// Audits every ten minutes.
fn audited() -> World {
    World::with(Settings {
        resync: 600 * SECOND,
        ..Settings::default()
    })
}

async fn maps(world: &World) -> (Subscription, RecordingHandler) {
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    (maps, handler)
}

/// etcd #17529, #18089: events get lost.
#[tokio::test(start_paused = true)]
async fn a_lost_event_is_healed_by_the_audit() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Lost(1));
    let (maps, handler) = maps(&world).await;
    for name in ["a", "b", "c"] {
        world.create(name).await;
    }
    world.wait(SECOND).await;
    assert_eq!(
        (handler.told().as_str(), names(&maps).as_str()),
        ("+a~ +c~", "ac")
    );
    world.wait(1000 * SECOND).await;
    assert_eq!(
        (handler.told().as_str(), names(&maps).as_str()),
        ("+b", "abc")
    );
    assert_eq!(maps.divergences(), 1);
    let counted: u64 = world
        .informers
        .usage()
        .values()
        .map(|it| it.divergences)
        .sum();
    assert_eq!(counted, 1, "it is a metric");
    world.wait(3600 * SECOND).await;
    assert_eq!(
        (handler.told().as_str(), maps.divergences()),
        ("", 1),
        "once"
    );
}

#[tokio::test(start_paused = true)]
async fn who_goes_without_ever_having_been_shown_is_heard_of() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Lost(1));
    let (maps, handler) = maps(&world).await;
    for name in ["a", "b", "c"] {
        world.create(name).await;
    }
    world.delete("b").await;
    world.wait(SECOND).await;
    assert_eq!(
        (handler.told().as_str(), names(&maps).as_str()),
        ("+a~ +c~ -b~", "ac")
    );
}

/// etcd #17529, of a change: the store is stale.
#[tokio::test(start_paused = true)]
async fn a_lost_change_is_healed_by_the_audit() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Lost(1));
    let (maps, handler) = maps(&world).await;
    world.create("a").await;
    let changed = world.change("a", "1").await;
    world.wait(1000 * SECOND).await;
    assert_eq!(handler.told(), "+a~ -a+a");
    assert_eq!(maps.get(&key("a")).unwrap().value(), changed.value());
}

/// etcd #19179: a deletion is missing.
#[tokio::test(start_paused = true)]
async fn a_missing_delete_is_healed_by_the_audit() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Lost(2));
    let (maps, handler) = maps(&world).await;
    world.create("a").await;
    world.create("b").await;
    world.delete("a").await;
    world.wait(SECOND).await;
    assert_eq!(names(&maps), "ab");
    world.wait(1000 * SECOND).await;
    assert_eq!(
        (handler.told().as_str(), names(&maps).as_str()),
        ("+a~ +b~ -a", "b")
    );
    assert_eq!(maps.divergences(), 1);
}

/// etcd #17247: an event comes twice.
#[tokio::test(start_paused = true)]
async fn an_event_that_comes_twice_is_heard_once() {
    for doubled in 0..3 {
        let world = audited();
        world.fault(Verb::Watch, 0, 1, Fault::Doubled(doubled));
        let (maps, handler) = maps(&world).await;
        world.create("a").await;
        world.change("a", "1").await;
        world.delete("a").await;
        world.wait(1000 * SECOND).await;
        assert_eq!(handler.told(), "+a~ -a+a~ -a~", "{doubled}");
        assert_eq!(maps.divergences(), 0);
    }
}

/// etcd #15271: a watch goes back in time after a partition, that is, after a new list.
#[tokio::test(start_paused = true)]
async fn a_server_that_goes_back_in_time_takes_the_store_not_along() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    let (maps, handler) = maps(&world).await;
    world.create("a").await;
    world.change("a", "1").await;
    world.delete("a").await;
    world.create("b").await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+a~ -a+a~ -a~ +b~");
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(410));
    for back in 1..4 {
        world.fault(Verb::List, back - 1, 1, Fault::Stale(back));
    }
    world.wait(900 * SECOND).await;
    assert_eq!((handler.told().as_str(), names(&maps).as_str()), ("", "b"));
}

/// etcd #20221: a watch begins with events from before the version that it was asked for.
#[tokio::test(start_paused = true)]
async fn old_events_on_a_new_watch_are_no_news() {
    let world = audited();
    // What `m` and its end were comes again after all that followed.
    world.fault(Verb::Watch, 0, 1, Fault::Postponed { event: 0, by: 4 });
    let (maps, handler) = maps(&world).await;
    world.create("m").await;
    world.change("m", "1").await;
    world.delete("m").await;
    world.create("n").await;
    world.create("o").await;
    world.wait(1000 * SECOND).await;
    assert_eq!(handler.told(), "+m~ -m~ +n~ +o~");
    assert_eq!((names(&maps).as_str(), maps.divergences()), ("no", 0));
}

/// etcd #15220: a bookmark says that everything was shown, and something comes later.
#[tokio::test(start_paused = true)]
async fn a_bookmark_out_of_step_hides_nothing() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Postponed { event: 0, by: 2 });
    let (maps, handler) = maps(&world).await;
    let late = world.create("a").await;
    // The bookmark says that this is known.
    world.wait(61 * SECOND).await;
    assert_eq!(handler.told(), "");
    assert!(
        !maps.learn(late, |change| change.is_some()),
        "it seems to be gone"
    );
    world.create("b").await;
    world.wait(1000 * SECOND).await;
    assert_eq!(handler.told(), "+b~ +a~");
    assert_eq!(maps.divergences(), 0);
}

#[tokio::test(start_paused = true)]
async fn events_that_are_still_coming_are_no_difference() {
    let world = audited();
    world.fault(Verb::Watch, 0, 100, Fault::Slow(SECOND));
    let (maps, handler) = maps(&world).await;
    for number in 0..300 {
        world.create(&format!("m{number}")).await;
        world.wait(3 * SECOND).await;
        if number % 3 == 0 {
            world.delete(&format!("m{number}")).await;
        }
    }
    world.wait(3600 * SECOND).await;
    assert_eq!((maps.divergences(), maps.objects()), (0, 200));
    assert_eq!(handler.told().split(' ').count(), 400);
    assert!(world.requests().1 >= 4, "it was audited");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_ahead_of_the_watch_is_no_difference() {
    let world = audited();
    world.fault(Verb::Watch, 0, 1, Fault::Slow(60 * SECOND));
    let (maps, _) = maps(&world).await;
    world.wait(590 * SECOND).await;
    let answer = world.create("a").await;
    maps.learn(answer, |_| ());
    world.wait(600 * SECOND).await;
    assert_eq!(maps.divergences(), 0);
}
