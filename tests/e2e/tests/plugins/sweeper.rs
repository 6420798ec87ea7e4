//! A plugin that is called for what is being deleted, and uses the imports that ask and remember: on a whole host.

use anyhow::Result;
use serde_json::{Value, json};
use windlass_e2e::{Acknowledge, Cluster, DEADLINE, Plugins, Scene, apply, eventually};

/// Somebody else's.
const HELD: &str = "example.com/held";

async fn scene(prefix: &str) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("sweeper", "sweeper.wasm")?;
    let maps = json!({
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch", "deletecollection"],
        "namespaces": [cluster.namespace],
    })
    .acknowledged();
    let read = ["get", "list", "watch"];
    let document = json!({
        "source": { "file": "sweeper.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", &["greetings"], &read),
            plugins.grant("examples.windlass.dev", &["greetings/status"], &["update"]),
            plugins.grant("tests.windlass.dev", &["bookcases"], &["get"]),
            maps,
        ],
    });
    Scene::start(cluster, plugins.document("sweeper", &document)?)
}

/// Waits until the status of the Greeting has this in its text.
async fn until_says(cluster: &Cluster, name: &str, text: &str) -> Result<Value> {
    let says = |greeting: &Value| {
        let said = greeting.pointer("/status/text").and_then(Value::as_str);
        said.is_some_and(|said| said.contains(text))
    };
    cluster.until("Greeting", name, text, says).await
}

async fn map(cluster: &Cluster, name: &str, of: &str) -> Result<()> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "of": of } },
    });
    cluster.create(map).await?;
    Ok(())
}

#[tokio::test]
async fn what_waits_for_others_is_swept_until_it_is_gone() -> Result<()> {
    let scene = scene("sweep").await?;
    let cluster = &scene.cluster;
    let greeting = json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
        "metadata": { "name": "ada", "finalizers": [HELD] }, "spec": { "name": "Ada" },
    });
    cluster.create(greeting).await?;
    for (name, of) in [("a", "ada"), ("b", "ada"), ("other", "bob")] {
        map(cluster, name, of).await?;
    }
    until_says(cluster, "ada", "pass 1").await?;
    let greetings = cluster.api("Greeting", &cluster.namespace)?;
    greetings.delete("ada", &Default::default()).await?;
    let swept = until_says(cluster, "ada", "swept, 0 left").await?;
    // An update leaves the metadata as it is.
    assert_eq!(swept["metadata"]["finalizers"], json!([HELD]));
    let maps = cluster.api("ConfigMap", &cluster.namespace)?;
    assert!(maps.get_opt("a").await?.is_none() && maps.get_opt("b").await?.is_none());
    assert!(maps.get_opt("other").await?.is_some());
    // It goes on as long as the object is there.
    map(cluster, "c", "ada").await?;
    eventually(DEADLINE, "the new one is swept", async || {
        Ok(maps.get_opt("c").await?.is_none().then_some(()))
    })
    .await?;
    let released = json!({ "metadata": { "finalizers": null } });
    cluster.patch("Greeting", "ada", released).await?;
    eventually(DEADLINE, "the Greeting is gone", async || {
        Ok(greetings.get_opt("ada").await?.is_none().then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_pass_recalls_what_the_one_before_kept_and_all_share_a_bucket() -> Result<()> {
    let scene = scene("recall").await?;
    let cluster = &scene.cluster;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(cluster, "ada", "pass 1, token true").await?;
    cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Bea" } }))
        .await?;
    until_says(cluster, "ada", "pass 2").await?;
    cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Cleo" } }))
        .await?;
    until_says(cluster, "ada", "token false").await?;
    // Another one remembers nothing of it, and has no token either.
    cluster.greet("bob", json!({ "name": "Bob" })).await?;
    until_says(cluster, "bob", "pass 1, token false").await?;
    Ok(())
}

#[tokio::test]
async fn a_kind_that_comes_runs_who_was_told() -> Result<()> {
    let scene = scene("served").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_says(&scene.cluster, "ada", "greetings").await?;
    apply("tests/steward/bookcase.crd.yaml").await?;
    until_says(&scene.cluster, "ada", "greetings bookcases").await?;
    Ok(())
}
