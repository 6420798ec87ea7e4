//! The control plane of a test binary, and a namespace of it for one test.

use anyhow::{Context, Result, bail};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use windlass_controlplane::{ControlPlane, eventually};

use crate::server::Server;
use crate::{DEADLINE, workspace};

/// The control plane of this test binary; of this test alone where [`Server`] says so.
///
/// # Errors
/// It did not start.
pub fn control_plane() -> Result<&'static ControlPlane> {
    Ok(Server::current()?.control_plane())
}

/// A namespace of the control plane, for one test.
pub struct Cluster {
    /// The namespace.
    pub namespace: String,
    client: kube::Client,
}

impl Cluster {
    /// A fresh namespace, with the greeter's kind and register installed.
    ///
    /// # Errors
    /// The control plane did not do it.
    pub async fn new(prefix: &str) -> Result<Self> {
        let cluster = Self::bare(prefix).await?;
        let installed = &Server::current()?.installed;
        installed.get_or_try_init(|| cluster.install()).await?;
        Ok(cluster)
    }

    /// Installs the greeter's kind and register.
    ///
    /// # Errors
    /// The control plane did not do it.
    pub async fn install(&self) -> Result<()> {
        apply("plugins/greeter/greeting.crd.yaml").await?;
        self.register().await?;
        eventually(DEADLINE, "greetings are served", async || {
            let greetings = self.api("Greeting", &self.namespace)?;
            Ok(greetings.list(&ListParams::default()).await.ok())
        })
        .await?;
        Ok(())
    }

    /// Installs the greeter's register alone, and not its kind.
    ///
    /// # Errors
    /// The control plane did not do it.
    pub async fn register(&self) -> Result<()> {
        apply("plugins/greeter/namespace.yaml").await?;
        Ok(())
    }

    /// A fresh namespace and nothing else.
    ///
    /// # Errors
    /// The control plane did not make it.
    pub async fn bare(prefix: &str) -> Result<Self> {
        let control_plane = control_plane()?;
        let namespace = control_plane.namespace(prefix).await?;
        Ok(Self {
            namespace,
            client: control_plane.client().await?,
        })
    }

    /// A namespace that is there already.
    ///
    /// # Errors
    /// The control plane did not start.
    pub async fn existing(namespace: &str) -> Result<Self> {
        Ok(Self {
            namespace: namespace.to_owned(),
            client: control_plane()?.client().await?,
        })
    }

