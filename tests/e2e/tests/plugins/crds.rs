//! What a host does about the CustomResourceDefinitions that a component carries: `spec.crds`.
//!
//! The puppet carries the definition of Greetings. All tests of this file share it, and run one after the other.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use anyhow::{Context, Result, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use windlass_controlplane::eventually;
use windlass_e2e::{Acknowledge, Cluster, DEADLINE, Plugins, Scene, ask, control_plane, variant};

static TURN: Mutex<()> = Mutex::const_new(());

const NAME: &str = "greetings.examples.windlass.dev";

/// A namespace, while no other test knows of Greetings.
struct Stage {
    cluster: Cluster,
    definitions: Api<DynamicObject>,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    async fn new(prefix: &str) -> Result<Self> {
        let turn = TURN.lock().await;
        let cluster = Cluster::bare(prefix).await?;
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions = Api::all_with(cluster.client(), &ApiResource::from_gvk(&kind));
        if definitions.get_opt(NAME).await?.is_some() {
            definitions.delete(NAME, &DeleteParams::default()).await?;
        }
        eventually(DEADLINE, "no Greetings are defined", async || {
            let present = definitions.get_opt(NAME).await?;
            Ok(present.is_none().then_some(()))
        })
        .await?;
        Ok(Self {
            cluster,
            definitions,
            _turn: turn,
        })
    }

    /// The definition as it is.
    async fn definition(&self) -> Result<Value> {
        Ok(serde_json::to_value(self.definitions.get(NAME).await?)?)
    }

    /// Somebody installs a definition whose only version is an older one.
    async fn install_older(&self, labels: Value, annotations: Value) -> Result<()> {
        let mut definition = carried()?;
        definition["metadata"]["labels"] = labels;
        definition["metadata"]["annotations"] = annotations;
        definition["spec"]["versions"][0]["name"] = "v1alpha1".into();
        let definition: DynamicObject = serde_json::from_value(definition)?;
        let parameters = PostParams::default();
        self.definitions.create(&parameters, &definition).await?;
        Ok(())
    }

    /// Somebody adds the version that the puppet needs.
    async fn add_version(&self) -> Result<()> {
        let mut versions = carried()?["spec"]["versions"].take();
        let mut older = versions[0].clone();
        older["name"] = "v1alpha1".into();
        versions[0]["storage"] = false.into();
        versions.as_array_mut().context("a list")?.push(older);
        let patch = Patch::Merge(json!({ "spec": { "versions": versions } }));
        let parameters = PatchParams::default();
        self.definitions.patch(NAME, &parameters, &patch).await?;
        Ok(())
    }
}

/// What the puppet carries.
fn carried() -> Result<Value> {
    Ok(serde_json::from_str(include_str!(
        "../../../puppet/greeting.crd.json"
    ))?)
}

/// The document of a puppet that writes a ConfigMap with its name for each Greeting.
fn document(plugins: &Plugins, name: &str, crds: &str) -> Value {
    let all = windlass_e2e::ALL;
    json!({
        "source": { "file": "puppet.wasm" },
        "crds": crds,
        "config": { "does": [{ "apply": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } } }] },
        "grants": [
            plugins.grant("examples.windlass.dev", &["greetings", "greetings/status"], &["get", "list", "watch", "patch"]),
            plugins.grant("", &["configmaps"], all),
            plugins.grant("", &["pods", "services"], all).acknowledged(),
        ],
    })
}

fn scene(stage: &Stage, cluster: Cluster, crds: &str) -> Result<Scene> {
    let plugins = Plugins::new(&stage.cluster.namespace)?.component("puppet", "puppet.wasm")?;
    let document = document(&plugins, "puppet", crds);
    Scene::start(cluster, plugins.document("puppet", &document)?)
}

impl Stage {
    /// A host with the puppet.
    async fn host(&self, crds: &str) -> Result<Scene> {
        let cluster = Cluster::existing(&self.cluster.namespace).await?;
        scene(self, cluster, crds)
    }

    /// The plugin reconciles a new Greeting.
    async fn works(&self, scene: &Scene, name: &str) -> Result<()> {
        let running = format!("{name} runs");
        scene
            .host
            .logs(&running, |line| {
                line.message.contains("reconciling") && line.field("plugin") == name
            })
            .await?;
        self.cluster.greet(name, json!({ "name": name })).await?;
        self.cluster
            .until("ConfigMap", name, "is there", |_| true)
            .await?;
        Ok(())
    }
}

fn label(definition: &Value, name: &str) -> Option<String> {
    let label = definition["metadata"]["labels"].get(name)?;
    Some(label.as_str()?.to_owned())
}

#[tokio::test]
async fn what_is_absent_is_installed() -> Result<()> {
    let stage = Stage::new("crds-install").await?;
    let scene = stage.host("Install").await?;
    scene
        .host
        .says(&format!("the CustomResourceDefinition {NAME} is created"))
        .await?;
    stage.works(&scene, "puppet").await?;
    let made = stage.definition().await?;
    assert_eq!(
        label(&made, "windlass.dev/plugin").as_deref(),
        Some("puppet")
    );
    let managers = made["metadata"]["managedFields"].as_array();
    let mut managers = managers.context("fields have managers")?.iter();
    assert!(
        managers.any(|entry| entry["manager"] == "windlass/puppet"),
        "{made:#}"
    );
    Ok(())
}

