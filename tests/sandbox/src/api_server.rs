//! The API server of a [`House`](crate::House): the embedded one, in this process, which serves Greetings too.
//!
//! - The host's requests pass a service that keeps them and tells the server who sends them.
//! - A test gives, edits and removes objects as somebody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use jiff::Timestamp;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;
use windlass_apiserver::body::Body as AnswerBody;
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::history::Record;
use windlass_apiserver::registry::Resource;
use windlass_apiserver::request::User;
use windlass_apiserver::seams;
use windlass_apiserver::server::{Options, Server};
use windlass_apiserver::store::NamespacedName;
use windlass_base::seams::Clock;

use crate::writes::Write;

const GREETING_CRD: &str = include_str!("../../../plugins/greeter/greeting.crd.yaml");

/// Who the host is to the API server.
const HOST: &str = "windlass";

/// The API server. Clones share it.
#[derive(Clone, Debug)]
pub struct ApiServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: Server,
    clock: Clock,
    requests: Mutex<Vec<SentRequest>>,
    /// [`ApiServer::take_writes`] has answered the writes up to this revision.
    taken: AtomicU64,
}

/// A request of the host.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// `GET /api/v1/namespaces/default/configmaps/a`.
    pub line: String,
    /// The body; empty if there is none.
    pub body: Bytes,
}

impl ApiServer {
    /// An API server with the machine's clock.
    ///
    /// # Errors
    /// The CRD of Greetings is not valid.
    pub fn new() -> anyhow::Result<Self> {
        Self::with_clock(Clock::system())
    }

    /// An API server whose clock shows `wall` now and moves with tokio's.
    ///
    /// # Errors
    /// The CRD of Greetings is not valid.
    pub fn starting_at(wall: Timestamp) -> anyhow::Result<Self> {
        Self::with_clock(Clock::starting_at(wall))
    }

    fn with_clock(clock: Clock) -> anyhow::Result<Self> {
        let seams = seams::Seams {
            clock: seams::Clock::new(move || clock.wall()),
            rng: seams::Rng::seeded(1),
        };
        let options = Options {
            history: true,
            ..Options::default()
        };
        let api = Self(Arc::new(Inner {
            server: Server::with(seams, options),
            clock,
            requests: Mutex::default(),
            taken: AtomicU64::default(),
        }));
        api.give(&greeting_crd()?)?;
        Ok(api)
    }

    /// The server's clock.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// A client of the host. To be made inside a tokio runtime.
    pub fn client(&self) -> kube::Client {
        let this = self.clone();
        let service = tower::service_fn(move |request| this.clone().handle(request));
        kube::Client::new(service, "default")
    }

    async fn handle(self, request: Request<Body>) -> kube::Result<Response<AnswerBody>> {
        let (mut head, body) = request.into_parts();
        let line = format!("{} {}", head.method, head.uri);
        let body = body.collect_bytes().await?;
        self.0.requests.lock().push(SentRequest {
            line,
            body: body.clone(),
        });
        head.extensions.insert(User::master(HOST));
        let request = Request::from_parts(head, Full::new(body));
        Ok(self.0.server.handle(request).await)
    }

    /// From now on each request for an object or a list waits for `latency` before the server handles it.
    pub fn delay_requests(&self, latency: Duration) {
        self.0.server.faults().switch_on(Switch {
            name: "latency".to_owned(),
            on: Matcher::default(),
            from: 0,
            times: u64::MAX,
            fault: Fault::Late(latency),
        });
    }

    /// Every request of the host so far.
    pub fn requests(&self) -> Vec<SentRequest> {
        self.0.requests.lock().clone()
    }

    /// The Events that the server accepted, repetitions included.
    pub fn events(&self) -> Vec<Value> {
        let records = self.host_records().into_iter();
        let events = records.filter(|record| record.place.plural == "events");
        events
            .map(|record| serde_json::from_slice(&record.sent.1).unwrap_or_default())
            .collect()
    }

    /// The writes of plugins that changed an object, since the last call.
    pub fn take_writes(&self) -> Vec<Write> {
        let revision = self.0.server.store().revision();
        let taken = self.0.taken.swap(revision, Ordering::Relaxed);
        let registry = self.0.server.registry();
        let records = self.host_records().into_iter();
        records
            .filter(|record| (taken + 1..=revision).contains(&record.revision))
            .filter_map(|record| Write::of(&record, &registry))
            .collect()
    }

    fn host_records(&self) -> Vec<Record> {
        let mut records = self.0.server.history().records();
        records.retain(|record| record.user == HOST);
        records
    }

    /// Puts an object there, or in the place of the one of that name. Its namespace comes with it.
    ///
    /// # Errors
    /// The object is not valid.
    pub fn give(&self, object: &Value) -> anyhow::Result<()> {
        Ok(self.0.server.give(object)?)
    }

    /// Changes the object `title`, such as `Greeting/default/ada`, by a JSON merge patch.
    ///
    /// # Errors
    /// There is no such object, or it is not valid then.
    pub fn edit(&self, title: &str, patch: &Value) -> anyhow::Result<()> {
        let (resource, key) = self.find(title)?;
        Ok(self.0.server.edit(&resource, &key, patch)?)
    }

    /// Deletes the object `title`. It stays while it has finalizers.
    ///
    /// # Errors
    /// There is no such object.
    pub fn remove(&self, title: &str) -> anyhow::Result<()> {
        let (resource, key) = self.find(title)?;
        Ok(self.0.server.take_away(&resource, &key)?)
    }

    /// Reads the object `title`.
    ///
    /// # Errors
    /// There is no such object.
    pub fn get(&self, title: &str) -> anyhow::Result<Value> {
        let (resource, key) = self.find(title)?;
        Ok(self.0.server.stored(&resource, &key)?)
    }

    /// All objects of a kind.
    pub fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let registry = self.0.server.registry();
        let Some(resource) = registry.of_kind(api_version, kind) else {
            return Vec::new();
        };
        let found = self.0.server.store().list(&resource.place(), None);
        found.entries.iter().map(|entry| entry.value()).collect()
    }

    fn find(&self, title: &str) -> anyhow::Result<(Arc<Resource>, NamespacedName)> {
        let (kind, name) = title.split_once('/').unwrap_or((title, ""));
        let (namespace, name) = name.split_once('/').unwrap_or(("", name));
        let found = self.0.server.called(kind, namespace, name);
        found.with_context(|| format!("there is no {title}"))
    }
}

/// The CRD that the greeter ships with.
///
/// # Errors
/// The file is not YAML.
pub fn greeting_crd() -> anyhow::Result<Value> {
    serde_saphyr::from_str(GREETING_CRD).context("cannot read the CRD of Greetings")
}
