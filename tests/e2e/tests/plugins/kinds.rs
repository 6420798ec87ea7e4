//! A plugin that reconciles two kinds: Greetings and the ConfigMaps that it makes of them, under the same names.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::variant::put;
use windlass_e2e::{
    ALL, Cluster, DEADLINE, Plugins, Scene, Scrape, eventually, rbac, windlass_alone,
};
use windlass_host::status::PluginDetails;
use windlass_host::why::Explanation;

const PORTS: [&str; 2] = [
    "--admin-bind-address=127.0.0.1:0",
    "--metrics-bind-address=127.0.0.1:0",
];

/// The document of the twins; `config` may break one of the kinds.
fn document(plugins: &Plugins, config: &Value, limits: &Value) -> Value {
    let greetings = ["get", "list", "watch", "patch"];
    json!({
        "source": { "file": "twins.wasm" },
        "config": config,
        "limits": limits,
        "grants": [
            plugins.grant("examples.windlass.dev", &["greetings"], &greetings),
            plugins.grant("", &["configmaps"], ALL),
        ],
    })
}

async fn scene(prefix: &str, limits: &Value) -> Result<Scene> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("twins", "twins.wasm")?;
    let document = document(&plugins, &json!({}), limits);
    Scene::start_with(cluster, plugins.document("twins", &document)?, &PORTS)
}

/// Waits until the ConfigMap `name` says this, and has its copy of it.
async fn until_copied(cluster: &Cluster, name: &str, text: &str) -> Result<()> {
    let is_copied = |map: &Value| {
        let copy = map.pointer("/metadata/annotations/copied");
        map.pointer("/data/name") == Some(&json!(text)) && copy == Some(&json!(text))
    };
    let map = cluster.until("ConfigMap", name, "is copied", is_copied);
    map.await.map(drop)
}

#[tokio::test]
async fn each_kind_has_its_own_passes_finalizers_and_answers() -> Result<()> {
    let scene = scene("twins", &json!({ "concurrency": 1 })).await?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    let namespace = &*cluster.namespace;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_copied(cluster, "ada", "Ada").await?;
    // Each wakes the other: a change of the Greeting by its child, and of the child by hand.
    let bea = json!({ "spec": { "name": "Bea" } });
    cluster.patch("Greeting", "ada", bea).await?;
    until_copied(cluster, "ada", "Bea").await?;
    let byhand = json!({ "data": { "name": "Cleo" } });
    cluster.patch("ConfigMap", "ada", byhand).await?;
    until_copied(cluster, "ada", "Bea").await?;

    let greeting = cluster
        .get("Greeting", "ada")
        .await?
        .context("it is gone")?;
    let map = cluster
        .get("ConfigMap", "ada")
        .await?
        .context("it is gone")?;
    let ours = Some(vec!["windlass.dev/twins".to_owned()]);
    assert_eq!(greeting.metadata.finalizers, ours);
    assert_eq!(map.metadata.finalizers, None, "nobody has asked for it");

    let scrape = Scrape::of(host).await?;
    for kind in ["Greeting", "ConfigMap"] {
        let passes = format!(
            r#"controller_runtime_reconcile_total\{{controller="twins",kind="{kind}",result="success"\}}"#
        );
        assert!(scrape.sum(&passes)? >= Some(2.0), "{kind}");
        let info = format!(r#"windlass_plugin_info\{{.*kind="{kind}"\}}"#);
        assert_eq!(scrape.sum(&info)?, Some(1.0), "{kind}");
    }
    let workers = r#"controller_runtime_max_concurrent_reconciles\{controller="twins"\}"#;
    assert_eq!(scrape.sum(workers)?, Some(1.0), "one worker for both kinds");

    let admin = format!("--admin-url=http://{}", host.serves("status").await?);
    for object in ["greeting/ada", "configmap/ada"] {
        let said = windlass_alone(&["why", object, "-n", namespace, "-o", "json", &admin])?;
        let answer: Explanation = serde_json::from_slice(&said.stdout)?;
        let kind = object.split_once('/').map_or("", |(kind, _)| kind);
        assert_eq!(answer.plugins.len(), 1, "{answer:#?}");
        assert_eq!(answer.object.kind.to_lowercase(), kind);
    }

    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    cluster.until_gone("ConfigMap", "ada").await
}

#[tokio::test]
async fn a_kind_that_fails_is_named_and_the_other_one_goes_on() -> Result<()> {
    let scene = scene("twins-broken", &json!({})).await?;
    let (host, cluster, plugins) = (&scene.host, &scene.cluster, &scene.plugins);
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    until_copied(cluster, "ada", "Ada").await?;
    let broken = document(plugins, &json!({ "breaks": "ConfigMap" }), &json!({}));
    let whole = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
        "metadata": { "name": "twins" }, "spec": broken,
    });
    put(plugins.folder(), "twins.yaml", whole.to_string().as_bytes())?;
    let address = host.serves("status").await?;
    let details = eventually(DEADLINE, "one ConfigMap fails", async || {
        let (_, text) = windlass_e2e::ask(&address, "/plugins/twins?o=json")?;
        let details: PluginDetails = serde_json::from_str(&text)?;
        ensure!(!details.failing.is_empty(), "{text}");
        Ok(Some(details))
    })
    .await?;
    let failing: Vec<String> = details.failing.iter().map(ToString::to_string).collect();
    let name = format!("ConfigMap {}/ada", cluster.namespace);
    assert_eq!(
        failing,
        [name.as_str()],
        "the Greeting of that name does not fail"
    );
    let kinds: Vec<&str> = details
        .status
        .reconciles
        .iter()
        .map(|one| &*one.kind)
        .collect();
    assert_eq!(kinds, ["Greeting", "ConfigMap"]);
    let slowest = details.slowest.iter().filter(|key| key.name == "ada");
    assert_eq!(slowest.count(), 2, "{:#?}", details.slowest);
    // Its Greetings go on.
    let bea = json!({ "spec": { "name": "Bea" } });
    cluster.patch("Greeting", "ada", bea).await?;
    let says_bea = |map: &Value| map.pointer("/data/name") == Some(&json!("Bea"));
    cluster
        .until("ConfigMap", "ada", "says Bea", says_bea)
        .await?;
    Ok(())
}

