//! One informer, many subscribers.

use super::*;

#[tokio::test(start_paused = true)]
async fn all_share_one_informer_and_the_last_one_stops_it() {
    let world = World::new();
    world.create("a").await;
    let (one, first) = world.subscribe(config_maps());
    world.within(one.synced()).await;
    let (other, second) = world.subscribe(config_maps());
    world.within(other.synced()).await;
    assert_eq!((first.told(), second.told()), ("+a".into(), "+a".into()));
    drop(one);
    world.create("b").await;
    world.wait(SECOND).await;
    assert_eq!((first.told(), second.told()), ("".into(), "+b~".into()));
    assert_eq!((world.requests(), world.informers.count()), ((1, 0, 0), 1));
    drop(other);
    assert_eq!(world.informers.count(), 0);
    world.create("c").await;
    world.wait(3600 * SECOND).await;
    assert_eq!(second.told(), "");
    assert_eq!(world.requests(), (1, 0, 0), "nobody asks any more");
    let (again, third) = world.subscribe(config_maps());
    world.within(again.synced()).await;
    assert_eq!(third.told(), "+a +b +c");
}

#[tokio::test(start_paused = true)]
async fn each_selector_and_namespace_has_an_informer_of_its_own() {
    let world = World::new();
    let everywhere = InformerKey {
        namespace: None,
        ..config_maps()
    };
    let selected = InformerKey {
        label_selector: Some("app=a".into()),
        ..config_maps()
    };
    let all = [config_maps(), everywhere, selected.clone(), selected]
        .map(|watched| world.subscribe(watched));
    assert_eq!(world.informers.count(), 3);
    drop(all);
    assert_eq!(world.informers.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_others_hear_of_an_answer_at_once_and_nobody_hears_of_its_echo() {
    let world = World::new();
    let (writer, own) = world.subscribe(config_maps());
    let (reader, handler) = world.subscribe(config_maps());
    world.within(writer.synced()).await;
    let answer = world.create("a").await;
    let change = writer.learn(answer, |change| change.cloned());
    assert!(change.is_some_and(|change| change.old.is_none()));
    assert_eq!((own.told(), handler.told()), ("".into(), "+a!".into()));
    assert!(reader.get(&key("a")).is_some());
    world.wait(SECOND).await;
    assert_eq!((own.told(), handler.told()), (String::new(), String::new()));
    let answer = reader.get(&key("a")).unwrap();
    world.delete("a").await;
    let gone = writer.forget(&key("a"), &answer.metadata.uid, u64::MAX, |change| {
        change.is_some()
    });
    assert!(gone);
    assert_eq!(handler.told(), "-a!");
    world.wait(SECOND).await;
    assert_eq!((own.told(), handler.told()), (String::new(), String::new()));
    let late = writer.learn(answer, |change| change.is_some());
    assert!(!late, "an answer that comes last brings nothing back");
}

/// A subscriber that nobody empties: the informer has no queue of its own, and waits for nobody.
#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_holds_nobody_up() {
    let world = World::new();
    let (_slow, unread) = world.subscribe(config_maps());
    let (quick, handler) = world.subscribe(config_maps());
    world.within(quick.synced()).await;
    for number in 0..1000 {
        world.create(&format!("m{number}")).await;
    }
    world.wait(SECOND).await;
    assert_eq!(handler.told().split(' ').count(), 1000);
    assert_eq!(quick.objects(), 1000);
    assert_eq!(unread.told().split(' ').count(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_may_leave_while_it_hears() {
    let world = World::new();
    let held: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let dropped = Arc::clone(&held);
    let heard = Box::new(move |_: Notification<'_>| drop(dropped.lock().take()));
    let subscription = world.informers.subscribe(
        config_maps(),
        Fields::default(),
        heard,
        &Account::unlimited(),
    );
    world.within(subscription.synced()).await;
    *held.lock() = Some(subscription);
    world.create("a").await;
    world.wait(SECOND).await;
    assert_eq!(world.informers.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn only_the_metadata_of_objects_with_the_finalizer_is_kept() {
    let world = World::new();
    world.create("a").await;
    let body =
        json!({ "metadata": { "name": "b", "finalizers": ["x.dev/f"] }, "data": { "k": "v" } });
    world.send("POST", MAPS, &body).await;
    let (maps, handler) = world.subscribe(InformerKey {
        finalizer: Some("x.dev/f".into()),
        ..config_maps()
    });
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+b");
    let held = maps.get(&key("b")).unwrap().value();
    assert_eq!(
        (&held["kind"], &held["data"]),
        (&json!("ConfigMap"), &Value::Null)
    );
    let change = json!({ "metadata": { "finalizers": null } });
    world.send("PATCH", &format!("{MAPS}/b"), &change).await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "-b~");
}
