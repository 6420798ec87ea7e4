//! Where the versions of a plugin are put: into a config folder, or into a Plugin object and its ConfigMap.

use std::fs;
use std::io::Write;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_base::digest::digest;
use windlass_e2e::{Account, Cluster, Host, Plugins, apply, documents, workspace};

use crate::reload::relay::{component, put, text};

/// The file of the component, and its key in a ConfigMap.
const KEY: &str = "relay.wasm";

/// The flags of each host: its log has no line for each pass, since these are many.
const FLAGS: [&str; 2] = [
    "--log=warn,windlass_host::hosting=info,windlass_host::admin=info",
    "--metrics-bind-address=127.0.0.1:0",
];

/// A host, and where its one plugin comes from.
pub(super) struct Site {
    pub(super) cluster: Cluster,
    pub(super) plugins: Plugins,
    pub(super) host: Host,
    /// An empty config folder, if the plugin is an object.
    object: Option<tempfile::TempDir>,
    /// The source of such a plugin.
    source: Mutex<Value>,
}

impl Site {
    /// The relay in a config folder, in the version `v1`.
    pub(super) async fn folder(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        put(plugins.folder(), KEY, &component(1)?)?;
        let document = text(&plugins, "v1", "").to_string();
        put(plugins.folder(), "relay.yaml", document.as_bytes())?;
        let kubeconfig = Account::new(&cluster.namespace, plugins.folder())?.kubeconfig()?;
        let host = Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, &FLAGS)?;
        Ok(Self {
            cluster,
            plugins,
            host,
            object: None,
            source: Mutex::default(),
        })
    }

    /// The relay as a Plugin object, in the version `v1`.
    pub(super) async fn object(prefix: &str) -> Result<Self> {
        apply("deploy/crds/plugins.windlass.dev.yaml").await?;
        let cluster = Cluster::new(prefix).await?;
        let namespace = &*cluster.namespace;
        let plugins = Plugins::new(namespace)?;
        put(plugins.folder(), KEY, &component(1)?)?;
        let document = text(&plugins, "v1", "").to_string();
        put(plugins.folder(), "relay.yaml", document.as_bytes())?;
        let account = Account::new(namespace, plugins.folder())?;
        let rights = fs::read_to_string(workspace().join("deploy/base/plugin-objects.yaml"))?;
        // Roles for the whole cluster have a name for each test.
        let rights = rights.replace("windlass-system", namespace).replace(
            "name: windlass-plugin",
            &format!("name: {namespace}-plugin"),
        );
        account.grant(&documents(&rights)?)?;
        let folder = tempfile::tempdir()?;
        let selector = format!("--plugin-selector=test={namespace}");
        let [log, metrics] = FLAGS;
        let flags = [log, metrics, "--plugin-objects", &selector];
        let host = Host::run(folder.path(), &account.kubeconfig()?, namespace, &flags)?;
        let site = Self {
            plugins,
            host,
            object: Some(folder),
            source: Mutex::default(),
            cluster,
        };
        site.bring(&component(1)?).await?;
        site.document(text(&site.plugins, "v1", "")).await?;
        Ok(site)
    }

    /// Puts a component where the plugin's source is.
    pub(super) async fn component(&self, bytes: &[u8]) -> Result<()> {
        if self.object.is_none() {
            return put(self.plugins.folder(), KEY, bytes);
        }
        self.bring(bytes).await?;
        let patch = json!({ "spec": { "source": *self.source.lock() } });
        let name = &*self.cluster.namespace;
        let params = PatchParams::default();
        self.api()
            .patch(name, &params, &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    /// Makes a ConfigMap for a component, which is the source of the next document.
    async fn bring(&self, bytes: &[u8]) -> Result<()> {
        let hex = digest(bytes).hex();
        let (namespace, name) = (&*self.cluster.namespace, format!("relay-{hex}"));
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "binaryData": { KEY: STANDARD.encode(bytes) },
        });
        let api = self.cluster.api("ConfigMap", namespace)?;
        let params = PatchParams::apply("test").force();
        api.patch(&name, &params, &Patch::Apply(&map)).await?;
        *self.source.lock() = json!({ "configMap": {
            "namespace": namespace, "name": name, "key": KEY, "digest": format!("sha256:{hex}"),
        } });
        Ok(())
    }

    /// The Plugin objects.
    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
        Api::all_with(self.cluster.client(), &ApiResource::from_gvk(&kind))
    }

    /// Puts the relay's document in place, with the source that is of this site.
    pub(super) async fn document(&self, mut document: Value) -> Result<()> {
        if self.object.is_none() {
            let folder = self.plugins.folder();
            return put(folder, "relay.yaml", document.to_string().as_bytes());
        }
        let name = &*self.cluster.namespace;
        document["metadata"] = json!({ "name": name, "labels": { "test": name } });
        if document["spec"]["source"]["file"] == KEY {
            document["spec"]["source"] = self.source.lock().clone();
        }
        let params = PatchParams::apply("test").force();
        let document = Patch::Apply(&document);
        self.api().patch(name, &params, &document).await?;
        Ok(())
    }

    /// The relay's document with a mistake in it that is seen without a look at the component.
    pub(super) fn mistaken(&self, version: &str) -> Value {
        let mut document = text(&self.plugins, version, "");
        if self.object.is_none() {
            document["metadata"]["name"] = json!("Relay_2");
        } else {
            document["spec"]["source"] = self.source.lock().clone();
            document["spec"]["source"]["configMap"]["name"] = json!("absent");
        }
        document
    }

    /// What is too large, though it is small where it lies.
    pub(super) fn huge(&self) -> Result<Vec<u8>> {
        let zeros = vec![0; 1 << 20];
        if self.object.is_none() {
            return Ok(zeros);
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        for _ in 0..256 {
            packed.write_all(&zeros)?;
        }
        Ok(packed.finish()?)
    }
}
