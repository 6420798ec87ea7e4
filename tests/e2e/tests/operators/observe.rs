//! A plugin that observes beside the operator that owns the objects: it shows what it would write, and writes nothing.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use windlass_e2e::{
    Cluster, DEADLINE, Host, Plugins, Scene, Scrape, ask, eventually, windlass_alone,
};
use windlass_host::status::Status;
use windlass_host::why::{Explanation, PassAnswer, PluginAnswer};

/// The finalizer of the operator, and its field manager.
const CLEANUP: &str = "example.com/cleanup";
const MANAGER: &str = "greeting-operator";

const PORTS: [&str; 2] = [
    "--admin-bind-address=127.0.0.1:0",
    "--metrics-bind-address=127.0.0.1:0",
];

/// Puts the greeter in the place of the operator, in this mode.
fn set_mode(plugins: &Plugins, mode: &str) -> Result<()> {
    let file = plugins.folder().join("greeter.yaml");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    let spec = document["spec"].as_object_mut().context("a spec")?;
    for (field, value) in [
        ("mode", json!(mode)),
        ("finalizer", json!(CLEANUP)),
        ("replaces", json!([MANAGER])),
    ] {
        spec.insert(field.to_owned(), value);
    }
    fs::write(file, document.to_string())?;
    Ok(())
}

/// What the operator has made of the Greeting `name`: its finalizer, a child and a status.
async fn operated(cluster: &Cluster, name: &str, text: &str) -> Result<()> {
    let greeting = cluster.greet(name, json!({ "name": name })).await?;
    let finalizers = json!({ "metadata": { "finalizers": [CLEANUP] } });
    cluster.patch("Greeting", name, finalizers).await?;
    let uid = greeting.metadata.uid.context("a UID")?;
    let owner = json!({ "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "name": name,
        "uid": uid, "controller": true, "blockOwnerDeletion": true });
    let child = format!("{name}-greeting");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": child, "ownerReferences": [owner] },
        "data": { "index.html": text },
    });
    let api = cluster.api("ConfigMap", &cluster.namespace)?;
    let apply = PatchParams::apply(MANAGER).force();
    api.patch(&child, &apply, &Patch::Apply(&map)).await?;
    Ok(())
}

/// The versions of all objects that a greeter reads or writes, and of the Events about them.
async fn versions(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    let namespace = &cluster.namespace;
    for kind in ["Greeting", "ConfigMap", "Deployment", "Event"] {
        let objects = cluster.api(kind, namespace)?;
        for object in objects.list(&ListParams::default()).await?.items {
            let name = object.metadata.name.unwrap_or_default();
            // Each namespace has one, which its controllers make.
            if name != "kube-root-ca.crt" {
                let version = object.metadata.resource_version.unwrap_or_default();
                all.insert(format!("{kind} {name}"), version);
            }
        }
    }
    Ok(all)
}

async fn why(host: &Host, namespace: &str, name: &str) -> Result<PluginAnswer> {
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let object = format!("greeting/{name}");
    let said = windlass_alone(&["why", &object, "-n", namespace, "-o", "json", &url])?;
    let answer: Explanation = serde_json::from_slice(&said.stdout)?;
    answer.plugins.into_iter().next().context("no plugin")
}

/// Waits until the last pass over `name` is `wanted`.
async fn until_passed(
    scene: &Scene,
    name: &str,
    what: &str,
    wanted: impl Fn(&PassAnswer) -> bool,
) -> Result<PassAnswer> {
    eventually(DEADLINE, what, async || {
        let said = why(&scene.host, &scene.cluster.namespace, name).await?;
        let last = said.passes.first().context("no pass yet")?;
        ensure!(wanted(last), "{last:#?}");
        Ok(Some(last.clone()))
    })
    .await
}

/// The fields of the child that the pass would change: path, before, after.
fn of_child(pass: &PassAnswer, child: &str) -> Vec<(String, Option<String>, Option<String>)> {
    let writes = pass.wrote.iter();
    let of_child = writes.filter(|it| it.node.kind == "ConfigMap" && it.node.name == child);
    let fields = of_child.flat_map(|it| &it.fields);
    let told = fields.map(|it| (it.path.clone(), it.before.clone(), it.after.clone()));
    told.collect()
}

