//! Objects that a user pauses, resumes and has reconciled now.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{
    Cluster, DEADLINE, Host, Plugins, Scene, ask, control_plane, eventually, windlass,
    windlass_alone,
};
use windlass_host::status::Status;
use windlass_host::why::{Explanation, PluginAnswer};

const PORT: &str = "--admin-bind-address=127.0.0.1:0";

/// Runs `windlass VERB greeting/ada`, and answers what it prints.
fn mark(cluster: &Cluster, verb: &str) -> Result<String> {
    let arguments = [verb, "greeting/ada", "-n", &cluster.namespace];
    let said = windlass(&arguments, &control_plane()?.kubeconfig_admin())?;
    let errors = String::from_utf8(said.stderr)?;
    ensure!(said.status.success(), "{errors}");
    Ok(String::from_utf8(said.stdout)?)
}

/// What the host says of `ada`.
async fn why(host: &Host, namespace: &str) -> Result<PluginAnswer> {
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let arguments = ["why", "greeting/ada", "-n", namespace, "-o", "json", &url];
    let said = windlass_alone(&arguments)?;
    let answer: Explanation = serde_json::from_slice(&said.stdout)?;
    answer.plugins.into_iter().next().context("no plugin")
}

/// Waits until the host has passed over the paused object as the server has it now.
async fn until_paused(host: &Host, cluster: &Cluster) -> Result<()> {
    eventually(DEADLINE, "the host sees that it is paused", async || {
        let ada = cluster.get("Greeting", "ada").await?;
        let version = ada.context("no ada")?.metadata.resource_version;
        let said = why(host, &cluster.namespace).await?;
        let last = said.passes.first().context("no pass")?;
        ensure!(
            said.reason == "PausedByAnnotation"
                && last.step == "paused"
                && version.as_ref() == Some(&last.resource_version),
            "{said:#?}"
        );
        Ok(Some(()))
    })
    .await
}

/// Waits until the host counts so many paused objects, as `windlass top` shows them.
async fn until_counted(host: &Host, want: u64) -> Result<()> {
    let address = host.serves("status").await?;
    eventually(DEADLINE, "paused objects are counted", async || {
        let status: Status = serde_json::from_str(&ask(&address, "/?o=json")?.1)?;
        let paused: Vec<u64> = status.plugins.iter().map(|it| it.paused).collect();
        ensure!(paused == [want], "{status:#?}");
        Ok(Some(()))
    })
    .await
}

#[tokio::test]
async fn a_paused_object_is_neither_reconciled_nor_finalized_until_it_is_resumed() -> Result<()> {
    let cluster = Cluster::new("pause").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    let said = mark(cluster, "pause")?;
    ensure!(
        said.contains("greetings.examples.windlass.dev/ada") && said.ends_with(" paused\n"),
        "{said}"
    );
    let changed = json!({ "spec": { "name": "Bob" } });
    cluster.patch("Greeting", "ada", changed).await?;
    let drift = json!({ "data": { "index.html": "drift" } });
    cluster.patch("ConfigMap", "ada-greeting", drift).await?;
    until_paused(host, cluster).await?;
    until_counted(host, 1).await?;
    let child = cluster.get("ConfigMap", "ada-greeting").await?;
    let child = child.context("the child is there")?;
    ensure!(child.data["data"]["index.html"] == "drift", "{child:?}");
    mark(cluster, "resume")?;
    eventually(DEADLINE, "it is reconciled at once", async || {
        let child = cluster.get("ConfigMap", "ada-greeting").await?;
        let child = child.context("the child is there")?;
        ensure!(
            child.data["data"]["index.html"] == "Hello, Bob!",
            "{child:?}"
        );
        Ok(Some(()))
    })
    .await?;
    until_counted(host, 0).await?;
    mark(cluster, "pause")?;
    until_paused(host, cluster).await?;
    cluster.delete("Greeting", "ada").await?;
    until_paused(host, cluster).await?;
    let held = cluster.get("Greeting", "ada").await?;
    ensure!(held.is_some(), "finalizing waits too");
    mark(cluster, "resume")?;
    cluster.until_gone("Greeting", "ada").await?;
    until_counted(host, 0).await
}

#[tokio::test]
async fn nobody_keeps_an_object_away_from_a_plugin_that_ignores_annotations() -> Result<()> {
    let cluster = Cluster::new("unpaused").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let file = plugins.folder().join("greeter.yaml");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    document["spec"]["objectAnnotations"] = json!("Ignore");
    fs::write(&file, document.to_string())?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    cluster.until_ready("ada").await?;
    mark(cluster, "pause")?;
    let changed = json!({ "spec": { "name": "Bob" } });
    cluster.patch("Greeting", "ada", changed).await?;
    let is_new = |child: &Value| child.pointer("/data/index.html") == Some(&json!("Hello, Bob!"));
    let child = cluster.until("ConfigMap", "ada-greeting", "is of the new name", is_new);
    child.await?;
    let said = why(host, &cluster.namespace).await?;
    ensure!(said.reason != "PausedByAnnotation", "{said:#?}");
    until_counted(host, 0).await?;
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await
}

#[tokio::test]
async fn a_request_reconciles_an_object_now_and_keeps_its_backoff() -> Result<()> {
    let cluster = Cluster::new("requested").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.hostile("fails", "panic", &json!({}), &[])?;
    let scene = Scene::start_with(cluster, plugins, &[PORT])?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    cluster.greet("ada", json!({ "name": "ada" })).await?;
    eventually(DEADLINE, "it fails again and again", async || {
        let said = why(host, &cluster.namespace).await?;
        let last = said.passes.first().context("no pass")?;
        ensure!(last.attempt >= 4, "{said:#?}");
        Ok(Some(()))
    })
    .await?;
    let said = mark(cluster, "reconcile")?;
    ensure!(said.ends_with(" is asked to be reconciled\n"), "{said}");
    eventually(DEADLINE, "it runs because of that", async || {
        let said = why(host, &cluster.namespace).await?;
        let kept = said.passes.iter().any(|pass| {
            let asked = pass.woken_by.first();
            asked.is_some_and(|why| why == "somebody asked for it") && pass.attempt >= 4
        });
        ensure!(kept, "{said:#?}");
        Ok(Some(()))
    })
    .await
}

#[tokio::test]
async fn what_cannot_be_annotated_is_said_with_what_to_do() -> Result<()> {
    let cluster = Cluster::new("pause-what").await?;
    let namespace = &*cluster.namespace;
    let rows = [
        (
            "greeting/nobody",
            "there is no greetings.examples.windlass.dev/nobody in namespace",
        ),
        (
            "frobnicator/ada",
            "the cluster serves no kind called frobnicator",
        ),
        ("greeting", "name one object, as KIND/NAME or KIND NAME"),
    ];
    for (object, error) in rows {
        let arguments = ["pause", object, "-n", namespace];
        let said = windlass(&arguments, &control_plane()?.kubeconfig_admin())?;
        let errors = String::from_utf8(said.stderr)?;
        ensure!(!said.status.success() && errors.contains(error), "{errors}");
    }
    Ok(())
}
