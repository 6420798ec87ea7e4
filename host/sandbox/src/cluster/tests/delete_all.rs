//! `delete-all` on the embedded server.

use std::time::Duration;

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;
use crate::bindings::cluster::ListQuery;
use windlass_base::memory::{Bounds, Budget};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const VERBS: &[&str] = &["get", "list", "watch", "create", "deletecollection"];

fn all(selector: &str) -> ListQuery {
    ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some("default".into()),
        label_selector: Some(selector.into()),
        field_selector: None,
        limit: None,
        consistency: Consistency::Stored,
    }
}

/// A host whose plugin may delete ConfigMaps, of which there are two that are red and one that is blue.
async fn world(setting: Setting) -> World {
    let world = World::new().await;
    for (name, color) in [("one", "red"), ("two", "red"), ("three", "blue")] {
        let mut map = config_map(name, &json!({}));
        map["metadata"]["labels"] = json!({ "color": color });
        world.somebody("POST", MAPS, &map).await;
    }
    world.set(setting).await
}

fn setting() -> Setting {
    Setting {
        verbs: VERBS,
        ..Setting::default()
    }
}

/// The ConfigMaps that the plugin sees.
async fn names(call: &mut Call) -> Vec<String> {
    let listed = call.list(all("color")).await.unwrap();
    let name = |text: &String| {
        let object: Value = serde_json::from_str(text).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let mut names: Vec<String> = listed.iter().map(name).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn it_deletes_what_matches_in_one_request_and_sees_what_is_left() {
    let world = world(setting()).await;
    let mut call = world.call().await;
    assert_eq!(names(&mut call).await, ["one", "three", "two"]);
    world.woken.lock().clear();
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["three"]);
    assert_eq!(call.traffic().requests, 1);
    // They are the call's own deletes: nobody runs again, and they are told.
    assert_eq!(*world.woken.lock(), []);
    let journal = world.cluster.view.ends(&call.primary().key);
    assert_eq!(journal.writes.len(), 2);
    // What is deleted can be made again, and none that match is fine.
    let made = call.create(config_map("one", &json!({})).to_string()).await;
    assert!(made.is_ok(), "{made:?}");
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["three"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_with_finalizers_is_seen_to_go() {
    let world = world(setting()).await;
    let held = json!({ "metadata": { "finalizers": ["example.com/a"] } });
    world.somebody("PATCH", &format!("{MAPS}/one"), &held).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let mut call = world.call().await;
    assert_eq!(names(&mut call).await.len(), 3);
    world.woken.lock().clear();
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["one", "three"]);
    let one = call.get(
        reference("v1", "ConfigMap", "one"),
        None,
        Consistency::Stored,
    );
    assert!(parsed(one.await)["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(*world.woken.lock(), []);
    // That somebody else lets it go is news.
    let released = json!({ "metadata": { "finalizers": null } });
    world
        .somebody("PATCH", &format!("{MAPS}/one"), &released)
        .await;
    world.refresh(&resource).await;
    assert!(!world.woken.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_field_selector_spares_what_it_does_not_select() {
    let world = world(setting()).await;
    let mut call = world.call().await;
    let query = ListQuery {
        field_selector: Some("metadata.name=two".into()),
        ..all("color")
    };
    world.woken.lock().clear();
    call.delete_all(query, NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["one", "three"]);
    assert_eq!(*world.woken.lock(), []);
}

#[tokio::test(start_paused = true)]
async fn what_others_do_meanwhile_is_news() {
    let world = world(setting()).await;
    let mut call = world.call().await;
    assert_eq!(names(&mut call).await.len(), 3);
    // Deleted by somebody else, which the store has not seen yet, and made again.
    let one = format!("{MAPS}/one");
    world.somebody("DELETE", &one, &Value::Null).await;
    let mut map = config_map("one", &json!({}));
    map["metadata"]["labels"] = json!({ "color": "blue" });
    world.somebody("POST", MAPS, &map).await;
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["one", "three"]);
    assert!(world.woken.lock().contains(&call.primary().key));
}

#[tokio::test(start_paused = true)]
async fn a_query_or_options_that_cannot_be_of_many_objects_are_invalid() {
    let world = world(setting()).await;
    let mut call = world.call().await;
    let with = |change: fn(&mut ListQuery)| {
        let mut query = all("color");
        change(&mut query);
        query
    };
    let queries = [
        with(|query| query.limit = Some(1)),
        with(|query| query.label_selector = Some("((".into())),
        with(|query| query.namespace = Some("a/b".into())),
        with(|query| query.field_selector = Some("x".repeat(5000))),
    ];
    for query in queries {
        let answer = call.delete_all(query.clone(), NO_OPTIONS).await;
        assert!(
            matches!(answer, Err(Error::Invalid(_))),
            "{query:?} {answer:?}"
        );
    }
    let options = [
        DeleteOptions {
            uid: Some("u".into()),
            ..NO_OPTIONS
        },
        DeleteOptions {
            resource_version: Some("1".into()),
            ..NO_OPTIONS
        },
    ];
    for options in options {
        let answer = call.delete_all(all("color"), options).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
    }
    // A grant for all namespaces would be needed first.
    let everywhere = with(|query| query.namespace = None);
    let answer = call.delete_all(everywhere, NO_OPTIONS).await;
    assert!(matches!(answer, Err(Error::Denied(_))), "{answer:?}");
    let namespaces = ListQuery {
        kind: "Namespace".into(),
        ..all("color")
    };
    let answer = call.delete_all(namespaces, NO_OPTIONS).await;
    assert!(matches!(answer, Err(Error::Denied(_))), "{answer:?}");
    assert_eq!(world.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_options_are_sent() {
    let world = world(setting()).await;
    let mut call = world.call().await;
    let options = DeleteOptions {
        propagation: Some(crate::bindings::cluster::Propagation::Foreground),
        ..NO_OPTIONS
    };
    call.delete_all(all("color=red"), options).await.unwrap();
    let one = world.read(&format!("{MAPS}/one")).await.unwrap();
    assert_eq!(one["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

/// The server has deleted, and its answer is lost.
#[tokio::test(start_paused = true)]
async fn a_delete_without_an_answer_is_sent_again() {
    let world = world(setting()).await;
    world.server.faults().switch_on(Switch {
        name: "lost".to_owned(),
        on: Matcher {
            verb: Some(Verb::DeleteCollection),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault: Fault::ResetDone,
    });
    let mut call = world.call().await;
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["three"]);
}

/// The watch is late: the call goes on, and the next run of the key waits.
#[tokio::test(start_paused = true)]
async fn a_store_that_stays_behind_holds_the_next_run_and_not_the_call() {
    let world = world(setting()).await;
    world.server.faults().switch_on(Switch {
        name: "slow".to_owned(),
        on: Matcher {
            verb: Some(Verb::List),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault: Fault::Late(Duration::from_secs(8)),
    });
    let clock = world.cluster.api.clock();
    let began = clock.now();
    let mut call = world.call().await;
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!((clock.now() - began).as_secs(), 5);
    let view = world.cluster.view.clone();
    view.catch_up(&call.primary().key).await;
    assert!((clock.now() - began).as_secs() >= 5);
    assert_eq!(names(&mut call).await, ["three"]);
}

#[tokio::test(start_paused = true)]
async fn deletes_that_are_not_meant_are_shown_and_not_sent() {
    let world = world(Setting {
        writes: WriteMode::Captured,
        ..setting()
    })
    .await;
    let mut call = world.call().await;
    call.delete_all(all("color=red"), NO_OPTIONS).await.unwrap();
    assert_eq!(names(&mut call).await, ["three"]);
    let captured = world.cluster.captured.all();
    assert_eq!(captured.len(), 1);
    assert_eq!(
        (captured[0].verb, &*captured[0].key.name),
        ("delete-all", "*")
    );
    assert_eq!(
        captured[0].body,
        Some(json!({ "labelSelector": "color=red" }))
    );
    assert_eq!(world.writes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_it_remembers_is_given_back() {
    let account = Account::new(Budget::new(usize::MAX), Bounds::NONE);
    let world = world(Setting {
        account: account.clone(),
        ..setting()
    })
    .await;
    let before = account.used();
    let mut call = world.call().await;
    call.delete_all(all("color"), NO_OPTIONS).await.unwrap();
    drop(call);
    assert_eq!(account.used(), before);
}
