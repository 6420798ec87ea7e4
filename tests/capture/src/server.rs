//! Asks the real server.

use anyhow::Context;
use kube::Client;
use serde_json::Value;

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
}
