//! A plugin that reconciles every kind that its grants name: one control plane of its own, at first without a kind.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{Acknowledge, Cluster, Plugins, Scene, Scrape, windlass_alone};
use windlass_host::why::Explanation;

const PORTS: [&str; 2] = [
    "--admin-bind-address=127.0.0.1:0",
    "--metrics-bind-address=127.0.0.1:0",
];

/// An object whose time is up at once, or that has none.
fn object(api_version: &str, kind: &str, name: &str, ttl: Option<&str>) -> Value {
    let annotations = ttl.map(|ttl| json!({ "examples.windlass.dev/ttl": ttl }));
    let mut object = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "annotations": annotations },
    });
    if kind == "Greeting"
        && let Some(fields) = object.as_object_mut()
    {
        fields.insert("spec".into(), json!({ "name": name }));
    }
    object
}

/// A host with the janitor, which may clean up ConfigMaps, Greetings and Services of the namespace.
fn scene(cluster: Cluster) -> Result<Scene> {
    let plugins = Plugins::new(&cluster.namespace)?.component("janitor", "janitor.wasm")?;
    let verbs = ["get", "list", "watch", "delete"];
    let document = json!({
        "source": { "file": "janitor.wasm" },
        "grants": [
            plugins.grant("", &["configmaps", "services"], &verbs).acknowledged(),
            plugins.grant("examples.windlass.dev", &["*"], &verbs).acknowledged(),
        ],
    });
    Scene::start_with(cluster, plugins.document("janitor", &document)?, &PORTS)
}

#[tokio::test]
async fn every_kind_that_a_grant_names_is_reconciled_also_one_that_comes_later() -> Result<()> {
    let cluster = Cluster::bare("every").await?;
    cluster.register().await?;
    let scene = scene(cluster)?;
    let (host, cluster) = (&scene.host, &scene.cluster);
    host.says("all lists are in: reconciling").await?;
    cluster
        .create(object("v1", "ConfigMap", "kept", None))
        .await?;
    cluster
        .create(object("v1", "ConfigMap", "scratch", Some("0s")))
        .await?;
    cluster.until_gone("ConfigMap", "scratch").await?;
    let mut service = object("v1", "Service", "scratch", Some("0s"));
    if let Some(fields) = service.as_object_mut() {
        fields.insert("spec".into(), json!({ "ports": [{ "port": 80 }] }));
    }
    cluster.create(service).await?;
    cluster.until_gone("Service", "scratch").await?;

    // The kind comes while the plugin runs.
    cluster.install().await?;
    let greeting = "examples.windlass.dev/v1";
    cluster
        .create(object(greeting, "Greeting", "ada", Some("0s")))
        .await?;
    cluster.until_gone("Greeting", "ada").await?;
    cluster
        .create(object(greeting, "Greeting", "bea", None))
        .await?;
    // What it did before it does still.
    cluster
        .create(object("v1", "ConfigMap", "more", Some("0s")))
        .await?;
    cluster.until_gone("ConfigMap", "more").await?;
    let bea = format!("Greeting/{}/bea", cluster.namespace);
    host.logs("bea is reconciled", |line| {
        line.is_any_pass() && line.field("object") == bea
    })
    .await?;
    for (kind, name) in [("ConfigMap", "kept"), ("Greeting", "bea")] {
        ensure!(cluster.get(kind, name).await?.is_some(), "{kind} {name}");
    }

    // One series for all kinds, however many there are.
    let scrape = Scrape::of(host).await?;
    let passes = |kind: &str| {
        format!(
            r#"controller_runtime_reconcile_total\{{controller="janitor",kind="{kind}",result="success"\}}"#
        )
    };
    assert!(scrape.sum(&passes(r"\*"))? >= Some(6.0));
    assert_eq!(scrape.sum(&passes("ConfigMap"))?, None);
    let info = r#"windlass_plugin_info\{.*api_version="\*",kind="\*"\}"#;
    assert_eq!(scrape.sum(info)?, Some(1.0));

    let admin = format!("--admin-url=http://{}", host.serves("status").await?);
    let namespace = &*cluster.namespace;
    for object in ["greeting/bea", "configmap/kept"] {
        let said = windlass_alone(&["why", object, "-n", namespace, "-o", "json", &admin])?;
        let answer: Explanation = serde_json::from_slice(&said.stdout)?;
        let plugins: Vec<&str> = answer.plugins.iter().map(|one| &*one.plugin).collect();
        assert_eq!(plugins, ["janitor"], "{answer:#?}");
    }
    Ok(())
}
