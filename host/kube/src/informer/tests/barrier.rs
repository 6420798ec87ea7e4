//! What must be seen before a plugin goes on, and what holds that back.

use futures::future::join_all;

use super::*;

async fn maps(world: &World) -> Subscription {
    let (maps, _) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    maps
}

#[tokio::test(start_paused = true)]
async fn a_barrier_waits_for_what_was_written_before_it() {
    let world = World::new();
    let maps = maps(&world).await;
    world.create("a").await;
    let began = world.seams.clock.now();
    world.within(maps.barrier()).await;
    assert_eq!(names(&maps), "a");
    assert!(
        world.seams.clock.now() - began < SECOND,
        "no bookmark is waited for"
    );
    world.fault(Verb::Watch, 0, 100, Fault::Slow(20 * SECOND));
    world.wait(601 * SECOND).await;
    world.create("b").await;
    world.fault(Verb::List, 0, 1, Fault::Refuse(503));
    assert_eq!(names(&maps), "a");
    world.within(maps.barrier()).await;
    assert_eq!(names(&maps), "ab");
}

#[tokio::test(start_paused = true)]
async fn who_has_a_list_that_was_asked_for_later_does_not_ask_again() {
    for pages in [false, true] {
        let world = World::new();
        if pages {
            world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
        }
        let wanted = world.seams.clock.now();
        world.wait(SECOND).await;
        let maps = maps(&world).await;
        // Nobody who asks gets an answer.
        world.fault(Verb::List, 0, 1_000_000, Fault::Refuse(503));
        world.within(maps.barrier_of(wanted)).await;
        world.wait(SECOND).await;
        let asks = world.seams.clock.within(20 * SECOND, maps.barrier());
        assert_eq!(asks.await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_had_come_and_gone_before_a_barrier_is_not_shown_after_it() {
    let world = World::new();
    // The list comes in pages, and the watch after it is slow.
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    world.fault(Verb::Watch, 1, 1, Fault::Slow(20 * SECOND));
    let maps = maps(&world).await;
    world.create("a").await;
    world.delete("a").await;
    world.within(maps.barrier()).await;
    assert_eq!(names(&maps), "");
    for _ in 0..50 {
        world.wait(SECOND).await;
        assert_eq!(names(&maps), "");
    }
    world.create("b").await;
    world.wait(21 * SECOND).await;
    assert_eq!(names(&maps), "b");
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_watch_does_not_show_is_listed() {
    let world = World::new();
    world.create("a").await;
    // The list comes in pages, and the watch after it is dead.
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    world.fault(Verb::Watch, 1, 1, Fault::Silent(0));
    let maps = maps(&world).await;
    world.create("b").await;
    world.wait(10 * SECOND).await;
    assert_eq!(names(&maps), "a");
    let began = world.seams.clock.now();
    world.within(maps.barrier()).await;
    assert_eq!(names(&maps), "ab");
    assert!(world.seams.clock.now() - began < 60 * SECOND);
    assert_eq!(world.requests().1, 4, "each list, and how far each time");
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_has_lost_is_listed() {
    let world = World::new();
    world.fault(Verb::Watch, 0, 1, Fault::Lost(0));
    let maps = maps(&world).await;
    for name in ["a", "b"] {
        world.create(name).await;
    }
    world.wait(SECOND).await;
    assert_eq!(names(&maps), "b");
    world.within(maps.barrier()).await;
    assert_eq!(names(&maps), "ab");
    assert_eq!(maps.divergences(), 1);
    let lists = world.requests().1;
    world.within(maps.barrier()).await;
    assert_eq!(world.requests().1, lists + 1, "all is well");
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_at_the_same_time_ask_once() {
    let world = World::new();
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(maps(&world).await);
    }
    world.create("a").await;
    world.fault(Verb::List, 0, u64::MAX, Fault::LateAnswer(SECOND));
    world
        .within(join_all(all.iter().map(|maps| maps.barrier())))
        .await;
    // What the first one is answered, the others may have asked for too late.
    assert_eq!(world.requests().1, 2);
    world.within(all[0].barrier()).await;
    assert_eq!(world.requests().1, 3, "who comes later asks again");
}
