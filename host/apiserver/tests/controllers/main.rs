//! What the controllers do, on the server as a service, under paused time.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and an absent field of a JSON value is null"
)]

mod crds;
mod disruption;
mod garbage;
mod kinds;
mod memory;
mod namespaces;
mod node;
mod protection;
mod roles;
mod scheduling;
mod services;
mod switches;

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use http::Request;
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_apiserver::options::{Node, Options};
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

/// Runs a scenario while the controllers of its server run.
fn play(options: Options, scenario: impl AsyncFnOnce(&Api)) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let api = Api(server(7, options));
        let scenario = pin!(scenario(&api));
        match select(pin!(api.0.controllers()), scenario).await {
            Either::Left((never, _)) => match never {},
            Either::Right(_) => {}
        }
    });
}

/// A server whose time of day moves with tokio's time.
fn server(seed: u64, options: Options) -> Server {
    let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
    let clock = Clock::new(move || start);
    let began = clock.instant();
    let clock = Clock::new(move || {
        let passed = clock.instant().duration_since(began);
        start + jiff::SignedDuration::try_from(passed).unwrap()
    });
    let rng = Rng::seeded(seed);
    Server::with(Seams { clock, rng }, options)
}

struct Api(Server);

impl Api {
    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let (code, bytes) = self.ask(method, path, text).await;
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The same, with a body that need not be looked at.
    async fn send_text(&self, method: &str, path: &str, body: String) -> u16 {
        self.ask(method, path, body).await.0
    }

    async fn ask(&self, method: &str, path: &str, body: String) -> (u16, Bytes) {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("content-type", kind)
            .header("user-agent", "test/1.0");
        let response = self
            .0
            .handle(request.body(Full::<Bytes>::from(body)).unwrap())
            .await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, bytes)
    }

    async fn get(&self, path: &str) -> Value {
        let (code, object) = self.send("GET", path, &Value::Null).await;
        assert_eq!(code, 200, "{path}: {object}");
        object
    }

    async fn create(&self, path: &str, object: &Value) -> Value {
        let (code, made) = self.send("POST", path, object).await;
        assert_eq!(code, 201, "{path}: {made}");
        made
    }

    async fn patch(&self, path: &str, patch: &Value) -> Value {
        let (code, patched) = self.send("PATCH", path, patch).await;
        assert_eq!(code, 200, "{path}: {patched}");
        patched
    }

    async fn delete(&self, path: &str, policy: &str) -> Value {
        let options = json!({ "propagationPolicy": policy });
        let (code, answer) = self.send("DELETE", path, &options).await;
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    }

    async fn exists(&self, path: &str) -> bool {
        self.send("GET", path, &Value::Null).await.0 == 200
    }

    /// Lets the controllers come to rest.
    async fn settle(&self) {
        self.wait(Duration::from_secs(1)).await;
    }

    async fn wait(&self, duration: Duration) {
        self.0.seams().clock.sleep(duration).await;
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn path(name: &str) -> String {
    format!("{MAPS}/{name}")
}

/// A ConfigMap with owners.
fn map(name: &str, owners: &[Value]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "ownerReferences": owners },
    })
}

/// A reference to an object as an owner.
fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"],
    })
}

/// The same, which waits for its dependent.
fn blocking(object: &Value) -> Value {
    let mut owner = owner(object);
    owner["blockOwnerDeletion"] = true.into();
    owner
}

fn hold() -> Value {
    json!({ "metadata": { "finalizers": ["example.com/hold"] } })
}

fn release() -> Value {
    json!({ "metadata": { "finalizers": null } })
}

fn finalizers(object: &Value) -> Vec<&str> {
    let held = object["metadata"]["finalizers"].as_array();
    held.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
