//! The host's own account: it writes finalizers and the status, and cannot change what runs.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_controlplane::client;
use windlass_e2e::{Account, DEADLINE, documents, eventually, workspace};

use crate::plugin_policy::attempt::{Attempt, Outcome};
use crate::plugin_policy::scene::Scene;
use crate::plugin_policy::users::DEPLOYER;

#[tokio::test]
async fn the_host_writes_finalizers_and_the_status_and_nothing_else() -> Result<()> {
    let scene = Scene::new("host").await?;
    let host = Host::new(&scene).await?;
    let before = scene.read().await?;
    let (path, status) = (
        format!("/{}", scene.name()),
        format!("/{}/status", scene.name()),
    );
    for (path, patch) in [
        (
            &path,
            json!({ "metadata": { "finalizers": ["plugins.windlass.dev/host"] } }),
        ),
        (&status, json!({ "status": { "version": "1" } })),
        (&path, json!({ "metadata": { "finalizers": null } })),
    ] {
        let (code, answer) = host.merge(path, &patch).await?;
        ensure!(code == 200, "{patch}: {code} {answer:#}");
    }
    for patch in [
        json!({ "spec": { "config": { "a": 2 } } }),
        json!({ "spec": { "serviceAccount": null } }),
        json!({ "spec": { "grants": [] , "finalizer": "example.com/a" } }),
        json!({ "metadata": { "finalizers": ["example.com/a"], "annotations": { "windlass.dev/paused": "true" } } }),
    ] {
        let (code, answer) = host.merge(&path, &patch).await?;
        let said = answer["message"].as_str().unwrap_or_default();
        let refused = code == 403 && said.contains("'windlass-plugins' denied request: ");
        ensure!(
            refused && said.contains("verb escalate on plugins.windlass.dev"),
            "{patch}: {code} {answer:#}"
        );
    }
    let plugin = scene.read().await?;
    ensure!(
        plugin["spec"] == before["spec"] && plugin["status"]["version"] == "1",
        "{plugin:#}"
    );
    Ok(())
}

/// An object with very many annotations would take the API server seconds, and these count for nothing without them.
#[tokio::test]
async fn very_many_annotations_are_compared_as_a_whole() -> Result<()> {
    let scene = Scene::new("many").await?;
    let host = Host::new(&scene).await?;
    let path = format!("/{}", scene.name());
    let mut plugin = scene.read().await?;
    let many = (0..1000).map(|it| (format!("a{it}"), json!("")));
    plugin["metadata"]["annotations"] = Value::Object(many.collect());
    let whole = Attempt::new("keeper", "PUT", &path, plugin, Outcome::Code(200));
    scene.check(&whole).await?;
    let finalizers = json!({ "metadata": { "finalizers": ["plugins.windlass.dev/host"] } });
    let (code, answer) = host.merge(&path, &finalizers).await?;
    ensure!(code == 200, "{code} {answer:#}");
    let one = json!({ "metadata": { "annotations": { "a1": "b" } } });
    let refused = scene.refuses("writer", DEPLOYER);
    scene
        .check(&Attempt::merge("writer", &path, one.clone(), refused))
        .await?;
    scene
        .check(&Attempt::merge("keeper", &path, one, Outcome::Code(200)))
        .await?;
    Ok(())
}

/// A client with the rights of `deploy/base`.
struct Host(kube::Client);

impl Host {
    async fn new(scene: &Scene) -> Result<Self> {
        let namespace = scene.name();
        let account = Account::without_plugins(namespace)?;
        let text = std::fs::read_to_string(workspace().join("deploy/base/plugin-objects.yaml"))?;
        let text = text.replace("windlass-system", namespace);
        let text = text.replace(
            "name: windlass-plugin",
            &format!("name: {namespace}-plugin"),
        );
        account.grant(&documents(&text)?)?;
        let host = Self(client(&account.kubeconfig()?).await?);
        let finalizers = json!({ "metadata": { "finalizers": null } });
        eventually(DEADLINE, "the host may patch Plugins", async || {
            let (code, answer) = host.merge(&format!("/{namespace}"), &finalizers).await?;
            ensure!(code == 200, "{code} {}", answer["message"]);
            Ok(Some(()))
        })
        .await?;
        Ok(host)
    }

    async fn merge(&self, path: &str, patch: &Value) -> Result<(u16, Value)> {
        let patch = Attempt::merge("the host", path, patch.clone(), Outcome::Code(200));
        patch.send(&self.0).await
    }
}
