//! What a pass has read runs it again when it changes, and nothing else does: an object, an absent one, a list.

use anyhow::Result;
use serde_json::json;
use windlass_e2e::variant::{component, put, relay};
use windlass_e2e::{Cluster, Plugins, Scene};

/// The relay, which reads in the way named.
async fn scene(reads: &str) -> Result<Scene> {
    let cluster = Cluster::new(&format!("reads-{reads}")).await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    put(plugins.folder(), "relay.wasm", &component(1)?)?;
    let mut document = relay(&plugins, "relay", "v1", "");
    if let Some(config) = document.pointer_mut("/spec/config") {
        *config = json!({ "version": "v1", "reads": reads });
    }
    put(
        plugins.folder(),
        "relay.yaml",
        document.to_string().as_bytes(),
    )?;
    Scene::start(cluster, plugins)
}

/// Waits until the relay has said so of the Greeting `ada`.
async fn until_says(cluster: &Cluster, text: &str) -> Result<()> {
    let text = format!("end v1 ada: {text}");
    let said = cluster.until("Greeting", "ada", &text, |greeting| {
        greeting.pointer("/status/text") == Some(&json!(text))
    });
    said.await.map(drop)
}

/// A ConfigMap with a text, and a label.
async fn map(cluster: &Cluster, name: &str, label: &str, text: &str) -> Result<()> {
    let metadata = json!({ "name": name, "labels": { "for": label } });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "text": text } });
    cluster.create(map).await.map(drop)
}

/// How many passes over this Greeting the host has made.
fn passes(scene: &Scene, name: &str) -> usize {
    let object = format!("Greeting/{}/{name}", scene.cluster.namespace);
    let of_it = |line: &windlass_e2e::Line| line.is_any_pass() && line.field("object") == object;
    scene.host.count(of_it)
}

#[tokio::test]
async fn an_object_that_was_read_wakes_its_reader_also_when_it_was_absent() -> Result<()> {
    let scene = scene("object").await?;
    let cluster = &scene.cluster;
    cluster.greet("bob", json!({ "name": "bob" })).await?;
    cluster.greet("ada", json!({ "name": "ada" })).await?;
    until_says(cluster, "absent").await?;
    map(cluster, "ada", "nobody", "one").await?;
    until_says(cluster, "one").await?;
    let change = json!({ "data": { "text": "two" } });
    cluster.patch("ConfigMap", "ada", change).await?;
    until_says(cluster, "two").await?;
    let before = passes(&scene, "bob");
    cluster.delete("ConfigMap", "ada").await?;
    until_says(cluster, "absent").await?;
    assert_eq!(passes(&scene, "bob"), before, "it has not read that");
    Ok(())
}

#[tokio::test]
async fn a_list_that_was_read_wakes_its_reader_when_an_object_comes_or_leaves() -> Result<()> {
    let scene = scene("list").await?;
    let cluster = &scene.cluster;
    cluster.greet("bob", json!({ "name": "bob" })).await?;
    cluster.greet("ada", json!({ "name": "ada" })).await?;
    until_says(cluster, "0").await?;
    map(cluster, "one", "ada", "").await?;
    until_says(cluster, "1").await?;
    map(cluster, "two", "ada", "").await?;
    until_says(cluster, "2").await?;
    let before = passes(&scene, "bob");
    let moved = json!({ "metadata": { "labels": { "for": "nobody" } } });
    cluster.patch("ConfigMap", "one", moved).await?;
    until_says(cluster, "1").await?;
    assert_eq!(passes(&scene, "bob"), before, "it has not read those");
    Ok(())
}
