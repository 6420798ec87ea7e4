//! A server in process, and how tests talk to it.

use bytes::Bytes;
use futures::StreamExt;
use http::Request;
use http_body_util::{BodyExt, BodyStream, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_apiserver::body::Body;
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::{Options, Server};

pub(crate) fn server(seed: u64) -> Server {
    let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
    let seams = Seams {
        clock: Clock::new(move || start),
        rng: Rng::seeded(seed),
    };
    Server::with(
        seams,
        Options {
            history: true,
            ..Options::default()
        },
    )
}

pub(crate) async fn send(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let kind = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "test/1.0");
    let bytes = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let response = server.handle(request.body(Full::new(bytes)).unwrap()).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

pub(crate) async fn watch(server: &Server, path: &str) -> BodyStream<Body> {
    let request = Request::get(path).body(Full::new(Bytes::new())).unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), 200);
    BodyStream::new(response.into_body())
}

/// The next event, put together from its frames.
pub(crate) async fn next(events: &mut BodyStream<Body>) -> Option<Value> {
    let mut line = Vec::new();
    while let Some(frame) = events.next().await {
        line.extend_from_slice(&frame.unwrap().into_data().unwrap());
        if line.ends_with(b"\n") {
            return Some(serde_json::from_slice(&line).unwrap());
        }
    }
    None
}

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "app": name } },
        "data": { "key": value },
    })
}
