//! A server that is asked: anything a `kube::Client` can reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_controlplane::{ControlPlane, eventually};

use crate::verbs::walk::{self, Deed};

/// How long an answer may take; the real server gives itself a minute.
const DEADLINE: Duration = Duration::from_secs(70);
/// How long a new server may take to serve what the scenarios share.
const READY: Duration = Duration::from_secs(60);
/// The controllers whose work the contract includes.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,resourcequota-controller,serviceaccount-controller";
/// Kinds that many scenarios use.
const SHARED: &str = include_str!("../shared.yaml");

/// One of the two servers.
#[derive(Clone, Debug)]
pub struct Server {
    /// What reports call it.
    pub name: String,
    client: Client,
    /// Held, since it ends when it is let go.
    control_plane: Option<Arc<ControlPlane>>,
    /// What was done on it with success.
    done: Arc<Mutex<BTreeSet<Deed>>>,
}

#[derive(Clone)]
struct Client(kube::Client);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// The head of an answer, and its body as it comes.
pub(crate) type Answer = http::Response<Body>;

impl Server {
    /// A real control plane of its own.
    ///
    /// # Errors
    /// It does not start.
    pub async fn real(name: &str) -> Result<Self> {
        Self::of(name, ControlPlane::start_with_controllers(CONTROLLERS)?).await
    }

    /// The embedded server, on a port of this process.
    ///
    /// # Errors
    /// It does not start, or does not take the kinds that scenarios share.
    pub async fn embedded(name: &str) -> Result<Self> {
        Self::of(
            name,
            ControlPlane::start_embedded_with_controllers(CONTROLLERS)?,
        )
        .await
    }

    async fn of(name: &str, control_plane: ControlPlane) -> Result<Self> {
        let server = Self::at(name, &control_plane.kubeconfig_admin()).await?;
        Ok(Self {
            control_plane: Some(Arc::new(control_plane)),
            ..server
        })
    }

    /// The same server under another name.
    #[must_use]
    pub fn again(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// The kubeconfig of a real control plane.
    #[must_use]
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        let control_plane = self.control_plane.as_ref()?;
        Some(control_plane.kubeconfig_admin())
    }

    /// Whatever a kubeconfig leads to.
    ///
    /// # Errors
    /// It cannot be read, or leads nowhere.
    pub async fn at(name: &str, kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let options = KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        // An answer that asks to try again is an answer.
        config.default_retry = false;
        Self::new(name, kube::Client::try_from(config)?).await
    }

    /// A server behind a client, which may well be in this process.
    ///
    /// # Errors
    /// It does not take the kinds that scenarios share.
    pub async fn new(name: &str, client: kube::Client) -> Result<Self> {
        let server = Self {
            name: name.to_owned(),
            client: Client(client),
            control_plane: None,
            done: Arc::default(),
        };
        server.share().await.with_context(|| format!("on {name}"))?;
        Ok(server)
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    /// There is none in time.
    pub(crate) async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Answer> {
        let deed = walk::done(request.method(), request.uri());
        let answer = self.client.0.send(request.map(Body::from));
        let answer = timeout(DEADLINE, answer)
            .await
            .context("no answer in time")??;
        if answer.status().is_success() {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.extend(deed);
        }
        Ok(answer)
    }

    /// Each verb of a resource that was answered with success so far.
    pub fn done(&self) -> BTreeSet<Deed> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.clone()
    }

    /// Makes a namespace; the caller chooses the name.
    ///
    /// # Errors
    /// The server refuses.
    pub(crate) async fn make_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": name, "labels": { "contract": "scenario" } },
        });
        let (code, answer) = self.json("POST", "/api/v1/namespaces", &namespace).await?;
        ensure!(code == 201, "no namespace: {code} {answer}");
        Ok(())
    }

    /// Installs the shared kinds, and waits until they are served.
    async fn share(&self) -> Result<()> {
        let crds: Vec<Value> = crate::yaml::several(SHARED)?;
        for crd in &crds {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let (code, answer) = self.json("POST", path, crd).await?;
            ensure!(
                code == 201 || code == 409,
                "a CRD is refused: {code} {answer}"
            );
        }
        for crd in &crds {
            let at = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or("");
            let (group, plural) = (at("/spec/group"), at("/spec/names/plural"));
            let path = format!("/apis/{group}/v1/{plural}");
            eventually(READY, &format!("{path} is served"), async || {
                let (code, answer) = self.json("GET", &path, &Value::Null).await?;
                ensure!(code == 200, "{code} {answer}");
                Ok(Some(()))
            })
            .await?;
        }
        Ok(())
    }

    pub(crate) async fn json(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        let body = match body {
            Value::Null => Vec::new(),
            body => serde_json::to_vec(body)?,
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", "application/json");
        let answer = self.send(request.body(body)?).await?;
        let code = answer.status().as_u16();
        let bytes = collect(answer).await?;
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}

/// The whole body of an answer.
pub(crate) async fn collect(answer: Answer) -> Result<Vec<u8>> {
    let body = timeout(DEADLINE, answer.into_body().collect());
    let body = body.await.context("no end of the answer in time")?;
    Ok(body?.to_bytes().to_vec())
}
