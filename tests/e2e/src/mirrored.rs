//! What a config folder is in the cluster: the Plugin objects that its documents stand for.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams};
use kube::api::{Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use windlass_base::digest::digest;

use crate::server::Server;
use crate::{DEADLINE, account, documents, eventually, objects, workspace};

/// The namespace of the components. Plugins that watch ConfigMaps do not see them.
const COMPONENTS: &str = "components";
/// The key of a component.
const KEY: &str = "component";
/// How many bytes one ConfigMap takes: less than 1 MiB with what base64 adds.
const PART: usize = 700 << 10;

/// The objects of one folder.
pub(crate) struct Mirrored {
    server: &'static Server,
    folder: PathBuf,
    namespace: String,
    label: String,
    client: Option<Client>,
    components: BTreeSet<String>,
}

impl Mirrored {
    /// Nothing yet.
    pub(crate) fn new(server: &'static Server, folder: &Path, host: &str, label: &str) -> Self {
        Self {
            server,
            folder: folder.to_owned(),
            namespace: host.to_owned(),
            label: label.to_owned(),
            client: None,
            components: BTreeSet::new(),
        }
    }

    /// Has the objects be what the documents say.
    ///
    /// # Errors
    /// The API server does not take one of them.
    pub(crate) async fn update(&mut self) -> Result<()> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => {
                let client = self.prepare().await?;
                self.client.insert(client).clone()
            }
        };
        let mut names = BTreeSet::new();
        let mut failed = None;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if !is_document(&path) {
                continue;
            }
            for document in documents(&fs::read_to_string(&path)?)? {
                names.insert(text(&document, "/metadata/name").to_owned());
                // One that is refused holds up no other.
                if let Err(error) = self.put(&client, document).await {
                    failed = Some(error.context(path.display().to_string()));
                }
            }
        }
        let ours = ListParams::default().labels(&format!("folder={}", self.label));
        for object in plugins(&client).list(&ours).await? {
            if !names.contains(&object.name_any()) {
                let params = DeleteParams::default();
                plugins(&client).delete(&object.name_any(), &params).await?;
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Installs the kind, gives the host its rights, and removes what is left of earlier tests on the same server.
    async fn prepare(&self) -> Result<Client> {
        let definition = workspace().join("deploy/crds/plugins.windlass.dev.yaml");
        let mut all = documents(&fs::read_to_string(definition)?)?;
        all.push(
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": COMPONENTS } }),
        );
        let control_plane = self.server.control_plane();
        control_plane.apply(&all).await?;
        account::apply(
            control_plane,
            &objects::rights(&self.namespace, COMPONENTS)?,
            &self.namespace,
        )
        .await?;
        let client = control_plane.client().await?;
        let known = eventually(DEADLINE, "plugins are served", async || {
            Ok(plugins(&client).list(&ListParams::default()).await.ok())
        })
        .await?;
        for object in known {
            let folder = object.annotations().get("folder");
            if folder.is_some_and(|folder| !Path::new(folder).exists()) {
                let (name, api) = (object.name_any(), plugins(&client));
                let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
                api.patch(&name, &PatchParams::default(), &free).await?;
                api.delete(&name, &DeleteParams::default())
                    .await
                    .map(drop)
                    .or_else(is_gone)?;
            }
        }
        Ok(client)
    }

    async fn put(&mut self, client: &Client, mut object: Value) -> Result<()> {
        let file = text(&object, "/spec/source/file").to_owned();
        if !file.is_empty() {
            let source = self.component(client, &file).await?;
            if let Some(place) = object.pointer_mut("/spec/source") {
                *place = source;
            }
        }
        let name = text(&object, "/metadata/name").to_owned();
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let metadata = metadata.context("a document has metadata")?;
        for (field, value) in [
            ("labels", &*self.label),
            ("annotations", &*self.folder.to_string_lossy()),
        ] {
            let fields = metadata.entry(field).or_insert_with(|| json!({}));
            let fields = fields.as_object_mut().context("they are a mapping")?;
            fields.insert("folder".to_owned(), value.into());
        }
        let params = PatchParams::apply("folder").force();
        plugins(client)
            .patch(&name, &params, &Patch::Apply(&object))
            .await?;
        Ok(())
    }

    /// The source that has the component in `file`. Each component has ConfigMaps of its own, so that it is replaced at once.
    async fn component(&mut self, client: &Client, file: &str) -> Result<Value> {
        let bytes = fs::read(self.folder.join(file)).with_context(|| file.to_owned())?;
        let hex = digest(&bytes).hex();
        let packed = if bytes.len() > PART {
            packed(&bytes)?
        } else {
            bytes
        };
        let maps: Api<DynamicObject> = Api::namespaced_with(
            client.clone(),
            COMPONENTS,
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        );
        let parts = packed.chunks(PART).enumerate();
        let parts: Vec<_> = parts
            .map(|(number, part)| (format!("{hex}-{number}"), part))
            .collect();
        if !self.components.contains(&hex) {
            for (name, part) in &parts {
                let map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
                    "binaryData": { KEY: STANDARD.encode(part) },
                });
                let params = PatchParams::apply("folder").force();
                maps.patch(name, &params, &Patch::Apply(&map)).await?;
            }
            self.components.insert(hex.clone());
        }
        let mut names = parts.into_iter().map(|(name, _)| name);
        Ok(json!({ "configMap": {
            "namespace": COMPONENTS, "name": names.next().context("a component has bytes")?, "key": KEY,
            "parts": names.collect::<Vec<_>>(), "digest": format!("sha256:{hex}"),
        } }))
    }
}

/// The Plugin objects of the cluster.
fn plugins(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

fn is_gone(error: kube::Error) -> Result<()> {
    match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error.into()),
    }
}

/// As the host takes files: by their ends, but not those that begin with a dot.
fn is_document(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden
        && path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml")
}

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
    packing.write_all(bytes)?;
    Ok(packing.finish()?)
}
