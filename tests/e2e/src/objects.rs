//! Plugins as objects of one test, and a host that runs them.

use std::fs;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};
use windlass_base::digest::digest;

use crate::{Account, Cluster, DEADLINE, Host, Plugins, apply, documents, eventually, workspace};

/// A host that runs the Plugin objects of one test.
pub struct Objects {
    /// The cluster, with a namespace of the test's own.
    pub cluster: Cluster,
    /// The greeter in files: its component, and the document that objects are made of.
    pub plugins: Plugins,
    /// The host.
    pub host: Host,
    /// The user that the host is.
    pub account: Account,
    /// An empty config folder.
    pub folder: tempfile::TempDir,
    /// The flags of the host.
    pub more: Vec<String>,
}

impl Objects {
    /// A host with rights for what the greeter may do, which has no plugin yet.
    ///
    /// # Errors
    /// The host does not start.
    pub async fn start(prefix: &str, more: &[String]) -> Result<Self> {
        apply("deploy/crds/plugins.windlass.dev.yaml").await?;
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let namespace = &*cluster.namespace;
        account.grant(&rights(namespace, namespace)?)?;
        let folder = tempfile::tempdir()?;
        let mut all = vec![
            "--plugin-objects".to_owned(),
            format!("--plugin-selector=test={namespace}"),
        ];
        all.extend_from_slice(more);
        let host = run(&folder, &account, namespace, &all)?;
        Ok(Self {
            host,
            cluster,
            plugins,
            account,
            folder,
            more: all,
        })
    }

    /// Another host, as the same user.
    ///
    /// # Errors
    /// It does not start.
    pub fn another(&self) -> Result<Host> {
        run(
            &self.folder,
            &self.account,
            &self.cluster.namespace,
            &self.more,
        )
    }

