//! Grants by the labels of namespaces: a plugin touches what is in the selected ones, and nothing else.

use anyhow::{Context, Result, ensure};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use windlass_e2e::{ALL, Account, Acknowledge, Cluster, Host, Plugins};

/// The label that the namespaces of one test have.
const LABEL: &str = "shop.example.com/team";

/// The greeter, for the namespaces with the label `team`.
fn greeter(cluster: &Cluster, team: &str) -> Result<Plugins> {
    let selector = json!({ "matchLabels": { LABEL: team } });
    let primary = json!({
        "apiGroups": ["examples.windlass.dev"],
        "resources": ["greetings", "greetings/status"],
        "verbs": ["get", "list", "watch", "patch"],
        "namespaceSelector": selector,
    });
    // By the labels too: a pass about one namespace may read the others.
    let maps = json!({
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL, "namespaceSelector": selector,
    });
    let deployments = json!({ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ALL });
    let register = json!({
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["get", "create", "patch", "delete"],
        "namespaces": ["greetings"],
    });
    let document = json!({
        "source": { "file": "greeter.wasm" },
        "grants": [primary, maps, deployments.acknowledged(), register],
    });
    Plugins::new(&cluster.namespace)?
        .component("greeter", "greeter.wasm")?
        .document("greeter", &document)
}

/// Gives the namespace of `cluster` the label, or takes it away.
async fn label(cluster: &Cluster, team: Option<&str>) -> Result<()> {
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
    let patch = json!({ "metadata": { "labels": { LABEL: team } } });
    let patch = Patch::Merge(patch);
    let params = PatchParams::default();
    namespaces
        .patch(&cluster.namespace, &params, &patch)
        .await?;
    Ok(())
}

/// What has been written of the Greeting `name` and its Deployment: its version, and the generation of the Deployment, whose
/// status is another controller's.
async fn written(cluster: &Cluster, name: &str) -> Result<(Option<String>, Option<i64>)> {
    let deployment = format!("{name}-greeting");
    let greeting = cluster.get("Greeting", name).await?;
    let deployment = cluster.get("Deployment", &deployment).await?;
    let version = greeting.and_then(|object| object.metadata.resource_version);
    let generation = deployment.and_then(|object| object.metadata.generation);
    Ok((version, generation))
}

async fn greet(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.greet(name, json!({ "name": name })).await?;
    Ok(())
}

/// Waits until the Deployment of `name` greets `whom`.
async fn until_greets(cluster: &Cluster, name: &str, whom: &str) -> Result<()> {
    let deployment = format!("{name}-greeting");
    let greets = |object: &Value| object["spec"].to_string().contains(whom);
    let found = cluster.until("Deployment", &deployment, whom, greets);
    found.await.map(drop)
}

#[tokio::test]
async fn a_namespace_gets_the_label_and_loses_it() -> Result<()> {
    let first = Cluster::new("selected").await?;
    let (second, third) = (Cluster::new("second").await?, Cluster::new("third").await?);
    let team = first.namespace.clone();
    let plugins = greeter(&first, &team)?;
    let account = Account::new(&team, plugins.folder())?;
    let state = tempfile::tempdir()?;
    let state = format!("--state-dir={}", state.path().join("state").display());
    let start = || Host::run(plugins.folder(), &account.kubeconfig()?, &team, &[&state]);
    for cluster in [&first, &second, &third] {
        greet(cluster, "ada").await?;
    }
    let untouched = written(&third, "ada").await?;

    // None has the label.
    let host = start()?;
    host.says("all lists are in: reconciling").await?;
    label(&first, Some(&team)).await?;
    first.until_ready("ada").await?;
    label(&second, Some(&team)).await?;
    second.until_ready("ada").await?;

    // The host hears of changes in their order: when it knows the third, it has lost the first.
    label(&first, None).await?;
    ensure!(written(&third, "ada").await? == untouched);
    label(&third, Some(&team)).await?;
    third.until_ready("ada").await?;
    let changed = json!({ "spec": { "name": "Grace" } });
    first.patch("Greeting", "ada", changed).await?;
    greet(&first, "late").await?;
    let left = async || {
        Ok::<_, anyhow::Error>((
            written(&first, "ada").await?,
            written(&first, "late").await?,
        ))
    };
    let before = left().await?;
    greet(&third, "eve").await?;
    third.until_ready("eve").await?;
    ensure!(left().await? == before, "the first is touched");

    // After a crash it is the same.
    host.kill();
    host.ended().await?;
    let host = start()?;
    greet(&second, "zoe").await?;
    second.until_ready("zoe").await?;
    ensure!(left().await? == before, "the first is touched");

    // It comes back.
    label(&first, Some(&team)).await?;
    first.until_ready("late").await?;
    until_greets(&first, "ada", "Grace").await?;
    ensure!(host.is_running());
    Ok(())
}

#[tokio::test]
async fn a_host_that_may_not_list_namespaces_holds_the_plugin_back_until_it_may() -> Result<()> {
    let cluster = Cluster::new("unlisted").await?;
    let team = cluster.namespace.clone();
    let plugins = greeter(&cluster, &team)?;
    let account = Account::without_plugins(&team)?;
    label(&cluster, Some(&team)).await?;
    greet(&cluster, "ada").await?;
    let host = Host::run(plugins.folder(), &account.kubeconfig()?, &team, &[])?;
    let refused = host.says("cannot be listed").await?;
    let right = "give the host a ClusterRole with list and watch for namespaces";
    ensure!(refused.message.contains(right), "{refused:?}");
    ensure!(refused.message.contains("greeter.yaml"), "{refused:?}");
    account.allow(plugins.folder())?;
    let ready = cluster.until_ready("ada").await?;
    ready["metadata"]["uid"].as_str().context("it has a UID")?;
    ensure!(host.is_running());
    Ok(())
}
