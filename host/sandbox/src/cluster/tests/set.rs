//! `apply-set` on the embedded server.

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::*;
use crate::bindings::cluster::SetError;
use windlass_view::Saw;

pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(super) fn child(name: &str) -> Value {
    config_map(name, &json!({ "of": name }))
}

pub(super) async fn set_for(
    world: &World,
    primary: &str,
    children: &[Value],
) -> Result<Vec<String>, Vec<SetError>> {
    let mut call = world.call_for(primary).await;
    call.apply_set(children.iter().map(Value::to_string).collect())
        .await
}

pub(super) async fn set(world: &World, names: &[&str]) -> Result<Vec<String>, Vec<SetError>> {
    let children: Vec<_> = names.iter().map(|name| child(name)).collect();
    set_for(world, "ada", &children).await
}

/// The ConfigMaps that there are.
pub(super) async fn names(world: &World) -> Vec<String> {
    let list = world.read(MAPS).await.unwrap();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(super) async fn refresh(world: &World) {
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
}

/// Where the errors are, and what they are.
pub(super) fn errors(answer: Result<Vec<String>, Vec<SetError>>) -> Vec<(Option<u32>, String)> {
    let shown = |error: &Error| {
        let message = error.refusal().map(|refusal| refusal.message.clone());
        [error.word().to_owned()]
            .into_iter()
            .chain(message.filter(|_| !matches!(error, Error::Conflict(_))))
            .collect::<Vec<_>>()
            .join(": ")
    };
    let errors = answer.unwrap_err().into_iter();
    errors
        .map(|error| (error.index, shown(&error.error)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn children_are_owned_marked_and_answered_in_the_order_given() {
    let world = World::new().await;
    let kept = set(&world, &["b", "a"]).await.unwrap();
    let uid = world.call().await.primary().uid.clone();
    for (text, name) in kept.iter().zip(["b", "a"]) {
        let object: Value = serde_json::from_str(text).unwrap();
        let metadata = &object["metadata"];
        assert_eq!(metadata["name"], name);
        assert_eq!(metadata["labels"], json!({ "windlass.dev/set": "greeter" }));
        assert_eq!(
            metadata["ownerReferences"],
            json!([{ "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
                "uid": uid, "controller": true, "blockOwnerDeletion": true }])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_leaves_the_set_is_deleted_and_nothing_else() {
    let world = World::new().await;
    set(&world, &["a", "b", "c"]).await.unwrap();
    set_for(&world, "bob", &[child("bobs")]).await.unwrap();
    let mut call = world.call().await;
    let mut own = child("applied");
    own["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada",
        "uid": call.primary().uid,
    }]);
    call.apply(own.to_string()).await.unwrap();
    own["metadata"]["name"] = json!("created");
    call.create(own.to_string()).await.unwrap();
    let mut marked = child("marked");
    marked["metadata"]["labels"] = json!({ "windlass.dev/set": "greeter" });
    world.somebody("POST", MAPS, &marked).await;
    refresh(&world).await;
    set(&world, &["b"]).await.unwrap();
    assert_eq!(
        names(&world).await,
        ["applied", "b", "bobs", "created", "marked"]
    );
    let (view, ada) = (&world.cluster.view, call.primary().key.clone());
    view.begins(&ada);
    set(&world, &[]).await.unwrap();
    let reads = view.ends(&ada).reads;
    let mut seen = reads
        .iter()
        .filter(|saw| !matches!(saw, Saw::List { count: 0, .. }));
    let one = matches!(seen.next(), Some(Saw::List { count: 1, .. }));
    assert!(one && seen.next().is_none(), "{reads:?}");
    assert_eq!(
        names(&world).await,
        ["applied", "bobs", "created", "marked"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_former_set_is_known_also_after_a_restart() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let world = world.restarted().await;
    set(&world, &["a"]).await.unwrap();
    assert_eq!(names(&world).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_set_costs_no_request() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    refresh(&world).await;
    let mut call = world.call().await;
    let children = ["a", "b"].map(|name| child(name).to_string());
    call.apply_set(children.to_vec()).await.unwrap();
    assert_eq!(call.traffic().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_apply_nothing_is_deleted_and_every_other_child_is_applied() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let wrong = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "wrong", "namespace": "default" }, "data": { "no key": "" },
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" },
    });
    let answer = set_for(&world, "ada", &[wrong, child("c"), secret, child("d")]).await;
    let errors = errors(answer);
    let places: Vec<_> = errors.iter().map(|(index, _)| *index).collect();
    assert_eq!(places, [Some(0), Some(2)]);
    assert!(
        errors[0].1.starts_with("invalid") && errors[1].1.starts_with("denied"),
        "{errors:?}"
    );
    assert_eq!(names(&world).await, ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_before_everything_is_seen_and_then_the_key_runs_again() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let blind = Setting {
        sees_maps: false,
        ..Setting::default()
    };
    let world = world.set(blind).await;
    // One list is in, but perhaps not the others: what is seen is not all.
    refresh(&world).await;
    assert_eq!(
        set(&world, &["a"]).await.unwrap().len(),
        1,
        "as if all were well"
    );
    assert_eq!(names(&world).await, ["a", "b"]);
    world.woken.lock().clear();
    world.watch("v1", "ConfigMap").await;
    let woken: Vec<_> = world.woken.lock().iter().map(Key::to_string).collect();
    assert!(woken.contains(&"default/ada".to_owned()), "{woken:?}");
    set(&world, &["a"]).await.unwrap();
    assert_eq!(names(&world).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_deleted_gives_an_event_and_no_silence() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let no_delete = Setting {
        verbs: &["get", "list", "watch", "create", "patch"],
        ..Setting::default()
    };
    let world = world.set(no_delete).await;
    set(&world, &["a"]).await.unwrap();
    assert_eq!(names(&world).await, ["a", "b"]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "namespace": "default" },
        "spec": { "ports": [{ "port": 80 }] },
    });
    set_for(&world, "bob", &[service]).await.unwrap();
    world
        .cluster
        .api
        .clock()
        .sleep(std::time::Duration::from_secs(1))
        .await;
    let events = world
        .read("/apis/events.k8s.io/v1/namespaces/default/events")
        .await;
    let events = events.unwrap()["items"].as_array().unwrap().clone();
    let notes: Vec<_> = events
        .iter()
        .map(|event| {
            assert_eq!(
                (&event["reason"], &event["type"]),
                (&json!("ChildrenKept"), &json!("Warning"))
            );
            let about = event["regarding"]["name"].as_str().unwrap();
            format!("{about}: {}", event["note"].as_str().unwrap())
        })
        .collect();
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("ada: configmaps") && note.contains("since delete is")),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("bob: services") && note.contains("since watch is")),
        "{notes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_child_that_cannot_be_owned_is_invalid() {
    let world = World::new().await;
    let mut away = child("away");
    away["metadata"]["namespace"] = json!("away");
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
    for wrong in [away, namespace] {
        let errors = errors(set_for(&world, "ada", &[child("a"), wrong]).await);
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0].0 == Some(1) && errors[0].1.contains("cannot own"),
            "{errors:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_is_whole_once_in_a_call_and_bounded() {
    let world = World::new().await;
    let mut call = world.call().await;
    call.apply_set(Vec::new()).await.unwrap();
    let again = errors(call.apply_set(vec![child("a").to_string()]).await);
    assert!(
        again[0].0.is_none() && again[0].1.contains("one set"),
        "{again:?}"
    );
    let twice = errors(set(&world, &["a", "b", "a"]).await);
    assert!(
        twice[0].0 == Some(2) && twice[0].1.contains("twice"),
        "{twice:?}"
    );
    let many = errors(
        world
            .call()
            .await
            .apply_set(vec![String::new(); 1_001])
            .await,
    );
    assert!(
        many[0].0.is_none() && many[0].1.contains("1000 is the most"),
        "{many:?}"
    );
    let large = vec!["x".repeat(1 << 20); 9];
    let large = errors(world.call().await.apply_set(large).await);
    assert!(
        large[0].0.is_none() && large[0].1.contains("8 MiB"),
        "{large:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_former_child_that_somebody_changes_is_looked_at_again() {
    let world = World::new().await;
    set(&world, &["status", "given-away"]).await.unwrap();
    // The view has not seen any of that.
    let change = json!({ "metadata": { "annotations": { "theirs": "1" } } });
    world
        .somebody("PATCH", &format!("{MAPS}/status"), &change)
        .await;
    let release = json!({ "metadata": { "labels": { "windlass.dev/set": null } } });
    world
        .somebody("PATCH", &format!("{MAPS}/given-away"), &release)
        .await;
    set(&world, &[]).await.unwrap();
    assert_eq!(names(&world).await, ["given-away"]);
}

#[tokio::test(start_paused = true)]
async fn a_former_child_is_deleted_only_as_the_object_that_it_was() {
    let world = World::new().await;
    set(&world, &["a"]).await.unwrap();
    world
        .somebody("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    world.somebody("POST", MAPS, &child("a")).await;
    set(&world, &[]).await.unwrap();
    assert_eq!(names(&world).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_fails_is_an_error_of_no_child() {
    let world = World::new().await;
    set(&world, &["a", "b", "c"]).await.unwrap();
    world.server.faults().switch_on(Switch {
        name: "forbidden".to_owned(),
        on: Matcher {
            verb: Some(Verb::Delete),
            plural: Some("configmaps".to_owned()),
            user: None,
            ..Matcher::default()
        },
        from: 0,
        times: 1,
        fault: Fault::Refuse(403),
    });
    let errors = errors(set(&world, &["c"]).await);
    let text = "other: this fault was made on purpose";
    assert_eq!(errors, [(None, text.to_owned())]);
    assert_eq!(names(&world).await, ["a", "c"], "the others are deleted");
}

#[tokio::test(start_paused = true)]
async fn a_primary_that_goes_gets_no_children_but_may_let_them_go() {
    let world = World::new().await;
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let keep = json!({ "metadata": { "finalizers": ["windlass.dev/greeter"] } });
    world.somebody("PATCH", greeting, &keep).await;
    set(&world, &["a", "b"]).await.unwrap();
    world.somebody("DELETE", greeting, &Value::Null).await;
    let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
    world.refresh(&resource).await;
    assert_eq!(
        errors(set(&world, &["a"]).await),
        [(None, "gone".to_owned())]
    );
    set(&world, &[]).await.unwrap();
    assert!(names(&world).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_smoke_test_applies_no_set_and_deletes_nothing() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let smoke = Setting {
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let world = world.set(smoke).await;
    let before = world.writes().len();
    let kept = set(&world, &["a", "c"]).await.unwrap();
    assert!(kept[1].contains("\"uid\""), "{kept:?}");
    assert_eq!(world.writes().len(), before);
}

#[tokio::test(start_paused = true)]
async fn an_object_of_another_primarys_set_is_not_fought_over() {
    let world = World::new().await;
    set(&world, &["shared"]).await.unwrap();
    let answer = set_for(&world, "bob", &[child("bobs"), child("shared")]).await;
    assert_eq!(errors(answer), [(Some(1), "conflict".to_owned())]);
    let shared = world.read(&format!("{MAPS}/shared")).await.unwrap();
    assert_eq!(shared["metadata"]["ownerReferences"][0]["name"], "ada");
    assert_eq!(names(&world).await, ["bobs", "shared"]);
}

#[tokio::test(start_paused = true)]
async fn a_primary_that_was_made_anew_takes_its_children_over() {
    let world = World::new().await;
    set(&world, &["a", "b"]).await.unwrap();
    let greeting = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let again = world.read(greeting).await.unwrap()["spec"].clone();
    world.somebody("DELETE", greeting, &Value::Null).await;
    let again = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
        "metadata": { "name": "ada" }, "spec": again,
    });
    world
        .somebody("POST", greeting.trim_end_matches("/ada"), &again)
        .await;
    let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
    world.refresh(&resource).await;
    let kept = set(&world, &["a"]).await.unwrap();
    let uid = world.call().await.primary().uid.clone();
    assert!(kept[0].contains(&uid), "{kept:?}");
    // What it does not name is not its own: the garbage collector takes it.
    assert_eq!(names(&world).await, ["a", "b"]);
}
