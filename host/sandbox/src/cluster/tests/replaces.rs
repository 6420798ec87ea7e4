//! `spec.replaces` on the embedded server.

use std::collections::BTreeSet;

use super::set::{MAPS, names, refresh, set};
use super::*;

const ADA: &str = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";

fn replacing() -> Setting {
    Setting {
        replaces: &["old"],
        ..Setting::default()
    }
}

/// A ConfigMap that the earlier operator made for `ada`, if `owned`.
async fn made_by_old(world: &World, name: &str, owned: bool) {
    let mut map = config_map(name, &json!({ "kept": "1", "dropped": "2" }));
    map["metadata"]["finalizers"] = json!(["example.com/held"]);
    if owned {
        let uid = world.call().await.primary().uid.clone();
        map["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": "ada", "uid": uid,
            "controller": true,
        }]);
    }
    let path = format!("{MAPS}?fieldManager=old");
    world.somebody("POST", &path, &map).await;
    refresh(world).await;
}

fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let entries = entries.iter().map(|entry| {
        format!(
            "{} {}",
            entry["manager"].as_str().unwrap(),
            entry["operation"].as_str().unwrap()
        )
    });
    entries.collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_plugin_does_not_apply_goes_but_finalizers_stay() {
    let world = World::new().await.set(replacing()).await;
    made_by_old(&world, "m", false).await;
    let map = config_map("m", &json!({ "kept": "1" }));
    for writes in [2, 2] {
        let mut call = world.call().await;
        call.apply(map.to_string()).await.unwrap();
        // The change of its managers, and the apply; then nothing.
        assert_eq!(world.writes().len(), writes);
        refresh(&world).await;
    }
    let now = world.read(&format!("{MAPS}/m")).await.unwrap();
    assert_eq!(now["data"], json!({ "kept": "1" }));
    assert_eq!(now["metadata"]["finalizers"], json!(["example.com/held"]));
    let uid = world.call().await.primary().uid.clone();
    let own = format!(
        "{} Apply",
        windlass_kube::object::manager_for("greeter", &uid)
    );
    assert_eq!(managers(&now), [&*own, "old Update"]);
    // Without `replaces`, what the other wrote stays.
    let world = world.restarted().await;
    made_by_old(&world, "n", false).await;
    let map = config_map("n", &json!({ "kept": "1" }));
    let mut call = world.call().await;
    call.apply(map.to_string()).await.unwrap();
    let now = world.read(&format!("{MAPS}/n")).await.unwrap();
    assert_eq!(now["data"], json!({ "kept": "1", "dropped": "2" }));
}

#[tokio::test(start_paused = true)]
async fn a_status_is_taken_over_by_itself() {
    let world = World::new().await.set(replacing()).await;
    let patch = json!({ "status": { "text": "Hi", "observedGeneration": 7 } });
    let path = format!("{ADA}/status?fieldManager=old");
    world.somebody("PATCH", &path, &patch).await;
    let path = format!("{ADA}?fieldManager=old");
    let label = json!({ "metadata": { "labels": { "by": "old" } } });
    world.somebody("PATCH", &path, &label).await;
    let resource = world.resource("examples.windlass.dev/v1", "Greeting").await;
    world.refresh(&resource).await;
    let status = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
        "metadata": { "name": "ada", "namespace": "default" }, "status": { "text": "Hello" },
    });
    let mut call = world.call().await;
    call.apply_status(status.to_string()).await.unwrap();
    let now = world.read(ADA).await.unwrap();
    assert_eq!(now["status"], json!({ "text": "Hello" }));
    assert_eq!(now["metadata"]["labels"], json!({ "by": "old" }));
    assert_eq!(now["spec"]["name"], "ada");
}

#[tokio::test(start_paused = true)]
async fn a_set_takes_the_children_of_the_earlier_operator() {
    let world = World::new().await.set(replacing()).await;
    made_by_old(&world, "own", true).await;
    made_by_old(&world, "other", false).await;
    let refused = set(&world, &["own", "other"]).await.unwrap_err();
    assert_eq!(refused.len(), 1, "the other has no owner: {refused:?}");
    assert_eq!(refused[0].index, Some(1));
    let taken = world.read(&format!("{MAPS}/own")).await.unwrap();
    assert_eq!(taken["data"], json!({ "of": "own" }));
    assert_eq!(
        taken["metadata"]["labels"],
        json!({ "windlass.dev/set": "greeter" })
    );
    // It is a member like any other: without it, it is deleted, as soon as nobody holds it.
    refresh(&world).await;
    let free = json!({ "metadata": { "finalizers": null } });
    world.somebody("PATCH", &format!("{MAPS}/own"), &free).await;
    refresh(&world).await;
    set(&world, &[]).await.unwrap();
    assert_eq!(names(&world).await, ["other"]);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_observes_is_told_what_the_takeover_removes() {
    let world = World::new().await;
    made_by_old(&world, "m", false).await;
    let labels = json!({ "metadata": { "labels": { "theirs": "1" } } });
    world.somebody("PATCH", &format!("{MAPS}/m"), &labels).await;
    let setting = Setting {
        writes: WriteMode::Observed,
        ..replacing()
    };
    let world = world.set(setting).await;
    refresh(&world).await;
    let before = world.server.history().records().len();
    let map = config_map("m", &json!({ "kept": "2", "new": "3" }));
    let mut call = world.call().await;
    call.apply(map.to_string()).await.unwrap();
    let key = Key::new(Some("default"), "ada");
    let writes = world.cluster.view.ends(&key).writes;
    let fields = writes[0].end.differences().iter();
    let paths: BTreeSet<&str> = fields.map(|it| &*it.path).collect();
    assert_eq!(
        Vec::from_iter(paths),
        [".data.dropped", ".data.kept", ".data.new"]
    );
    assert_eq!(world.server.history().records().len(), before);
}