#[tokio::test]
async fn a_plugin_with_an_account_installs_as_that_account() -> Result<()> {
    let stage = Stage::new("crds-account").await?;
    let namespace = stage.cluster.namespace.clone();
    let plugins = Plugins::new(&namespace)?.component("puppet", "puppet.wasm")?;
    let document = document(&plugins, "puppet", "Install");
    let plugins = plugins.document("puppet", &document)?;
    let plugins = plugins.acting_as("puppet", &namespace, "puppet")?;
    let scene = Scene::start(Cluster::existing(&namespace).await?, plugins)?;
    stage.works(&scene, "puppet").await?;
    let host = scene.account.user();
    let made = eventually(DEADLINE, "the audit log has it", async || {
        let mut audit = control_plane()?.audit()?;
        audit.retain(|event| {
            let about = event.object_ref.as_ref().map(|it| it.resource.as_str());
            event.user.username == host
                && event.verb == "create"
                && about == Some("customresourcedefinitions")
        });
        Ok((!audit.is_empty()).then_some(audit))
    })
    .await?;
    let account = format!("system:serviceaccount:{namespace}:puppet");
    for event in made {
        let acts_as = event.impersonated_user.as_ref();
        let acts_as = acts_as.map(|user| user.username.as_str());
        assert_eq!(acts_as, Some(&*account), "{event:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_plugin_installed_is_widened() -> Result<()> {
    let stage = Stage::new("crds-widen").await?;
    let labels = json!({ "windlass.dev/plugin": "puppet" });
    stage.install_older(labels, json!({})).await?;
    let scene = stage.host("Install").await?;
    scene
        .host
        .says(&format!("the CustomResourceDefinition {NAME} is widened"))
        .await?;
    stage.works(&scene, "puppet").await?;
    let made = stage.definition().await?;
    let versions = made["spec"]["versions"].as_array().context("a list")?;
    let versions = versions
        .iter()
        .map(|version| (&version["name"], &version["storage"]));
    let (old, new) = (json!("v1alpha1"), json!("v1"));
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(
        versions.collect::<Vec<_>>(),
        [(&old, &yes), (&new, &no)],
        "{made:#}"
    );
    Ok(())
}

#[tokio::test]
async fn what_helm_installed_is_left_as_it_is() -> Result<()> {
    let stage = Stage::new("crds-helm").await?;
    let labels = json!({ "app.kubernetes.io/managed-by": "Helm" });
    let release = json!({ "meta.helm.sh/release-name": "stack" });
    stage.install_older(labels, release).await?;
    let before = stage.definition().await?;
    let scene = stage.host("Install").await?;
    scene
        .host
        .says("the Helm release stack has installed it")
        .await?;
    let after = stage.definition().await?;
    assert_eq!(
        after["metadata"]["generation"],
        before["metadata"]["generation"]
    );
    assert_eq!(after["spec"], before["spec"]);

    stage.add_version().await?;
    stage.works(&scene, "puppet").await
}

#[tokio::test]
async fn a_plugin_waits_for_what_it_checks() -> Result<()> {
    let stage = Stage::new("crds-check").await?;
    let scene = stage.host("Check").await?;
    let waits =
        format!("waiting for the CustomResourceDefinition {NAME}: it is absent: install it");
    scene.host.says(&waits).await?;
    let address = scene.host.serves("status").await?;
    let (code, page) = ask(&address, "/plugins/puppet?o=json")?;
    let waiting = format!("waiting for the CustomResourceDefinition {NAME}");
    ensure!(code == 200 && page.contains(&waiting), "{code} {page}");
    let events = stage.cluster.api("Event", "default")?;
    eventually(DEADLINE, "an Event says so", async || {
        let events = events.list(&kube::api::ListParams::default()).await?;
        let mut events = events.items.iter();
        let says = events.any(|event| event.data["reason"] == "WaitingForDefinition");
        Ok(says.then_some(()))
    })
    .await?;

    stage.install_older(json!({}), json!({})).await?;
    scene.host.says("it has no version v1").await?;
    stage.add_version().await?;
    stage.works(&scene, "puppet").await?;
    let said = scene.host.count(|line| line.message.contains(&waits));
    assert_eq!(said, 1, "{:#?}", scene.host.log());
    Ok(())
}

#[tokio::test]
async fn the_first_of_two_plugins_owns_what_both_carry() -> Result<()> {
    let stage = Stage::new("crds-two").await?;
    let scene = stage.host("Install").await?;
    stage.works(&scene, "puppet").await?;
    let before = stage.definition().await?;
    let second = json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": { "name": "second" },
        "spec": document(&scene.plugins, "second", "Install"),
    });
    let folder = scene.plugins.folder();
    variant::put(folder, "second.yaml", second.to_string().as_bytes())?;
    scene.account.allow(folder)?;
    stage.works(&scene, "second").await?;
    let after = stage.definition().await?;
    assert_eq!(
        label(&after, "windlass.dev/plugin").as_deref(),
        Some("puppet")
    );
    assert_eq!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    Ok(())
}
