//! A server with informers, in virtual time, for tests.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::new_without_default,
    reason = "values of tests"
)]

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_apiserver::body::Body;
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::*;
use windlass_base::seams::{Clock, Rng, Spawn};

pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub const SECOND: Duration = Duration::from_secs(1);

/// A server, and the informers of a host.
pub struct World {
    pub server: Server,
    pub seams: Seams,
    pub informers: Informers,
    pub discovery: Arc<Discovery>,
    pub api: Api,
    /// What the host has asked for: path and query.
    pub asked: Arc<Mutex<Vec<String>>>,
    _controllers: Task<Infallible>,
}

/// Notes down what is asked for.
#[derive(Clone)]
struct Spy(Server, Arc<Mutex<Vec<String>>>);

type Answer = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl tower_service::Service<http::Request<kube::client::Body>> for Spy {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<kube::client::Body>) -> Answer {
        let uri = request.uri().to_string();
        if uri.contains("watch=true") {
            assert_eq!(request.headers()["accept-encoding"], "identity");
        }
        self.1.lock().push(uri);
        let server = self.0.clone();
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    pub fn with(settings: Settings) -> Self {
        let start = "2026-11-21T09:30:00Z".parse().unwrap();
        let seams = Seams {
            clock: Clock::starting_at(start),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(tokio::runtime::Handle::current()),
        };
        let clock = seams.clock;
        let server = Server::new(server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(1),
        });
        let asked = Arc::default();
        let client = kube::Client::new(Spy(server.clone(), Arc::clone(&asked)), "default");
        let api = Api::new(client, seams.clone());
        let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
        let informers = Informers::new(api.clone(), discovery.clone(), seams.clone(), settings);
        let _controllers = seams.spawn.task(server.controllers());
        Self {
            server,
            seams,
            informers,
            discovery,
            api,
            asked,
            _controllers,
        }
    }

    pub async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        let body = Full::new(bytes::Bytes::from(match body {
            Value::Null => String::new(),
            body => body.to_string(),
        }));
        let response = self.server.handle(request.body(body).unwrap()).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub async fn create(&self, name: &str) -> Object {
        let map = json!({ "metadata": { "name": name, "labels": { "app": name } } });
        let (code, answer) = self.send("POST", MAPS, &map).await;
        assert_eq!(code, 201, "{answer}");
        Object::new(&answer).unwrap()
    }

    pub async fn change(&self, name: &str, data: &str) -> Object {
        let change = json!({ "data": { "key": data } });
        let (code, answer) = self.send("PATCH", &format!("{MAPS}/{name}"), &change).await;
        assert_eq!(code, 200, "{answer}");
        Object::new(&answer).unwrap()
    }

    pub async fn delete(&self, name: &str) {
        let (code, _) = self
            .send("DELETE", &format!("{MAPS}/{name}"), &Value::Null)
            .await;
        assert_eq!(code, 200);
    }

    /// The fault happens to so many requests, from the one with this index on.
    pub fn fault(&self, verb: Verb, from: u64, times: u64, fault: Fault) {
        self.server.faults().switch_on(Switch {
            name: format!("{fault:?}"),
            on: Matcher {
                verb: Some(verb),
                plural: None,
                user: None,
                ..Matcher::default()
            },
            from,
            times,
            fault,
        });
    }

    /// Waits for what must come within ten minutes.
    pub async fn within<T>(&self, future: impl Future<Output = T>) -> T {
        let patience = self.seams.clock.within(600 * SECOND, future).await;
        patience.unwrap_or_else(|| panic!("it never came: {:?}", self.asked.lock()))
    }

    pub async fn wait(&self, duration: Duration) {
        self.seams.clock.sleep(duration).await;
    }

    /// How many requests of each kind there were: streamed lists, pages, watches.
    pub fn requests(&self) -> (usize, usize, usize) {
        let asked = self.asked.lock();
        let count = |wanted: &dyn Fn(&str) -> bool| asked.iter().filter(|uri| wanted(uri)).count();
        let streamed = |uri: &str| uri.contains("sendInitialEvents");
        (
            count(&streamed),
            count(&|uri| uri.contains("limit=")),
            count(&|uri| uri.contains("watch=true") && !streamed(uri)),
        )
    }
}

pub fn config_maps() -> InformerKey {
    InformerKey {
        resource: Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            namespaced: true,
        },
        namespace: Some("default".into()),
        label_selector: None,
        field_selector: None,
        finalizer: None,
        metadata_only: false,
    }
}

pub fn key(name: &str) -> Key {
    Key::new(Some("default"), name)
}

pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const THINGS: &str = "/apis/x.dev/v1/namespaces/default/things";

pub fn definition(scope: &str, versions: &[&str]) -> Value {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = |name: &&str| {
        json!({
            "name": name, "served": true, "storage": *name == versions[0],
            "schema": { "openAPIV3Schema": schema },
        })
    };
    json!({
        "metadata": { "name": "things.x.dev" },
        "spec": {
            "group": "x.dev", "scope": scope,
            "names": { "kind": "Thing", "plural": "things", "singular": "thing" },
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
        },
    })
}

pub fn things() -> InformerKey {
    InformerKey {
        resource: Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "Thing".into(),
            plural: "things".into(),
            namespaced: true,
        },
        ..config_maps()
    }
}

impl World {
    pub async fn define(&self, scope: &str, versions: &[&str]) {
        let (code, answer) = self.send("POST", CRDS, &definition(scope, versions)).await;
        assert_eq!(code, 201, "{answer}");
    }

    pub async fn undefine(&self) {
        let path = format!("{CRDS}/things.x.dev");
        assert_eq!(self.send("DELETE", &path, &Value::Null).await.0, 200);
    }
}
