//! Whose the objects are that a set names: what somebody else made is never taken, changed or deleted.

use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use super::set::{MAPS, child, errors, names, refresh, set, set_for};
use super::*;

/// The UID of the Greeting `name`.
pub(super) async fn uid_of(world: &World, name: &str) -> String {
    world.call_for(name).await.primary().uid.clone()
}

pub(super) fn owner(kind: &str, name: &str, uid: &str) -> Value {
    let api_version = match kind {
        "Greeting" => "examples.windlass.dev/v1",
        _ => "apps/v1",
    };
    json!([{ "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true }])
}

/// `a`, as somebody makes it.
fn theirs(labels: &Value, owners: &Value) -> Value {
    let mut object = config_map("a", &json!({ "word": "theirs" }));
    object["metadata"]["labels"] = labels.clone();
    object["metadata"]["ownerReferences"] = owners.clone();
    object
}

async fn a(world: &World) -> Value {
    world.read(&format!("{MAPS}/a")).await.unwrap()
}

pub(super) const CONFLICT: &str = "conflict";

/// What `why` says of the conflicts of the last call about `ada`.
async fn said(world: &World) -> Vec<String> {
    let key = Key::new(Some("default"), "ada");
    world.cluster.view.ends(&key).conflicts
}

#[tokio::test(start_paused = true)]
async fn what_somebody_made_is_a_conflict_and_stays_whatever_it_carries() {
    let label = json!({ "windlass.dev/set": "greeter" });
    let world = World::new().await;
    let (ada, bob) = (uid_of(&world, "ada").await, uid_of(&world, "bob").await);
    let rows = [
        (json!({}), json!([]), "was not made by greeter"),
        (label.clone(), json!([]), "was not made by greeter"),
        (
            json!({}),
            owner("Greeting", "ada", &ada),
            "was not made by greeter",
        ),
        // A copy of a member.
        (
            label.clone(),
            owner("Greeting", "ada", &ada),
            "was not made by greeter",
        ),
        (
            label,
            owner("Greeting", "bob", &bob),
            "is controlled by Greeting bob",
        ),
        (
            json!({}),
            owner("ReplicaSet", "web", "w"),
            "is controlled by ReplicaSet web",
        ),
    ];
    for (labels, owners, reason) in rows {
        for is_seen in [true, false] {
            let world = World::new().await;
            let made = theirs(&labels, &owners);
            let before = world.somebody("POST", MAPS, &made).await;
            if is_seen {
                refresh(&world).await;
            }
            let answer = set(&world, &["a", "b"]).await;
            assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())], "{made}");
            assert_eq!(a(&world).await, before, "seen {is_seen}");
            let said = said(&world).await;
            let want = format!("ConfigMap default/a {reason}: ");
            assert!(said.len() == 1 && said[0].starts_with(&want), "{said:?}");
            // Neither does an empty set delete it, with a new host either.
            let world = world.restarted().await;
            set(&world, &[]).await.unwrap();
            assert_eq!(a(&world).await, before);
            assert_eq!(names(&world).await, ["a"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_an_event_and_is_looked_at_again_when_the_object_goes() {
    let world = World::new().await;
    let made = theirs(&json!({}), &owner("ReplicaSet", "web", "w"));
    world.somebody("POST", MAPS, &made).await;
    refresh(&world).await;
    set(&world, &["a"]).await.unwrap_err();
    let clock = world.cluster.api.clock();
    clock.sleep(std::time::Duration::from_secs(1)).await;
    let events = world
        .read("/apis/events.k8s.io/v1/namespaces/default/events")
        .await
        .unwrap();
    let events = events["items"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    assert_eq!(
        json!([
            event["reason"],
            event["type"],
            event["regarding"]["name"],
            event["related"]["name"]
        ]),
        json!(["ChildConflict", "Warning", "ada", "a"])
    );
    assert_eq!(
        event["note"],
        "ConfigMap default/a is controlled by ReplicaSet web: choose another name for the child, or delete one of the two"
    );
    world.woken.lock().clear();
    world
        .somebody("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    refresh(&world).await;
    let woken = world.woken.lock().clone();
    assert_eq!(woken, [Key::new(Some("default"), "ada")]);
    set(&world, &["a"]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_member_is_sent_for_no_version_and_a_former_one_for_its_uid() {
    let world = World::new().await;
    set(&world, &["a"]).await.unwrap();
    refresh(&world).await;
    let changed = config_map("a", &json!({ "of": "somebody else" }));
    set_for(&world, "ada", &[changed]).await.unwrap();
    let sent: Vec<Value> = world
        .writes()
        .iter()
        .map(|record| serde_json::from_slice(&record.sent.1).unwrap())
        .collect();
    let conditions: Vec<_> = sent
        .iter()
        .map(|object| {
            let metadata = &object["metadata"];
            json!([metadata["resourceVersion"], metadata["uid"]])
        })
        .collect();
    let uid = &a(&world).await["metadata"]["uid"];
    assert_eq!(conditions, [json!(["1", null]), json!([null, uid])]);
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_answer_was_lost_is_no_conflict() {
    for (fault, times) in [
        (Fault::ResetDone, 1),
        (Fault::RefuseDone(503), 1),
        (Fault::RefuseDone(503), 3),
    ] {
        let world = World::new().await;
        world.server.faults().switch_on(Switch {
            name: "lost".to_owned(),
            on: Matcher {
                verb: Some(Verb::Patch),
                plural: Some("configmaps".to_owned()),
                user: None,
                ..Matcher::default()
            },
            from: 0,
            times,
            fault: fault.clone(),
        });
        let first = set(&world, &["a"]).await;
        let before = a(&world).await;
        match times {
            1 => drop(first.unwrap()),
            // The refusal of the repeated write has settled that it is there.
            _ => drop(first),
        }
        let world = world.restarted().await;
        set(&world, &["a"]).await.unwrap();
        let after = a(&world).await;
        assert_eq!(
            after["metadata"]["uid"], before["metadata"]["uid"],
            "{fault:?}"
        );
        set(&world, &[]).await.unwrap();
        assert!(names(&world).await.is_empty(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_takes_the_place_of_a_member_is_not_taken() {
    let world = World::new().await;
    set(&world, &["a"]).await.unwrap();
    refresh(&world).await;
    // The view has not seen any of that.
    world
        .somebody("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    let made = theirs(&json!({}), &json!([]));
    let before = world.somebody("POST", MAPS, &made).await;
    let changed = config_map("a", &json!({ "of": "the plugin" }));
    let answer = set_for(&world, "ada", &[changed]).await;
    assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())]);
    assert_eq!(a(&world).await, before);
    world
        .somebody("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    set(&world, &["a"]).await.unwrap_err();
    refresh(&world).await;
    set(&world, &["a"]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_member_that_has_lost_its_owner_is_taken_back() {
    let world = World::new().await;
    set(&world, &["a"]).await.unwrap();
    let disown = json!({ "metadata": { "ownerReferences": null } });
    world.somebody("PATCH", &format!("{MAPS}/a"), &disown).await;
    refresh(&world).await;
    set(&world, &["a"]).await.unwrap();
    let owners = &a(&world).await["metadata"]["ownerReferences"];
    assert_eq!(owners[0]["name"], "ada");
}

#[tokio::test(start_paused = true)]
async fn with_adopt_what_nobody_controls_is_taken_and_never_deleted() {
    let adopts = || Setting {
        adopts: true,
        ..Setting::default()
    };
    let world = World::new().await.set(adopts()).await;
    let made = theirs(&json!({ "their": "label" }), &json!([]));
    world.somebody("POST", MAPS, &made).await;
    refresh(&world).await;
    let wanted = config_map("a", &json!({ "word": "ours" }));
    set_for(&world, "ada", &[wanted.clone(), child("b")])
        .await
        .unwrap();
    let taken = a(&world).await;
    let metadata = &taken["metadata"];
    assert_eq!(
        (
            &taken["data"]["word"],
            &metadata["ownerReferences"][0]["name"]
        ),
        (&json!("ours"), &json!("ada"))
    );
    let labels =
        json!({ "their": "label", "windlass.dev/set": "greeter", "windlass.dev/adopted": "true" });
    assert_eq!(metadata["labels"], labels);
    // It is the set's from now on, also without the grant, and after a restart.
    let world = world.set(Setting::default()).await;
    let wanted = config_map("a", &json!({ "word": "ours again" }));
    set_for(&world, "ada", &[wanted]).await.unwrap();
    assert_eq!(names(&world).await, ["a"], "b was made by the host");
    assert_eq!(a(&world).await["metadata"]["labels"], labels);
    let world = world.restarted().await;
    set(&world, &[]).await.unwrap();
    let released = a(&world).await;
    let metadata = &released["metadata"];
    assert_eq!(metadata["labels"], json!({ "their": "label" }));
    assert_eq!(metadata["ownerReferences"], Value::Null);
    assert_eq!(released["data"], json!({ "word": "ours again" }));
}

#[tokio::test(start_paused = true)]
async fn with_adopt_what_another_object_controls_is_a_conflict_all_the_same() {
    let adopts = Setting {
        adopts: true,
        ..Setting::default()
    };
    let world = World::new().await.set(adopts).await;
    set(&world, &["a"]).await.unwrap();
    let before = a(&world).await;
    let answer = set_for(&world, "bob", &[child("a")]).await;
    assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())]);
    assert_eq!(a(&world).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_smoke_test_finds_the_same_conflicts() {
    let smoke = Setting {
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let world = World::new().await.set(smoke).await;
    world
        .somebody("POST", MAPS, &theirs(&json!({}), &json!([])))
        .await;
    refresh(&world).await;
    let answer = set(&world, &["a", "b"]).await;
    assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())]);
    assert!(world.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_read_another_object_takes_none() {
    let world = World::new().await;
    let read = world.somebody("POST", MAPS, &child("a")).await;
    let mut call = world.call().await;
    let target = reference("v1", "ConfigMap", "a");
    let latest = parsed(call.get(target, None, Consistency::Latest).await);
    assert_eq!(latest["metadata"]["uid"], read["metadata"]["uid"]);
    world
        .somebody("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    let answer = call.apply_set(vec![child("a").to_string()]).await;
    assert_eq!(errors(answer), [(Some(0), CONFLICT.to_owned())]);
    assert!(names(&world).await.is_empty());
}
