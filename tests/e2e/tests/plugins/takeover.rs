//! A plugin takes over the objects of an operator that was written with kube-rs: its finalizer, and what it wrote.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use kube::Resource;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube_runtime::controller::{Action, Controller};
use kube_runtime::finalizer::{Event, finalizer};
use kube_runtime::watcher;
use serde_json::{Value, json};
use windlass_e2e::{ALL, Acknowledge, Cluster, Plugins, Scene};

/// The finalizer of the operator.
const CLEANUP: &str = "example.com/cleanup";
/// Its field manager.
const MANAGER: &str = "greeting-operator";

fn greetings() -> ApiResource {
    let kind = GroupVersionKind::gvk("examples.windlass.dev", "v1", "Greeting");
    ApiResource::from_gvk(&kind)
}

/// What the operator does: a ConfigMap beside each Greeting, and a status.
#[derive(Clone)]
struct Operator {
    greetings: Api<DynamicObject>,
    maps: Api<DynamicObject>,
}

impl Operator {
    fn of(cluster: &Cluster) -> Result<Self> {
        Ok(Self {
            greetings: cluster.api("Greeting", &cluster.namespace)?,
            maps: cluster.api("ConfigMap", &cluster.namespace)?,
        })
    }

    async fn reconcile(
        greeting: Arc<DynamicObject>,
        operator: Arc<Self>,
    ) -> Result<Action, kube_runtime::finalizer::Error<kube::Error>> {
        let this = operator.clone();
        finalizer(&operator.greetings, CLEANUP, greeting, |event| async move {
            if let Event::Apply(greeting) = event {
                this.write(&greeting).await?;
            }
            Ok(Action::await_change())
        })
        .await
    }

    async fn write(&self, greeting: &DynamicObject) -> Result<(), kube::Error> {
        let name = greeting.metadata.name.clone().unwrap_or_default();
        let child = format!("{name}-greeting");
        let owner = greeting.controller_owner_ref(&greetings());
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": child, "ownerReferences": [owner], "labels": { "by": "the-operator" } },
            "data": { "index.html": "of the operator", "motd": "only the operator knows this" },
        });
        let apply = PatchParams::apply(MANAGER).force();
        self.maps.patch(&child, &apply, &Patch::Apply(map)).await?;
        // An update, and not an apply: kube-rs's `replace` and `Patch::Merge`.
        let update = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let status = json!({ "status": { "text": "of the operator", "observedGeneration": 1,
            "conditions": [{ "type": "Operated", "status": "True", "reason": "Done", "message": "",
                "lastTransitionTime": "2026-11-21T09:30:00Z" }] } });
        let patch = Patch::Merge(status);
        let patched = self.greetings.patch_status(&name, &update, &patch);
        patched.await.map(drop)
    }

    /// Runs until the ConfigMap and the status of `name` are there.
    async fn run(self, cluster: &Cluster, name: &str) -> Result<()> {
        let controller = Controller::new_with(
            self.greetings.clone(),
            watcher::Config::default(),
            greetings(),
        );
        let errors = |_, _: &_, _| Action::requeue(Duration::from_millis(100));
        let running = controller.run(Self::reconcile, errors, Arc::new(self));
        let running = running.for_each(|_| std::future::ready(()));
        let done = cluster.until("Greeting", name, "the operator is done", |greeting| {
            greeting["status"]["text"] == "of the operator"
        });
        tokio::select! {
            () = running => anyhow::bail!("the operator has ended"),
            done = done => done.map(drop),
        }
    }
}

/// The greeter with `more` in its document.
fn document(plugins: &Plugins, more: &Value) -> Value {
    let mut spec = json!({
        "source": { "file": "greeter.wasm" },
        "grants": [
            plugins.grant("examples.windlass.dev", &["greetings", "greetings/status"], &["get", "list", "watch", "patch"]),
            plugins.grant("", &["configmaps"], ALL),
            plugins.grant("apps", &["deployments"], ALL).acknowledged(),
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"], "namespaces": ["greetings"] },
        ],
    });
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    spec
}

#[tokio::test]
async fn a_plugin_takes_over_from_an_operator_that_was_written_with_kube_rs() -> Result<()> {
    let cluster = Cluster::new("takeover").await?;
    cluster.register().await?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    Operator::of(&cluster)?.run(&cluster, "ada").await?;

    let plugins = Plugins::new(&cluster.namespace)?.component("greeter", "greeter.wasm")?;
    let takes = json!({ "finalizer": CLEANUP, "replaces": [MANAGER] });
    let spec = document(&plugins, &takes);
    let scene = Scene::start(cluster, plugins.document("greeter", &spec)?)?;
    let cluster = &scene.cluster;
    let is_greeted = |greeting: &Value| greeting["status"]["text"] == "Hello, Ada!";
    let what = "the plugin has reconciled it";
    let greeting = cluster.until("Greeting", "ada", what, is_greeted).await?;
    ensure!(
        greeting["metadata"]["finalizers"] == json!([CLEANUP]),
        "{greeting}"
    );
    let conditions = greeting["status"]["conditions"].as_array();
    let conditions = conditions.context("there are conditions")?.iter();
    let conditions: Vec<_> = conditions.map(|it| it["type"].as_str()).collect();
    ensure!(conditions == [Some("Ready")], "{greeting}");
    let map = cluster.get("ConfigMap", "ada-greeting").await?;
    let map = serde_json::to_value(map.context("the ConfigMap is there")?)?;
    ensure!(
        map["data"] == json!({ "index.html": "Hello, Ada!" }),
        "{map}"
    );
    ensure!(
        map["metadata"]["labels"] == json!({ "windlass.dev/set": "greeter" }),
        "{map}"
    );

    // While objects carry the finalizer, it stays the plugin's.
    let file = scene.plugins.folder().join("greeter.yaml");
    let text = std::fs::read_to_string(&file)?;
    std::fs::write(&file, text.replace(CLEANUP, "example.com/other"))?;
    scene
        .host
        .says("names another finalizer, while 1 greetings.examples.windlass.dev carry")
        .await?;
    std::fs::write(&file, text)?;

    // Its finalizer is the one that is waited for, and finalize is called.
    let uid = greeting["metadata"]["uid"].as_str().unwrap_or_default();
    ensure!(cluster.entry(uid).await?.is_some());
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    ensure!(cluster.entry(uid).await?.is_none());
    Ok(())
}
