//! What `reconcile` makes of a Greeting, and that it keeps it so.

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_e2e::{
    ALL, Acknowledge, Cluster, DEADLINE, Greeter, Line, Plugins, Scene, control_plane, eventually,
    for_each_greeter,
};

use crate::lifecycle::{OURS, read, uid};

for_each_greeter!(Result<()> =>
    a_created_greeting_gets_children_that_it_owns_a_status_and_an_entry,
    a_changed_spec_reaches_the_children_the_status_and_the_entry,
    a_child_that_is_deleted_by_hand_is_restored,
    a_child_that_is_edited_by_hand_is_repaired,
    a_child_of_an_earlier_set_is_deleted_and_no_other,
    what_is_there_and_right_is_not_written_again,
);

async fn a_created_greeting_gets_children_that_it_owns_a_status_and_an_entry(
    greeter: Greeter,
) -> Result<()> {
    let scene = Scene::greeter(greeter, "created").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    let metadata = &greeting["metadata"];
    assert_eq!(metadata["finalizers"], json!([OURS]));
    let owner = json!([{
        "apiVersion": "examples.windlass.dev/v1",
        "kind": "Greeting",
        "name": "ada",
        "uid": metadata["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let map = read(cluster, "ConfigMap", "ada-greeting").await?;
    assert_eq!(map["metadata"]["ownerReferences"], owner);
    assert_eq!(map["data"], json!({ "index.html": "Hello, Ada!" }));
    let deployment = read(cluster, "Deployment", "ada-greeting").await?;
    assert_eq!(deployment["metadata"]["ownerReferences"], owner);
    assert_eq!(deployment["spec"]["replicas"], 1);
    let status = &greeting["status"];
    assert_eq!(status["observedGeneration"], metadata["generation"]);
    assert_eq!(status["text"], "Hello, Ada!");
    let ready = &status["conditions"][0];
    assert_eq!(
        (&ready["type"], &ready["status"]),
        (&json!("Ready"), &json!("True"))
    );
    assert_eq!(ready["observedGeneration"], metadata["generation"]);
    let entry = cluster
        .entry(uid(&greeting)?)
        .await?
        .context("no register entry")?;
    assert_eq!(entry.data["data"]["text"], "Hello, Ada!");
    Ok(())
}

async fn a_changed_spec_reaches_the_children_the_status_and_the_entry(
    greeter: Greeter,
) -> Result<()> {
    let scene = Scene::greeter(greeter, "changed").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    let changed = json!({ "spec": { "greeting": "Ahoy", "replicas": 2 } });
    cluster.patch("Greeting", "ada", changed).await?;
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(greeting["status"]["observedGeneration"], 2);
    assert_eq!(greeting["status"]["text"], "Ahoy, Ada!");
    let map = read(cluster, "ConfigMap", "ada-greeting").await?;
    assert_eq!(map["data"]["index.html"], "Ahoy, Ada!");
    let deployment = read(cluster, "Deployment", "ada-greeting").await?;
    assert_eq!(deployment["spec"]["replicas"], 2);
    let entry = cluster
        .entry(uid(&greeting)?)
        .await?
        .context("no register entry")?;
    assert_eq!(entry.data["data"]["text"], "Ahoy, Ada!");
    Ok(())
}

async fn a_child_that_is_deleted_by_hand_is_restored(greeter: Greeter) -> Result<()> {
    let scene = Scene::greeter(greeter, "restored").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    for kind in ["ConfigMap", "Deployment"] {
        let before = read(cluster, kind, "ada-greeting").await?;
        cluster.delete(kind, "ada-greeting").await?;
        let restored = |child: &Value| {
            child["metadata"]["uid"] != before["metadata"]["uid"]
                && child["metadata"]["ownerReferences"][0]["uid"] == greeting["metadata"]["uid"]
        };
        cluster
            .until(kind, "ada-greeting", "is restored", restored)
            .await?;
    }
    Ok(())
}

async fn a_child_that_is_edited_by_hand_is_repaired(greeter: Greeter) -> Result<()> {
    let scene = Scene::greeter(greeter, "repaired").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    let edit = json!({ "data": { "index.html": "Boo!", "mine": "stays" } });
    cluster.patch("ConfigMap", "ada-greeting", edit).await?;
    let map = cluster
        .until("ConfigMap", "ada-greeting", "is repaired", |map| {
            map["data"]["index.html"] == "Hello, Ada!"
        })
        .await?;
    assert_eq!(
        map["data"]["mine"], "stays",
        "what is not the plugin's is left alone"
    );
    let edit = json!({ "spec": { "replicas": 7 } });
    cluster.patch("Deployment", "ada-greeting", edit).await?;
    cluster
        .until("Deployment", "ada-greeting", "is repaired", |deployment| {
            deployment["spec"]["replicas"] == 1
        })
        .await?;
    let edit = json!({ "metadata": { "ownerReferences": null } });
    cluster.patch("ConfigMap", "ada-greeting", edit).await?;
    cluster
        .until("ConfigMap", "ada-greeting", "is owned again", |map| {
            map["metadata"]["ownerReferences"][0]["name"] == "ada"
        })
        .await?;
    Ok(())
}

async fn a_child_of_an_earlier_set_is_deleted_and_no_other(greeter: Greeter) -> Result<()> {
    let scene = Scene::greeter(greeter, "pruned").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    let map = read(cluster, "ConfigMap", "ada-greeting").await?;
    // What a version of the plugin with more children would have left behind, and what it would not.
    let child = |name: &str, uid: &Value, labels: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": cluster.namespace, "labels": labels,
                "ownerReferences": [{
                    "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
                    "name": "ada", "uid": uid, "controller": true,
                }],
            },
        })
    };
    let uid = &greeting["metadata"]["uid"];
    let labels = &map["metadata"]["labels"];
    cluster.create(child("unmarked", uid, &json!({}))).await?;
    cluster.create(child("copied", uid, labels)).await?;
    let maps = cluster.api("ConfigMap", &cluster.namespace)?;
    let left = Patch::Apply(child("left", uid, labels));
    maps.patch("left", &PatchParams::apply("windlass/greeter"), &left)
        .await?;
    cluster.until_gone("ConfigMap", "left").await?;
    read(cluster, "ConfigMap", "unmarked").await?;
    read(cluster, "ConfigMap", "copied").await?;
    read(cluster, "ConfigMap", "ada-greeting").await?;
    Ok(())
}