    /// The Plugin objects.
    pub fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
        Api::all_with(self.cluster.client(), &ApiResource::from_gvk(&kind))
    }

    /// The name of the test's plugin: objects of all tests are in one cluster.
    pub fn name(&self) -> &str {
        &self.cluster.namespace
    }

    /// The Plugin object with this source, and what else the greeter's document says.
    ///
    /// # Errors
    /// There is no document.
    pub fn object(&self, source: &Value) -> Result<Value> {
        let text = fs::read_to_string(self.plugins.folder().join("greeter.yaml"))?;
        let mut object: Value = serde_json::from_str(&text)?;
        let spec = object.get_mut("spec").and_then(Value::as_object_mut);
        spec.context("a document has a spec")?
            .insert("source".into(), source.clone());
        let metadata = json!({ "name": self.name(), "labels": { "test": self.name() } });
        let fields = object.as_object_mut().context("a document is an object")?;
        fields.insert("metadata".into(), metadata);
        Ok(object)
    }

    /// Creates it.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn create(&self, source: &Value) -> Result<DynamicObject> {
        let object = serde_json::from_value(self.object(source)?)?;
        Ok(self.api().create(&PostParams::default(), &object).await?)
    }

    /// Changes it by a merge patch.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn patch(&self, patch: &Value) -> Result<()> {
        let params = PatchParams::default();
        self.api()
            .patch(self.name(), &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Waits until the condition `kind` has this status and reason, for the newest generation.
    ///
    /// # Errors
    /// It never has.
    pub async fn until(&self, kind: &str, status: &str, reason: &str) -> Result<Value> {
        let what = format!("{} has {kind}={status} {reason}", self.name());
        eventually(DEADLINE, &what, async || {
            let object = serde_json::to_value(self.api().get(self.name()).await?)?;
            let generation = object.pointer("/metadata/generation").cloned();
            let conditions = object.pointer("/status/conditions");
            let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
            let mut found = conditions.filter(|it| {
                it["type"] == kind && it["status"] == status && it["reason"] == reason
            });
            match found.next() {
                Some(one) if Some(&one["observedGeneration"]) == generation.as_ref() => {
                    Ok(Some(object))
                }
                _ => anyhow::bail!("it is {object:#}\n{:#?}", self.host.log()),
            }
        })
        .await
    }

    /// Puts a component into the ConfigMap `code`. Returns the source that names both.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn code(&self, component: &[u8]) -> Result<Value> {
        self.config_map("code", component).await?;
        Ok(json!({ "configMap": {
            "namespace": self.name(), "name": "code", "key": "greeter.wasm",
            "parts": [], "digest": format!("sha256:{}", digest(component).hex()),
        } }))
    }

    /// Runs another component, in the ConfigMap `code`.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn replace(&self, component: &[u8]) -> Result<()> {
        let source = self.code(component).await?;
        self.patch(&json!({ "spec": { "source": source } })).await
    }

    /// Puts bytes of a component, gzipped or not, into a ConfigMap.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn config_map(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "binaryData": { "greeter.wasm": STANDARD.encode(bytes) },
        });
        let api = self.cluster.api("ConfigMap", &self.cluster.namespace)?;
        let params = PatchParams::apply("test").force();
        api.patch(name, &params, &Patch::Apply(&map)).await?;
        Ok(())
    }

    /// The component.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn component(&self) -> Result<Vec<u8>> {
        Ok(fs::read(self.plugins.folder().join("greeter.wasm"))?)
    }

    /// A pull Secret with what Docker's config.json would say, which the host may read.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn pull_secret(&self, name: &str, config: &Value) -> Result<()> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name },
            "type": "kubernetes.io/dockerconfigjson",
            "data": { ".dockerconfigjson": STANDARD.encode(config.to_string()) },
        });
        self.cluster.create(secret).await?;
        let namespace = self.name();
        let metadata = json!({ "name": name, "namespace": namespace });
        let group = "rbac.authorization.k8s.io";
        let version = format!("{group}/v1");
        let role = json!({
            "apiVersion": version, "kind": "Role", "metadata": metadata,
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": [name], "verbs": ["get"] }],
        });
        let binding = json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": group, "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": "windlass", "namespace": namespace }],
        });
        self.account.grant(&[role, binding])
    }

    /// Waits until the plugin has reconciled a new Greeting.
    ///
    /// # Errors
    /// It never does.
    pub async fn greets(&self, name: &str) -> Result<()> {
        self.cluster.greet(name, json!({ "name": name })).await?;
        self.cluster.until_ready(name).await?;
        Ok(())
    }

    /// The reasons of the Events about the Plugin.
    ///
    /// # Errors
    /// The API server gives no answer.
    pub async fn events(&self) -> Result<Vec<String>> {
        let api = self.cluster.api("Event", "default")?;
        let events = api.list(&kube::api::ListParams::default()).await?;
        let of_plugin = events.items.iter().filter_map(|event| {
            let about = event.data.get("involvedObject")?;
            let is_ours = about["kind"] == "Plugin" && about["name"] == self.name();
            let reason = event.data.get("reason")?.as_str()?;
            is_ours.then(|| reason.to_owned())
        });
        Ok(of_plugin.collect())
    }
}

/// What `deploy/base` gives a host in `namespace` for Plugin objects, whose components are in ConfigMaps of `components`.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn rights(namespace: &str, components: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(workspace().join("deploy/base/plugin-objects.yaml"))?;
    // Roles for the whole cluster have a name for each test.
    let text = text.replace("windlass-system", namespace).replace(
        "name: windlass-plugin",
        &format!("name: {namespace}-plugin"),
    );
    let mut rights = documents(&text)?;
    for right in &mut rights {
        let place = right.pointer_mut("/metadata/namespace");
        if let Some(place) = place.filter(|place| *place == namespace) {
            *place = components.into();
        }
    }
    Ok(rights)
}

fn run(
    folder: &tempfile::TempDir,
    account: &Account,
    namespace: &str,
    more: &[String],
) -> Result<Host> {
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    Host::run(folder.path(), &account.kubeconfig()?, namespace, &more)
}
