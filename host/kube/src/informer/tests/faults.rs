//! A server on a bad day.

use super::testing::things;
use super::*;

/// An informer with `a` and `b` in it, before which faults were switched on.
async fn synced(world: &World) -> (Subscription, RecordingHandler) {
    for name in ["a", "b"] {
        world.create(name).await;
    }
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(names(&maps), "ab");
    handler.told();
    (maps, handler)
}

/// Whether news still come.
async fn goes_on(world: &World, handler: &RecordingHandler) {
    world.create("later").await;
    world.wait(60 * SECOND).await;
    assert!(handler.told().ends_with("+later~"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_lists_is_asked_for_pages() {
    let world = World::new();
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    let (_maps, handler) = synced(&world).await;
    goes_on(&world, &handler).await;
    assert_eq!(world.requests(), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_ends_its_list_is_asked_for_pages() {
    let world = World::new();
    world.fault(Verb::Watch, 0, 1, Fault::NoBookmarks);
    let began = world.seams.clock.now();
    let (_maps, handler) = synced(&world).await;
    assert_eq!(world.seams.clock.now() - began, 10 * SECOND);
    goes_on(&world, &handler).await;
    assert_eq!(world.requests(), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_expires_while_the_list_streams_means_another_list() {
    let world = World::new();
    let expired = Fault::Error {
        event: 1,
        status: 410,
    };
    world.fault(Verb::Watch, 0, 1, expired);
    let (_maps, handler) = synced(&world).await;
    goes_on(&world, &handler).await;
    assert_eq!(world.requests(), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_expires_between_two_pages_means_another_list() {
    let world = World::new();
    for number in 0..600 {
        world.create(&format!("m{number}")).await;
    }
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(400));
    world.fault(Verb::List, 1, 1, Fault::Refuse(410));
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(maps.objects(), 600);
    assert_eq!(handler.told().split(' ').count(), 600);
    assert_eq!(world.requests().1, 4);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_for_a_watch_means_another_list() {
    let world = World::new();
    let (maps, handler) = synced(&world).await;
    // The next watch begins where nobody remembers.
    world.fault(Verb::Watch, 0, 3, Fault::Refuse(503));
    world.fault(Verb::Watch, 3, 1, Fault::Refuse(410));
    world.wait(601 * SECOND).await;
    world.delete("a").await;
    world.create("c").await;
    world.server.store().compact();
    world.wait(60 * SECOND).await;
    assert_eq!(names(&maps), "bc");
    goes_on(&world, &handler).await;
}

#[tokio::test(start_paused = true)]
async fn what_went_while_nobody_watched_is_heard_of_by_the_next_list() {
    let world = World::new();
    let (maps, handler) = synced(&world).await;
    world.fault(Verb::Watch, 0, 100, Fault::Reset);
    world.wait(601 * SECOND).await;
    let replaced = world.create("c").await.metadata.uid.clone();
    world.wait(SECOND).await;
    world.delete("a").await;
    world.delete("c").await;
    world.create("c").await;
    world.server.store().compact();
    world.server.faults().heal();
    world.wait(120 * SECOND).await;
    assert_eq!(handler.told(), "+c -a");
    assert_ne!(maps.get(&key("c")).unwrap().metadata.uid, replaced);
}

#[tokio::test(start_paused = true)]
async fn delete_and_recreate_between_two_lists_is_one_event_with_both_uids() {
    let world = World::new();
    let (maps, handler) = synced(&world).await;
    let before = maps.get(&key("a")).unwrap();
    let error = Fault::Error {
        event: 0,
        status: 410,
    };
    world.fault(Verb::Watch, 0, 1, error);
    world.wait(601 * SECOND).await;
    world.delete("a").await;
    world.create("a").await;
    world.wait(60 * SECOND).await;
    assert_eq!(handler.told(), "-a+a");
    assert_ne!(
        maps.get(&key("a")).unwrap().metadata.uid,
        before.metadata.uid
    );
    assert_eq!(world.requests().0, 2, "by a list");
}

#[tokio::test(start_paused = true)]
async fn a_busy_or_absent_server_is_asked_for_the_same_watch_again() {
    for fault in [
        Fault::Refuse(429),
        Fault::Refuse(500),
        Fault::Refuse(503),
        Fault::Reset,
        Fault::Late(25 * SECOND),
        Fault::Cut(10),
        Fault::Error {
            event: 0,
            status: 500,
        },
    ] {
        let world = World::new();
        let (_maps, handler) = synced(&world).await;
        world.fault(Verb::Watch, 0, 4, fault.clone());
        world.wait(601 * SECOND).await;
        for name in ["c", "d", "e"] {
            world.create(name).await;
            world.wait(40 * SECOND).await;
        }
        assert_eq!(handler.told(), "+c~ +d~ +e~", "{fault:?}");
        let (streams, pages, watches) = world.requests();
        assert_eq!((streams, pages), (1, 0), "{fault:?}");
        assert!((4..10).contains(&watches), "{watches} {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_work_and_break_go_on_as_soon_the_last_time_as_the_first() {
    let world = World::new();
    let (_maps, handler) = synced(&world).await;
    let after_one_event = Fault::Error {
        event: 1,
        status: 500,
    };
    world.fault(Verb::Watch, 0, 30, after_one_event);
    world.wait(601 * SECOND).await;
    for number in 0..30 {
        world.create(&format!("c{number}")).await;
        world.wait(2 * SECOND).await;
        assert_eq!(handler.told(), format!("+c{number}~"));
    }
    assert!(world.requests().2 > 25, "{:?}", world.requests());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_for_ten_minutes_is_heard_again_as_soon_as_it_speaks() {
    let world = World::new();
    let (_maps, handler) = synced(&world).await;
    world.fault(Verb::Watch, 0, u64::MAX, Fault::Refuse(429));
    world.wait(1201 * SECOND).await;
    world.create("c").await;
    let asked = world.requests().2;
    assert!((300..1200).contains(&asked), "{asked} watches");
    world.server.faults().heal();
    world.wait(2 * SECOND).await;
    assert_eq!(handler.told(), "+c~");
}

#[tokio::test(start_paused = true)]
async fn a_silently_dead_watch_is_noticed() {
    let world = World::new();
    // The list comes in pages, and the watch after it is dead.
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    world.fault(Verb::Watch, 1, 1, Fault::Silent(0));
    let (_maps, handler) = synced(&world).await;
    world.create("c").await;
    world.wait(290 * SECOND).await;
    assert_eq!(handler.told(), "");
    world.wait(316 * SECOND).await;
    assert_eq!(handler.told(), "+c~");
    assert_eq!(world.requests().1, 1, "and goes on where it was");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_each_watch_at_once_is_not_asked_all_the_time() {
    let world = World::new();
    let (_maps, _) = synced(&world).await;
    world.fault(Verb::Watch, 0, u64::MAX, Fault::Cut(0));
    world.wait(901 * SECOND).await;
    assert!(world.requests().2 < 40, "{:?}", world.requests());
}

#[tokio::test(start_paused = true)]
async fn an_older_list_is_refused_until_a_newer_one_comes() {
    let world = World::new();
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    let (maps, handler) = synced(&world).await;
    world.delete("a").await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "-a~");
    // A server that is behind answers the next lists.
    let expired = Fault::Error {
        event: 0,
        status: 410,
    };
    world.fault(Verb::Watch, 0, 1, expired);
    world.fault(Verb::List, 0, 3, Fault::Stale(2));
    world.wait(601 * SECOND).await;
    world.create("c").await;
    world.wait(60 * SECOND).await;
    assert_eq!(handler.told(), "+c", "nothing came back");
    assert_eq!(names(&maps), "bc");
    assert_eq!(world.requests().1, 5, "one list, three refused, one taken");
}

#[tokio::test(start_paused = true)]
async fn the_order_of_a_list_does_not_matter() {
    let world = World::new();
    world.fault(Verb::Watch, 0, 1, Fault::Refuse(422));
    world.fault(Verb::List, 0, 1, Fault::Shuffled(3));
    for name in ["c", "d", "e", "f"] {
        world.create(name).await;
    }
    for name in ["a", "b"] {
        world.create(name).await;
    }
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(
        (names(&maps).as_str(), handler.told().as_str()),
        ("abcdef", "+a +b +c +d +e +f")
    );
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_costs_a_list_and_no_more() {
    let world = World::with(Settings {
        longest_line: 2000,
        ..Settings::default()
    });
    let (maps, handler) = synced(&world).await;
    world.change("a", &"x".repeat(3000)).await;
    world.wait(10 * SECOND).await;
    assert_eq!(handler.told(), "-a+a", "by a list in pages");
    assert_eq!(world.requests(), (1, 1, 1));
    goes_on(&world, &handler).await;
    drop(maps);
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+a +b +later", "nor does a list stream");
}

#[tokio::test(start_paused = true)]
async fn an_object_is_watched_however_deep_it_is_nested() {
    let world = World::new();
    world.define("Namespaced", &["v1"]).await;
    let things_path = "/apis/x.dev/v1/namespaces/default/things";
    for (name, levels) in [
        ("a", 1),
        ("b", 127),
        ("c", 128),
        ("d", 129),
        ("e", 150),
        ("f", 600),
    ] {
        let spec = (1..levels).fold(json!(1), |inner, _| json!([inner]));
        let body = json!({
            "apiVersion": "x.dev/v1", "kind": "Thing", "metadata": { "name": name }, "spec": spec,
        });
        let (code, answer) = world.send("POST", things_path, &body).await;
        assert_eq!(code, 201, "{answer}");
    }
    let (watched, handler) = world.subscribe(things());
    world.within(watched.synced()).await;
    assert_eq!(handler.told(), "+a +b +c +d +e +f");
    let asked = world.requests();
    for name in ["b", "c", "d", "e", "f"] {
        let path = format!("{things_path}/{name}");
        let label = json!({ "metadata": { "labels": { "l": "1" } } });
        assert_eq!(world.send("PATCH", &path, &label).await.0, 200);
        world.wait(SECOND).await;
        assert_eq!(handler.told(), format!("-{name}+{name}~"));
        let held = watched.get(&key(name)).unwrap();
        assert_eq!(held.metadata.labels["l"], "1");
        assert!(held.json.text().contains("[[[[1]]]]"), "{name}");
        assert_eq!(world.send("DELETE", &path, &Value::Null).await.0, 200);
        world.wait(SECOND).await;
        assert_eq!(handler.told(), format!("-{name}~"));
    }
    assert_eq!(world.requests(), asked, "nothing is listed again");
}

#[tokio::test(start_paused = true)]
async fn events_that_come_late_or_as_one_leave_the_same_behind() {
    let cases = [
        (Fault::Merged(0), "+d~ +c~"),
        (Fault::Postponed { event: 0, by: 1 }, "+d~ +c~ -c+c~"),
        (Fault::Postponed { event: 1, by: 1 }, "+c~ -c+c~ +d~"),
    ];
    for (fault, want) in cases {
        let world = World::new();
        let (maps, handler) = synced(&world).await;
        world.fault(Verb::Watch, 0, 1, fault.clone());
        world.wait(601 * SECOND).await;
        world.create("c").await;
        world.create("d").await;
        let last = world.change("c", "1").await;
        world.wait(SECOND).await;
        assert_eq!(handler.told(), want, "{fault:?}");
        assert_eq!(
            maps.get(&key("c")).unwrap().value(),
            last.value(),
            "{fault:?}"
        );
    }
}