async fn what_is_there_and_right_is_not_written_again(greeter: Greeter) -> Result<()> {
    let scene = with_watched_register(greeter, "quiet").await?;
    let cluster = &scene.cluster;
    let spec = json!({ "name": "Ada", "replicas": 0 });
    cluster.greet("ada", spec).await?;
    cluster.until_ready("ada").await?;
    // The Deployment's own controller writes into it until it is complete.
    cluster
        .until("Deployment", "ada-greeting", "is complete", |deployment| {
            let conditions = deployment["status"]["conditions"].as_array();
            let complete = |condition: &Value| condition["reason"] == "NewReplicaSetAvailable";
            conditions.is_some_and(|conditions| conditions.iter().any(complete))
        })
        .await?;
    let passes = async |touch: String| {
        let before = scene.host.passes(&scene.greeting("ada")).len();
        let touch = json!({ "metadata": { "annotations": { "touch": touch } } });
        cluster.patch("Greeting", "ada", touch).await?;
        eventually(DEADLINE, "a pass follows the touch", async || {
            let passes = scene.host.passes(&scene.greeting("ada")).split_off(before);
            Ok((!passes.is_empty()).then_some(passes))
        })
        .await
    };
    let requests = |passes: &[Line]| {
        let requests = passes.iter().map(|pass| pass.number("requests"));
        requests.collect::<Vec<_>>()
    };
    let mut touches = 0;
    eventually(DEADLINE, "a pass finds everything right", async || {
        touches += 1;
        let passes = passes(format!("{touches}")).await?;
        let found = requests(&passes);
        ensure!(found == [Some(0)], "{found:?} requests");
        Ok(Some(()))
    })
    .await?;
    let writes_before = writes(&scene, touches).await?.len();
    let last = passes("last".to_owned()).await?;
    // A late change of the touch before may have its pass here too.
    let asks_nothing = |count: &Option<u64>| *count == Some(0);
    assert!(requests(&last).iter().all(asks_nothing), "{last:#?}");
    assert!(last.iter().all(|pass| pass.field("outcome") == "rest"));
    cluster
        .patch(
            "Greeting",
            "ada",
            json!({ "metadata": { "annotations": { "touch": "end" } } }),
        )
        .await?;
    let written = writes(&scene, "end").await?.split_off(writes_before);
    assert!(written.is_empty(), "{written:#?}");
    Ok(())
}

/// The greeter, which may watch the register as well. An entry that it does not watch it applies in
/// every pass, since it cannot know that it is still there.
async fn with_watched_register(greeter: Greeter, prefix: &str) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.component(greeter.package(), "greeter.wasm")?;
    let resources = &["greetings", "greetings/status"];
    let primary = &["get", "list", "watch", "patch"];
    let document = json!({
        "source": { "file": "greeter.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", resources, primary),
            plugins.grant("apps", &["deployments"], ALL).acknowledged(),
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL, "namespaces": [cluster.namespace, "greetings"] },
        ],
    });
    Scene::start(cluster, plugins.document("greeter", &document)?)
}

/// What the host wrote for Greetings until the test touched `ada` with `touch`, by the audit log.
async fn writes(scene: &Scene, touch: impl std::fmt::Display) -> Result<Vec<String>> {
    let touch = json!(touch.to_string());
    let events = eventually(DEADLINE, "the touch is in the audit log", async || {
        let events = control_plane()?.audit()?;
        let seen = events.iter().any(|event| {
            let body = event.request_object.as_ref();
            let object = event.object_ref.as_ref();
            object.is_some_and(|object| object.namespace == scene.cluster.namespace)
                && body.is_some_and(|body| body["metadata"]["annotations"]["touch"] == touch)
        });
        Ok(seen.then_some(events))
    })
    .await?;
    let user = scene.account.user();
    let of_host = events.into_iter().filter(|event| {
        let resource = event.object_ref.as_ref().map(|object| &*object.resource);
        event.user.username == user
            && !matches!(event.verb.as_str(), "get" | "list" | "watch")
            && !matches!(resource, Some("leases" | "events"))
    });
    Ok(of_host
        .map(|event| format!("{} {}", event.verb, event.request_uri))
        .collect())
}
