//! What is kept of objects: what somebody reads.

use super::*;
use windlass_base::memory::{Bounds, Budget};

fn data(subscription: &Subscription) -> Value {
    let object = subscription.get(&key("a")).unwrap().value();
    assert!(object["metadata"]["managedFields"].is_null());
    assert_eq!(
        object["metadata"]["labels"]["app"], "a",
        "metadata is always there"
    );
    json!([object["data"], object["immutable"]])
}

async fn world() -> World {
    let world = World::new();
    let labels = json!({ "app": "a" });
    let map = json!({
        "metadata": { "name": "a", "labels": labels }, "data": { "x": "1", "y": "2" },
        "immutable": false,
    });
    assert_eq!(world.send("POST", MAPS, &map).await.0, 201);
    world
}

#[tokio::test(start_paused = true)]
async fn the_store_keeps_what_its_subscribers_read() {
    let world = world().await;
    let (one, _ears) = world.subscribe_to(config_maps(), &[".data.x"]);
    let (_two, _more) = world.subscribe_to(config_maps(), &[".immutable"]);
    world.within(one.synced()).await;
    assert_eq!(data(&one), json!([{ "x": "1" }, false]));
    assert_eq!(
        world.requests(),
        (1, 0, 0),
        "both were there before the list"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wider_newcomer_makes_the_informer_list_again_and_waits_for_it() {
    let world = world().await;
    let (narrow, first) = world.subscribe_to(config_maps(), &[".data.x"]);
    world.within(narrow.synced()).await;
    assert_eq!(
        (first.told(), data(&narrow)),
        ("+a".into(), json!([{ "x": "1" }, null]))
    );
    let (same, second) = world.subscribe_to(config_maps(), &[".data.x"]);
    world.within(same.synced()).await;
    assert_eq!((second.told(), world.requests().0), ("+a".into(), 1));
    let (wide, third) = world.subscribe(config_maps());
    assert_eq!(third.told(), "", "not before everything is there");
    world.within(wide.synced()).await;
    assert_eq!((third.told(), first.told()), ("+a".into(), String::new()));
    assert_eq!(data(&wide), json!([{ "x": "1", "y": "2" }, false]));
    assert_eq!(world.requests(), (2, 0, 0));
    let change = json!({ "data": { "y": "3" } });
    world.send("PATCH", &format!("{MAPS}/a"), &change).await;
    world.wait(SECOND).await;
    assert_eq!(third.told(), "-a+a~");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_cut_as_the_watch_would_be() {
    let world = world().await;
    let (maps, _ears) = world.subscribe_to(config_maps(), &[".data.x"]);
    world.within(maps.synced()).await;
    let answer = world.change("a", "v").await;
    maps.learn(answer, |change| assert!(change.is_some()));
    assert_eq!(data(&maps), json!([{ "x": "1" }, null]));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_any_more_goes_at_once() {
    let world = world().await;
    let (narrow, handler) = world.subscribe_to(config_maps(), &[".data.x"]);
    let (wide, _) = world.subscribe(config_maps());
    world.within(wide.synced()).await;
    drop(wide);
    world.wait(SECOND).await;
    assert_eq!(world.requests().0, 2);
    assert_eq!(data(&narrow), json!([{ "x": "1" }, null]));
    assert_eq!(handler.told(), "+a", "which is no change");
    let (same, _) = world.subscribe_to(config_maps(), &[".data.x"]);
    world.within(same.synced()).await;
    drop(same);
    world.wait(700 * SECOND).await;
    assert_eq!(world.requests().0, 2, "nobody reads less than before");
}

/// A world of 40 objects of 50 KB that cannot be packed, of which `.data.x` is a small part.
async fn large_world() -> World {
    let world = World::new();
    let rng = Rng::seeded(7);
    for number in 0..40 {
        let letter = |_| char::from(b'0' + u8::try_from(rng.number() >> 58).unwrap());
        let text: String = (0..50_000).map(letter).collect();
        let map = json!({ "metadata": { "name": format!("m{number}") }, "data": { "x": "1", "y": text } });
        assert_eq!(world.send("POST", MAPS, &map).await.0, 201);
    }
    world
}

const KIB: usize = 1 << 10;

/// An account with these limits in KiB.
fn account(soft: usize, hard: usize) -> Account {
    let (soft, hard) = (soft * KIB, hard * KIB);
    Account::new(Budget::new(usize::MAX), Bounds { soft, hard })
}

/// Of 2 MB each of two would pay 1 MB: the one that reads little has room for half of that.
#[tokio::test(start_paused = true)]
async fn who_reads_little_pays_little_whoever_comes_and_leaves() {
    let world = large_world().await;
    let mine = account(256, 512);
    let (alone, _) = world.subscribe_on(&mine, config_maps(), &[".data.x"]);
    world.within(alone.synced()).await;
    let little = mine.used();
    assert!((10 * KIB..100 * KIB).contains(&little), "{little}");

    let told = mine.clone();
    let exceeded = world.seams.spawn.task(async move { told.exceeded().await });
    let wide = account(1 << 20, 1 << 20);
    let (other, _) = world.subscribe_on(&wide, config_maps(), &[]);
    world.within(other.synced()).await;
    // What texts are packed against may be an object of the other's, of which 16 KiB count.
    let most = little + 40 * KIB;
    assert!(mine.used() <= most, "{} > {most}", mine.used());
    assert!(wide.used() > 1500 * KIB, "{}", wide.used());

    drop(other);
    assert!(mine.used() <= most, "{} > {most}", mine.used());
    world.wait(SECOND).await;
    assert!(mine.used() <= most, "{} > {most}", mine.used());
    assert_eq!(wide.used(), 0);
    assert!(!exceeded.is_finished(), "it is stopped");
    assert_eq!(world.requests().0, 3, "each time everything is listed once");
}

/// Of 2 MB each of two would pay 1 MB, which is just below the limit of the one that reads little.
#[tokio::test(start_paused = true)]
async fn who_shares_a_store_has_room_for_its_calls() {
    let world = large_world().await;
    let wide = account(1 << 20, 1 << 20);
    let (other, _) = world.subscribe_on(&wide, config_maps(), &[]);
    world.within(other.synced()).await;
    let soft = wide.used() / 2 / KIB + 16;
    let mine = account(soft, 2 * soft);
    let (_maps, _) = world.subscribe_on(&mine, config_maps(), &[".data.x"]);
    let call = mine.take(soft * KIB / 2);
    assert!(call.is_ok(), "{} of {soft} KiB", mine.used() / KIB);
}
