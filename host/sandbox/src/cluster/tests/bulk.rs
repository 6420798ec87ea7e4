//! `create-many`, `delete-many` and `release-many` on the embedded server.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;
use windlass_base::memory::{Bounds, Budget};
use windlass_kube::api::Gate;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECOND: Duration = Duration::from_secs(1);
const HOLD: &str = "example.com/hold";

fn map(number: usize) -> String {
    config_map(&format!("m{number}"), &json!({})).to_string()
}

fn maps(count: usize) -> Vec<String> {
    (0..count).map(map).collect()
}

fn name(number: usize) -> ObjectRef {
    reference("v1", "ConfigMap", &format!("m{number}"))
}

/// How the objects ended, in the words of the contract.
fn words<T>(answers: &[Result<T, Error>]) -> Vec<&'static str> {
    let words = answers.iter();
    words
        .map(|answer| answer.as_ref().err().map_or("ok", Error::word))
        .collect()
}

/// So many that ended well, and then these.
fn after(count: usize, others: &[&'static str]) -> Vec<&'static str> {
    [vec!["ok"; count], others.to_vec()].concat()
}

/// Each of these requests takes a second to be answered.
fn slow(world: &World, verb: Verb) {
    world.server.faults().switch_on(Switch {
        name: "slow".to_owned(),
        on: Matcher {
            verb: Some(verb),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: u64::MAX,
        fault: Fault::Late(SECOND),
    });
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_created_in_batches_that_double_and_answered_in_their_order() {
    let world = World::new().await;
    slow(&world, Verb::Create);
    let mut call = world.call().await.limited_to(1000);
    let began = world.cluster.api.clock().now();
    let made = call.create_many(maps(100)).await;
    let took = world.cluster.api.clock().now() - began;
    for (number, made) in made.into_iter().enumerate() {
        let made = parsed(made);
        assert_eq!(made["metadata"]["name"], format!("m{number}"));
    }
    // 1, 2, 4, 8, 16, 32, 32 and 5 at a time.
    assert_eq!(took.as_secs(), 8);
    assert_eq!(world.writes().len(), 100);
    assert_eq!(call.traffic().requests, 100);
    let journal = world.cluster.view.ends(&call.primary().key);
    assert_eq!(journal.writes.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn it_stops_after_the_batch_in_which_one_failed_and_the_rest_is_absent() {
    let world = World::new().await;
    world
        .somebody("POST", MAPS, &config_map("m1", &json!({})))
        .await;
    let mut call = world.call().await;
    let answers = call.create_many(maps(10)).await;
    // The second batch is of m1 and m2.
    assert_eq!(words(&answers), ["ok", "conflict", "ok"]);
    assert_eq!(world.writes().len(), 2);
    let mut denied = maps(2);
    denied[0] = denied[0].replace("ConfigMap", "Secret");
    assert_eq!(words(&call.create_many(denied).await), ["denied"]);
    let mut wrong = maps(9);
    wrong[0] = "{".to_owned();
    assert_eq!(words(&call.create_many(wrong).await), ["invalid"]);
    assert!(call.create_many(Vec::new()).await.is_empty());
    assert_eq!(world.writes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_object_counts_as_one_request_and_a_call_makes_no_more_than_it_may() {
    let world = World::new().await;
    let mut call = world.call().await.limited_to(5);
    let answers = call.create_many(maps(10)).await;
    // Batches of 1, 2, and the 2 that are left.
    assert_eq!(words(&answers), after(5, &["other"]));
    assert_eq!(call.traffic().requests, 5);
    assert_eq!(world.writes().len(), 5);
}

/// All of a batch are refused for now, and each would be sent again.
#[tokio::test(start_paused = true)]
async fn what_is_sent_again_counts_too() {
    let world = World::new().await;
    for number in 0..16 {
        world
            .somebody("POST", MAPS, &config_map(&format!("m{number}"), &json!({})))
            .await;
    }
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    world.server.faults().switch_on(Switch {
        name: "busy".to_owned(),
        on: Matcher {
            verb: Some(Verb::Delete),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 7,
        times: 100,
        fault: Fault::Refuse(429),
    });
    let mut call = world.call().await.limited_to(17);
    let targets = (0..16).map(|number| (name(number), NO_OPTIONS));
    let answers = call.delete_many(targets.collect()).await;
    assert_eq!(words(&answers), after(7, &["unavailable"; 8]));
    assert_eq!(call.traffic().requests, 17, "7, 8, and 2 of those again");
}

#[tokio::test(start_paused = true)]
async fn more_than_a_call_takes_is_invalid_as_a_whole() {
    let world = World::new().await;
    let mut call = world.call().await.limited_to(10_000);
    assert_eq!(words(&call.create_many(maps(1001)).await), ["invalid"]);
    let large = config_map("large", &json!({ "a": "x".repeat(1 << 20) })).to_string();
    let large = vec![large; 9];
    assert_eq!(words(&call.create_many(large).await), ["invalid"]);
    assert_eq!(call.traffic().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn names_are_made_up_for_each_and_what_is_lost_is_read() {
    let world = World::new().await;
    world.server.faults().switch_on(Switch {
        name: "lost".to_owned(),
        on: Matcher {
            verb: Some(Verb::Create),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 2,
        times: 1,
        fault: Fault::ResetDone,
    });
    let mut call = world.call().await;
    let mut object = config_map("", &json!({}));
    object["metadata"] = json!({ "generateName": "run-", "namespace": "default" });
    let answers = call.create_many(vec![object.to_string(); 20]).await;
    assert_eq!(words(&answers), after(20, &[]));
    assert_eq!(world.writes().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn many_are_deleted_and_what_is_gone_does_not_stop_the_others() {
    let world = World::new().await;
    let mut call = world.call().await;
    call.create_many(maps(12)).await;
    world
        .somebody("DELETE", &format!("{MAPS}/m3"), &Value::Null)
        .await;
    let targets = |range: std::ops::Range<usize>| {
        let targets = range.map(|number| (name(number), NO_OPTIONS));
        targets.collect::<Vec<_>>()
    };
    let answers = call.delete_many(targets(0..10)).await;
    let mut want = after(10, &[]);
    want[3] = "not-found";
    assert_eq!(words(&answers), want);
    let left = world.read(MAPS).await.unwrap();
    assert_eq!(left["items"].as_array().unwrap().len(), 2);
    // Another object than the one that the call has made.
    let path = format!("{MAPS}/m10");
    world.somebody("DELETE", &path, &Value::Null).await;
    world
        .somebody("POST", MAPS, &config_map("m10", &json!({})))
        .await;
    let answers = call.delete_many(targets(10..12)).await;
    assert_eq!(words(&answers), ["conflict"]);
    let twice = vec![(name(5), NO_OPTIONS); 4];
    assert_eq!(words(&call.delete_many(twice).await), ["not-found"; 4]);
}

#[tokio::test(start_paused = true)]
async fn many_are_released_of_a_finalizer_that_a_grant_names() {
    let setting = Setting {
        adopts: true,
        ..Setting::default()
    };
    let world = World::new().await;
    let mut targets = Vec::new();
    for number in 0..5 {
        let mut map = config_map(&format!("m{number}"), &json!({}));
        map["metadata"]["finalizers"] = json!([HOLD, "theirs/keep"]);
        let made = world.somebody("POST", MAPS, &map).await;
        let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
        targets.push((name(number), uid));
    }
    let world = world.set(setting).await;
    let mut call = world.call().await;
    targets.push((name(99), "gone".to_owned()));
    let released = call.release_many(targets.clone(), HOLD.to_owned()).await;
    assert_eq!(words(&released), after(6, &[]));
    for number in 0..5 {
        let left = world.read(&format!("{MAPS}/m{number}")).await.unwrap();
        assert_eq!(left["metadata"]["finalizers"], json!(["theirs/keep"]));
    }
    let other = call.release_many(targets, "theirs/keep".to_owned()).await;
    assert_eq!(words(&other), ["denied"]);
}

/// What the plugin read says that the finalizer may go. What it did not see may say otherwise.
#[tokio::test(start_paused = true)]
async fn what_has_changed_since_the_call_read_it_is_not_released() {
    let setting = Setting {
        adopts: true,
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let mut targets = Vec::new();
    for number in 0..5 {
        let mut map = config_map(&format!("m{number}"), &json!({}));
        map["metadata"]["finalizers"] = json!([HOLD]);
        let made = world.somebody("POST", MAPS, &map).await;
        let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
        targets.push((name(number), uid));
    }
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    // The last one is not read.
    for number in 0..4 {
        let read = call.get(name(number), None, Consistency::Stored).await;
        assert!(read.is_ok(), "{number}");
    }
    let changed = json!({ "data": { "is": "done" } });
    let without = json!({ "metadata": { "finalizers": null } });
    for (number, change) in [(1, &changed), (2, &without), (4, &changed)] {
        let path = format!("{MAPS}/m{number}");
        world.somebody("PATCH", &path, change).await;
        if number == 1 {
            // The store shows this one before the plugin acts.
            world.refresh(&resource).await;
        }
    }
    world
        .somebody("PATCH", &format!("{MAPS}/m3"), &changed)
        .await;
    let released = call.release_many(targets, HOLD.to_owned()).await;
    assert_eq!(words(&released), ["ok", "conflict", "ok", "conflict", "ok"]);
    for (number, is_held) in [(0, false), (1, true), (2, false), (3, true), (4, false)] {
        let there = world.read(&format!("{MAPS}/m{number}")).await.unwrap();
        let finalizers = &there["metadata"]["finalizers"];
        assert_eq!(finalizers.is_array(), is_held, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_lease_nothing_is_created() {
    let mut world = World::new().await;
    let cluster = Arc::get_mut(&mut world.cluster).unwrap();
    // Nobody holds it.
    let gate = Gate::new(cluster.api.clock(), SECOND, 2 * SECOND);
    cluster.api = cluster.api.gated(gate);
    let mut call = world.call().await;
    assert_eq!(words(&call.create_many(maps(3)).await), ["unavailable"]);
    assert!(world.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn in_a_dry_run_each_is_answered_and_noted_and_nothing_is_sent() {
    let setting = Setting {
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let mut call = world.call().await;
    let made = call.create_many(maps(3)).await;
    assert_eq!(words(&made), after(3, &[]));
    let again = call.create_many(maps(3)).await;
    assert_eq!(words(&again), ["conflict"]);
    let targets = (0..3).map(|number| (name(number), NO_OPTIONS));
    let deleted = call.delete_many(targets.collect()).await;
    assert_eq!(words(&deleted), after(3, &[]));
    let noted = world.cluster.captured.all();
    let verbs: Vec<_> = noted.iter().map(|write| write.verb).collect();
    assert_eq!(verbs, [["create"; 3], ["delete"; 3]].concat());
    assert!(world.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_created_counts_on_the_account_until_the_call_ends() {
    let account = Account::new(Budget::new(usize::MAX), Bounds::NONE);
    let setting = Setting {
        account: account.clone(),
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let before = account.used();
    let mut call = world.call().await;
    assert_eq!(call.create_many(maps(40)).await.len(), 40);
    // The call has met them.
    assert!(account.used() >= before + 40 * 512);
    let held = account.used();
    let targets = (0..40).map(|number| (name(number), NO_OPTIONS));
    call.delete_many(targets.collect()).await;
    assert!(account.used() >= held);
}