#[tokio::test]
async fn roles_are_for_all_kinds() -> Result<()> {
    let plugins = Plugins::new("somewhere")?.component("twins", "twins.wasm")?;
    let document = document(&plugins, &json!({}), &json!({}));
    let plugins = plugins.document("twins", &document)?;
    let roles = rbac(plugins.folder(), &[])?;
    let text = String::from_utf8(roles.stdout)?;
    ensure!(
        roles.status.success(),
        "{}",
        String::from_utf8_lossy(&roles.stderr)
    );
    for line in ["greetings/finalizers", "configmaps/finalizers"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    Ok(())
}

/// Makes a ConfigMap that asks for the finalizer, and waits until it has it and its marker.
async fn marked(cluster: &Cluster, name: &str) -> Result<()> {
    let metadata = json!({ "name": name, "labels": { "mirrored": "yes" }, "annotations": { "marked": "yes" } });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "name": name } });
    cluster.create(map).await?;
    until_copied(cluster, name, name).await?;
    let map = cluster
        .get("ConfigMap", name)
        .await?
        .context("it is gone")?;
    let ours = Some(vec!["windlass.dev/twins".to_owned()]);
    assert_eq!(map.metadata.finalizers, ours);
    let marker = cluster.get("ConfigMap", &format!("{name}-marker")).await?;
    assert!(marker.is_some(), "the finalizer is there before the marker");
    Ok(())
}

#[tokio::test]
async fn who_asks_for_the_finalizer_is_finalized_when_it_is_deleted_or_leaves() -> Result<()> {
    let scene = scene("twins-asked", &json!({})).await?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    marked(cluster, "deleted").await?;
    cluster.delete("ConfigMap", "deleted").await?;
    cluster.until_gone("ConfigMap", "deleted").await?;
    cluster.until_gone("ConfigMap", "deleted-marker").await?;

    marked(cluster, "left").await?;
    let unlabelled = json!({ "metadata": { "labels": null } });
    cluster.patch("ConfigMap", "left", unlabelled).await?;
    cluster.until_gone("ConfigMap", "left-marker").await?;
    let is_free = |map: &Value| map.pointer("/metadata/finalizers").is_none();
    cluster
        .until("ConfigMap", "left", "has no finalizer", is_free)
        .await?;
    let object = format!("ConfigMap/{}/left", cluster.namespace);
    // A pass that finds the finalizer gone asks the guest nothing, and sends nothing for it.
    let finalized = |line: &windlass_e2e::Line| {
        line.is_pass(&object, "finalize", "rest") && line.fields["requests"] != 0
    };
    host.logs("the pass has ended", finalized).await?;
    assert_eq!(host.count(finalized), 1, "once");

    // It comes back, and everything begins again.
    let labelled = json!({ "metadata": { "labels": { "mirrored": "yes" } } });
    cluster.patch("ConfigMap", "left", labelled).await?;
    cluster
        .until("ConfigMap", "left-marker", "is there", |_| true)
        .await?;
    Ok(())
}

/// What leaves while no host runs is finalized by the next one.
#[tokio::test]
async fn what_has_left_while_no_host_ran_is_finalized_by_the_next_one() -> Result<()> {
    let scene = scene("twins-late", &json!({})).await?;
    let cluster = &scene.cluster;
    marked(cluster, "ada").await?;
    marked(cluster, "bob").await?;
    scene.host.terminate()?;
    scene.host.ended().await?;
    let unlabelled = json!({ "metadata": { "labels": null } });
    cluster.patch("ConfigMap", "ada", unlabelled).await?;
    let host = scene.another_host(&[])?;
    cluster.until_gone("ConfigMap", "ada-marker").await?;
    host.logs("bob is reconciled", |line| {
        line.is_any_pass() && line.field("object").ends_with("/bob")
    })
    .await?;
    let bob = cluster.get("ConfigMap", "bob-marker").await?;
    assert!(bob.is_some(), "what stays is not finalized");
    Ok(())
}