    /// What a path answers, in the form that is asked for.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn text(&self, path: &str, accept: &str) -> Result<String> {
        let request = http::Request::get(path).header("accept", accept);
        Ok(self.client.request_text(request.body(Vec::new())?).await?)
    }

    /// The names of the greeter's entries in its register.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn entries(&self) -> Result<Vec<String>> {
        let entries = self
            .api("ConfigMap", "greetings")?
            .list(&kube::api::ListParams::default())
            .await?;
        let names = entries
            .items
            .into_iter()
            .filter_map(|entry| entry.metadata.name);
        Ok(names.filter(|name| name.starts_with("greeting-")).collect())
    }

    /// The objects of `kind` in `namespace`.
    ///
    /// # Errors
    /// The tests know no such kind.
    pub fn api(&self, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        Ok(Api::namespaced_with(
            self.client.clone(),
            namespace,
            &resource(kind)?,
        ))
    }

    /// Makes a Greeting in the test's namespace.
    ///
    /// # Errors
    /// The API server refused it.
    pub async fn greet(&self, name: &str, spec: Value) -> Result<DynamicObject> {
        self.create(json!({
            "apiVersion": "examples.windlass.dev/v1",
            "kind": "Greeting",
            "metadata": { "name": name },
            "spec": spec,
        }))
        .await
    }

    /// Makes an object in the test's namespace.
    ///
    /// # Errors
    /// The API server refused it.
    pub async fn create(&self, object: Value) -> Result<DynamicObject> {
        let object: DynamicObject = serde_json::from_value(object)?;
        let kind = object
            .types
            .as_ref()
            .context("an object has a kind")?
            .kind
            .clone();
        Ok(self
            .api(&kind, &self.namespace)?
            .create(&PostParams::default(), &object)
            .await?)
    }

    /// Reads an object of the test's namespace; `None` if it is not there.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Option<DynamicObject>> {
        self.get_in(&self.namespace, kind, name).await
    }

    /// Reads an object of another namespace; `None` if it is not there.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn get_in(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>> {
        Ok(self.api(kind, namespace)?.get_opt(name).await?)
    }

    /// Merges `patch` into an object of the test's namespace.
    ///
    /// # Errors
    /// The API server refused it.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<DynamicObject> {
        let api = self.api(kind, &self.namespace)?;
        Ok(api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?)
    }

    /// Deletes an object of the test's namespace; it may wait for finalizers.
    ///
    /// # Errors
    /// The API server refused it.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        self.api(kind, &self.namespace)?
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Deletes an object of the test's namespace with `options`; answers the HTTP status, and what
    /// came with it: the object if it waits for finalizers, otherwise a Status.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn delete_with(
        &self,
        kind: &str,
        name: &str,
        options: &DeleteParams,
    ) -> Result<(u16, Value)> {
        let url = self.api(kind, &self.namespace)?.resource_url().to_owned();
        let request = kube::core::Request::new(url).delete(name, options)?;
        let answer = self.client.send(request.map(Body::from)).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect_bytes().await?;
        Ok((status, serde_json::from_slice(&body)?))
    }

    /// The entry in the greeter's register for the Greeting with this UID, if there is one.
    ///
    /// # Errors
    /// The API server did not answer.
    pub async fn entry(&self, uid: &str) -> Result<Option<DynamicObject>> {
        let name = format!("greeting-{uid}");
        self.get_in("greetings", "ConfigMap", &name).await
    }

    /// A client for an administrator.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Waits until an object of the test's namespace is as `wanted` says, and answers it.
    ///
    /// # Errors
    /// It was not in time; the error shows the object as it was last.
    pub async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        eventually(
            DEADLINE,
            &format!("{kind}/{name} {what}"),
            async || match self.get(kind, name).await? {
                Some(object) => {
                    let object = serde_json::to_value(object)?;
                    if wanted(&object) {
                        Ok(Some(object))
                    } else {
                        bail!("it is {object:#}")
                    }
                }
                None => bail!("it is not there"),
            },
        )
        .await
    }

    /// Waits until an object of the test's namespace is gone.
    ///
    /// # Errors
    /// It was still there in the end.
    pub async fn until_gone(&self, kind: &str, name: &str) -> Result<()> {
        eventually(
            DEADLINE,
            &format!("{kind}/{name} is gone"),
            async || match self.get(kind, name).await? {
                Some(object) => bail!("it is still there: {}", serde_json::to_value(object)?),
                None => Ok(Some(())),
            },
        )
        .await
    }

    /// Waits until the Greeting `name` is ready at its newest generation.
    ///
    /// # Errors
    /// It was not in time.
    pub async fn until_ready(&self, name: &str) -> Result<Value> {
        self.until("Greeting", name, "is ready", |greeting| {
            let ready = greeting
                .pointer("/status/conditions/0/status")
                .and_then(Value::as_str)
                == Some("True");
            let generation = greeting.pointer("/metadata/generation");
            ready
                && generation.is_some()
                && greeting.pointer("/status/observedGeneration") == generation
        })
        .await
    }
}

/// Applies a file of the workspace, and answers what is in it.
///
/// # Errors
/// It cannot be read, or the API server refuses it.
pub async fn apply(file: &str) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(workspace().join(file))?;
    let objects = crate::account::documents(&text)?;
    control_plane()?.apply(&objects).await?;
    Ok(objects)
}

fn resource(kind: &str) -> Result<ApiResource> {
    let (group, version) = match kind {
        "Greeting" | "Bag" => ("examples.windlass.dev", "v1"),
        "Bookcase" => ("tests.windlass.dev", "v1"),
        "ConfigMap" | "Secret" | "Namespace" | "Pod" | "Event" | "Service" => ("", "v1"),
        "Deployment" => ("apps", "v1"),
        "Lease" => ("coordination.k8s.io", "v1"),
        _ => bail!("the tests know no {kind}: add it to cluster.rs"),
    };
    Ok(ApiResource::from_gvk(&GroupVersionKind::gvk(
        group, version, kind,
    )))
}
