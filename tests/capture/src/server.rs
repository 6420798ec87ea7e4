//! Asks the real server.

use std::time::Duration;

use anyhow::Context;
use kube::Client;
use serde_json::{Value, json};
use windlass_controlplane::eventually;

/// How long a new namespace may take to get its service account.
const DEADLINE: Duration = Duration::from_secs(30);

/// The real kube-apiserver.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client,
}

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The JSON at `path`.
    pub(crate) async fn get(&self, path: &str, accept: &str) -> anyhow::Result<Value> {
        let request = http::Request::get(path)
            .header(http::header::ACCEPT, accept)
            .body(Vec::new())?;
        let answer = self.client.request_text(request).await;
        let answer = answer.with_context(|| format!("GET {path}"))?;
        serde_json::from_str(&answer).with_context(|| format!("GET {path}"))
    }

    /// Creates an object.
    pub(crate) async fn post(&self, path: &str, object: &Value) -> anyhow::Result<Value> {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(object)?)?;
        let answer = self.client.request_text(request).await;
        let name = &object["metadata"]["name"];
        let answer = answer.with_context(|| format!("POST {path} {name}"))?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// Makes a namespace, with its service account, unless there is one.
    pub(crate) async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        });
        let made = self.post("/api/v1/namespaces", &namespace).await;
        if made.is_err() {
            self.get(&format!("/api/v1/namespaces/{name}"), "application/json")
                .await?;
        }
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        eventually(DEADLINE, "a namespace has a service account", async || {
            Ok(self.get(&account, "application/json").await.ok())
        })
        .await?;
        Ok(())
    }
}
