//! Five hundred Greetings at once: made, changed and deleted, each stage without waiting for the one before.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{DynamicObject, ListParams};
use serde_json::json;
use windlass_e2e::{Cluster, Greeter, Scene, eventually};

const GREETINGS: usize = 500;
/// Requests at a time.
const AT_ONCE: usize = 16;
/// A busy machine needs minutes.
const PATIENCE: Duration = Duration::from_secs(400);

#[tokio::test]
async fn five_hundred_greetings_live_and_die_at_once() -> Result<()> {
    let scene = Scene::greeter(Greeter::Rust, "crowd").await?;
    let cluster = &scene.cluster;
    each(|name| async move {
        let spec = json!({ "name": "Ada", "replicas": 0 });
        cluster.greet(&name, spec).await.map(drop)
    })
    .await?;
    each(|name| async move {
        let change = json!({ "spec": { "name": name, "greeting": "Ahoy" } });
        cluster.patch("Greeting", &name, change).await.map(drop)
    })
    .await?;
    eventually(PATIENCE, "everybody is greeted", async || {
        greeted(cluster).await
    })
    .await?;
    each(|name| async move { cluster.delete("Greeting", &name).await }).await?;
    eventually(PATIENCE, "nothing is left", async || {
        nothing_is_left(cluster).await
    })
    .await?;
    // Nothing was wrong, and nothing was done in circles.
    let log = scene.host.log();
    let wrong = log
        .iter()
        .filter(|line| line.field("level") == "ERROR" || line.message.contains("hot loop"));
    let wrong: Vec<_> = wrong.collect();
    ensure!(wrong.is_empty(), "{wrong:#?}");
    let finalized = scene
        .host
        .count(|line| line.field("step") == "finalize" && line.field("outcome") == "rest");
    ensure!(finalized == GREETINGS, "{finalized} passes have finalized");
    Ok(())
}

fn names() -> impl Iterator<Item = String> {
    (0..GREETINGS).map(|number| format!("g{number}"))
}

/// Does the same to each Greeting, many at a time.
async fn each<F: Future<Output = Result<()>>>(deed: impl Fn(String) -> F) -> Result<()> {
    let deeds = stream::iter(names()).map(deed);
    deeds.buffer_unordered(AT_ONCE).try_collect().await
}

async fn all(cluster: &Cluster, kind: &str, namespace: &str) -> Result<Vec<DynamicObject>> {
    let api = cluster.api(kind, namespace)?;
    Ok(api.list(&ListParams::default()).await?.items)
}

/// Whether each Greeting has its status, its children and its entry, as its newest spec says.
async fn greeted(cluster: &Cluster) -> Result<Option<()>> {
    let namespace = &cluster.namespace;
    let greetings = all(cluster, "Greeting", namespace).await?;
    ensure!(
        greetings.len() == GREETINGS,
        "there are {} Greetings",
        greetings.len()
    );
    let maps = all(cluster, "ConfigMap", namespace).await?;
    let entries = all(cluster, "ConfigMap", "greetings").await?;
    let deployments = all(cluster, "Deployment", namespace).await?;
    ensure!(
        deployments.len() == GREETINGS,
        "there are {} Deployments",
        deployments.len()
    );
    let text_of = |maps: &[DynamicObject], name: &str, field: &str| {
        let map = maps
            .iter()
            .find(|map| map.metadata.name.as_deref() == Some(name));
        map.and_then(|map| map.data.pointer(field).cloned())
    };
    for greeting in greetings {
        let name = greeting.metadata.name.unwrap_or_default();
        let text = Some(json!(format!("Ahoy, {name}!")));
        let uid = greeting.metadata.uid.unwrap_or_default();
        let said = greeting.data.pointer("/status/text").cloned();
        let child = text_of(&maps, &format!("{name}-greeting"), "/data/index.html");
        let entry = text_of(&entries, &format!("greeting-{uid}"), "/data/text");
        ensure!(
            [&said, &child, &entry] == [&text; 3],
            "{name}: {said:?}, {child:?}, {entry:?}"
        );
    }
    Ok(Some(()))
}

/// Whether no Greeting, no child and no entry is left, once the garbage collector has done its part.
async fn nothing_is_left(cluster: &Cluster) -> Result<Option<()>> {
    let namespace = &cluster.namespace;
    for kind in ["Greeting", "Deployment", "ConfigMap"] {
        let mut left = all(cluster, kind, namespace).await?;
        left.retain(|object| object.metadata.name.as_deref() != Some("kube-root-ca.crt"));
        ensure!(left.is_empty(), "there are {} of {kind}", left.len());
    }
    let entries = all(cluster, "ConfigMap", "greetings").await?;
    let ours = entries.iter().filter(|entry| {
        let of = entry.data.pointer("/data/of").and_then(|of| of.as_str());
        of.is_some_and(|of| of.contains(&format!("/{namespace}/")))
    });
    let ours = ours.count();
    ensure!(ours == 0, "there are {ours} entries");
    Ok(Some(()))
}