#[tokio::test]
async fn a_plugin_that_observes_shows_what_it_would_write_and_writes_nothing() -> Result<()> {
    let cluster = Cluster::new("observe").await?;
    operated(&cluster, "ada", "of the operator").await?;
    operated(&cluster, "bob", "Hello, bob!").await?;
    let before = versions(&cluster).await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    set_mode(&plugins, "Observe")?;
    let scene = Scene::start_with(cluster, plugins, &PORTS)?;
    let (host, cluster) = (&scene.host, &scene.cluster);

    let path = ".data['index.html']";
    let differs = |pass: &PassAnswer| pass.observes && !pass.wrote.is_empty();
    let pass = until_passed(&scene, "ada", "ada is observed", differs).await?;
    let text = |text: &str| Some(json!(text).to_string());
    let want = (
        path.to_owned(),
        text("of the operator"),
        text("Hello, ada!"),
    );
    ensure!(of_child(&pass, "ada-greeting") == [want], "{pass:#?}");
    let status = |pass: &PassAnswer| {
        let mut writes = pass.wrote.iter();
        writes.any(|it| it.node.kind == "Greeting" && it.end == "changed")
    };
    ensure!(status(&pass), "it would write the status: {pass:#?}");
    let url = format!("--admin-url=http://{}", host.serves("status").await?);
    let said = windlass_alone(&["why", "greeting/ada", "-n", &cluster.namespace, &url])?;
    let said = String::from_utf8(said.stdout)?;
    let line = format!(
        "would write ConfigMap/{}/ada-greeting   {path}: \"of the operator\" -> \"Hello, ada!\"",
        cluster.namespace
    );
    ensure!(
        said.contains(&line) && said.contains("which observes"),
        "{said}"
    );
    // What is as the plugin wants it has no difference.
    let pass = until_passed(&scene, "bob", "bob is observed", differs).await?;
    ensure!(of_child(&pass, "bob-greeting").is_empty(), "{pass:#?}");

    let address = host.serves("status").await?;
    let shown: Status = serde_json::from_str(&ask(&address, "/?o=json")?.1)?;
    let plugin = shown.plugins.first().context("a plugin")?;
    ensure!(
        (&*plugin.state, plugin.observes, plugin.differing) == ("observing", true, 2),
        "{plugin:#?}"
    );
    let scrape = Scrape::of(host).await?;
    let counted = scrape.sum(r#"windlass_observed_writes_total\{.*verb="patch".*\}"#)?;
    ensure!(counted.is_some_and(|counted| counted >= 2.0), "{counted:?}");
    ensure!(versions(cluster).await? == before, "something was written");

    // The difference follows what the operator does.
    let right = json!({ "data": { "index.html": "Hello, ada!" } });
    cluster.patch("ConfigMap", "ada-greeting", right).await?;
    let is_gone = |pass: &PassAnswer| of_child(pass, "ada-greeting").is_empty();
    until_passed(&scene, "ada", "the difference is gone", is_gone).await?;
    let wrong = json!({ "data": { "index.html": "Goodbye" } });
    cluster.patch("ConfigMap", "ada-greeting", wrong).await?;
    let is_back = |pass: &PassAnswer| !of_child(pass, "ada-greeting").is_empty();
    until_passed(&scene, "ada", "the difference is back", is_back).await?;

    // What is deleted waits for the operator alone.
    cluster.delete("Greeting", "bob").await?;
    let finalizes = |pass: &PassAnswer| pass.step == "finalize" && pass.returned == "rest";
    until_passed(&scene, "bob", "it has tried to finalize bob", finalizes).await?;
    let bob = cluster
        .get("Greeting", "bob")
        .await?
        .context("bob is there")?;
    ensure!(bob.metadata.finalizers == Some(vec![CLEANUP.to_owned()]));
    let done = json!({ "metadata": { "finalizers": null } });
    cluster.patch("Greeting", "bob", done).await?;
    cluster.until_gone("Greeting", "bob").await?;

    // From now on it writes: what it has shown is not taken for written.
    set_mode(&scene.plugins, "Run")?;
    cluster.until_ready("ada").await?;
    let is_written = |map: &Value| map["data"]["index.html"] == "Hello, ada!";
    let map = cluster.until("ConfigMap", "ada-greeting", "is written", is_written);
    let map = map.await?;
    ensure!(
        map["metadata"]["labels"] == json!({ "windlass.dev/set": "greeter" }),
        "{map}"
    );
    let wrote = |pass: &PassAnswer| !pass.observes && pass.step == "reconcile";
    until_passed(&scene, "ada", "it runs", wrote).await?;
    let scrape = Scrape::of(host).await?;
    let differing = scrape.sum("windlass_observed_differing_objects.*")?;
    ensure!(differing == Some(0.0), "{differing:?}");
    Ok(())
}
