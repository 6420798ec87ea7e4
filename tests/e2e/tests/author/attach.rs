//! `windlass dev --attach`: a build on a developer's machine in place of a plugin that a host runs.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_e2e::{Cluster, DEADLINE, Dev, Host, Plugins, Scene, control_plane, eventually};

/// The image in the Deployments of the build that is developed, and of the one in the cluster.
const OURS: &str = "registry.example/ours:1";
const THEIRS: &str = "registry.example/theirs:1";

/// The greeter whose Deployments have `image`.
fn with_image(plugins: Plugins, image: &str) -> Result<Plugins> {
    let plugins = plugins.greeter()?;
    let file = plugins.folder().join("greeter.yaml");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let spec = document.get_mut("spec").and_then(Value::as_object_mut);
    let config = json!({ "image": image });
    spec.context("a spec")?.insert("config".into(), config);
    plugins.file("greeter.yaml", document.to_string())
}

/// A host that runs the greeter, one Greeting, and the project of who develops it.
async fn scene(prefix: &str) -> Result<(Scene, TempDir)> {
    let cluster = Cluster::new(prefix).await?;
    let namespace = cluster.namespace.clone();
    let deployed = with_image(Plugins::new(&namespace)?, THEIRS)?;
    let scene = Scene::start(cluster, deployed)?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let own = with_image(Plugins::new(&namespace)?, OURS)?;
    let project = tempfile::tempdir()?;
    for (from, to) in [
        ("greeter.yaml", "plugin.yaml"),
        ("greeter.wasm", "greeter.wasm"),
    ] {
        fs::copy(own.folder().join(from), project.path().join(to))?;
    }
    Ok((scene, project))
}

fn attach(scene: &Scene, project: &TempDir, more: &[&str]) -> Result<Dev> {
    let kubeconfig = control_plane()?.kubeconfig_admin();
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let namespace = format!("--namespace={}", scene.cluster.namespace);
    let arguments = [&["--attach", &*kubeconfig, &*namespace][..], more].concat();
    Dev::start(project.path(), &arguments)
}

/// The versions of all objects of the plugin, and of all Leases but for the sessions of hosts. What others write of a
/// Deployment is its status, which leaves its generation as it was; the host writes Events late.
async fn versions(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for kind in ["Greeting", "ConfigMap", "Deployment", "Lease"] {
        let api = cluster.api(kind, &cluster.namespace)?;
        for object in api.list(&ListParams::default()).await?.items {
            let name = object.metadata.name.unwrap_or_default();
            let version = object.metadata.resource_version.unwrap_or_default();
            let is_session = name.starts_with("windlass-session");
            // That there is another session would show.
            let version = match kind {
                _ if is_session => String::new(),
                "Deployment" => format!("{:?}", object.metadata.generation),
                _ => version,
            };
            all.insert(format!("{kind} {name}"), version);
        }
    }
    Ok(all)
}

async fn holder(cluster: &Cluster) -> Result<String> {
    let lease = cluster.get("Lease", "windlass-greeter").await?;
    let lease = lease.context("the Lease is there")?.data;
    let holder = lease.pointer("/spec/holderIdentity");
    Ok(holder
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned())
}

async fn until_image(scene: &Scene, image: &str) -> Result<()> {
    let path = "/spec/template/spec/containers/0/image";
    let has_image = |object: &Value| object.pointer(path).and_then(Value::as_str) == Some(image);
    let cluster = &scene.cluster;
    let found = cluster.until("Deployment", "ada-greeting", image, has_image);
    found.await.map(drop)
}

/// Waits until `host` runs the plugin again, and not as a new process.
async fn until_back(scene: &Scene, host: &Host, before: &str) -> Result<()> {
    eventually(DEADLINE, "the Lease is back", async || {
        let now = holder(&scene.cluster).await?;
        ensure!(now == before, "{now} has it: {:#?}", host.log());
        Ok(Some(()))
    })
    .await?;
    until_image(scene, THEIRS).await?;
    ensure!(host.is_running());
    Ok(())
}

#[tokio::test]
async fn a_build_that_is_attached_observes_beside_the_host() -> Result<()> {
    let (scene, project) = scene("attach").await?;
    let cluster = &scene.cluster;
    until_image(&scene, THEIRS).await?;
    cluster.until_ready("ada").await?;
    let before = versions(cluster).await?;
    let dev = attach(&scene, &project, &[])?;
    let pass = dev.writes(OURS).await?;
    ensure!(pass["observes"] == true, "{pass:#}");
    ensure!(versions(cluster).await? == before, "something was written");
    // The host works on.
    cluster.greet("bob", json!({ "name": "Bob" })).await?;
    cluster.until_ready("bob").await?;
    until_image(&scene, THEIRS).await?;
    dev.interrupt()?;
    let ended = dev.ended().await?;
    ensure!(ended.success(), "{ended}: {}", dev.errors());
    Ok(())
}

#[tokio::test]
async fn a_build_that_takes_over_gives_the_lease_back_when_it_ends_and_when_it_is_killed()
-> Result<()> {
    let (scene, project) = scene("takes").await?;
    until_image(&scene, THEIRS).await?;
    let before = holder(&scene.cluster).await?;
    let dev = attach(&scene, &project, &["--dry-run=false"])?;
    until_image(&scene, OURS).await?;
    ensure!(holder(&scene.cluster).await? != before);
    scene.host.says("handing over").await?;
    ensure!(
        scene.host.is_running(),
        "the host ended: {:#?}",
        scene.host.log()
    );
    dev.interrupt()?;
    let ended = dev.ended().await?;
    ensure!(ended.success(), "{ended}: {}", dev.errors());
    until_back(&scene, &scene.host, &before).await?;

    let dev = attach(&scene, &project, &["--dry-run=false"])?;
    until_image(&scene, OURS).await?;
    // It is killed by SIGKILL.
    drop(dev);
    until_back(&scene, &scene.host, &before).await
}
