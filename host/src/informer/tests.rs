//! Informers on the embedded server, in virtual time, with its faults.

pub(crate) mod absence;
mod audit;
mod barrier;
mod faults;
mod fields;
mod random;
mod sharing;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::seams::{Clock, Rng, Spawn};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A server, and the informers of a host.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) seams: Seams,
    pub(crate) informers: Informers,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) api: Api,
    /// What the host has asked for: path and query.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    _controllers: Task<Infallible>,
}

/// What a subscriber heard.
#[derive(Clone, Default)]
struct RecordingHandler {
    heard: Arc<Mutex<Vec<String>>>,
    /// The highest version of each UID.
    versions: Arc<Mutex<HashMap<String, u64>>>,
    /// Whether objects can come back as they were: their kind is not served for a while.
    may_return: Arc<AtomicBool>,
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
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn with(settings: Settings) -> Self {
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

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
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

    pub(crate) async fn create(&self, name: &str) -> Object {
        let map = json!({ "metadata": { "name": name, "labels": { "app": name } } });
        let (code, answer) = self.send("POST", MAPS, &map).await;
        assert_eq!(code, 201, "{answer}");
        Object::new(&answer).unwrap()
    }

    pub(crate) async fn change(&self, name: &str, data: &str) -> Object {
        let change = json!({ "data": { "key": data } });
        let (code, answer) = self.send("PATCH", &format!("{MAPS}/{name}"), &change).await;
        assert_eq!(code, 200, "{answer}");
        Object::new(&answer).unwrap()
    }

    async fn delete(&self, name: &str) {
        let (code, _) = self
            .send("DELETE", &format!("{MAPS}/{name}"), &Value::Null)
            .await;
        assert_eq!(code, 200);
    }

    /// The fault happens to so many requests, from the one with this index on.
    pub(crate) fn fault(&self, verb: Verb, from: u64, times: u64, fault: Fault) {
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

    fn subscribe(&self, watched: InformerKey) -> (Subscription, RecordingHandler) {
        self.subscribe_to(watched, &[])
    }

    /// A subscriber that reads only these fields.
    fn subscribe_to(
        &self,
        watched: InformerKey,
        fields: &[&str],
    ) -> (Subscription, RecordingHandler) {
        self.subscribe_on(&Account::unlimited(), watched, fields)
    }

    /// The same, paid for by `account`.
    fn subscribe_on(
        &self,
        account: &Account,
        watched: InformerKey,
        fields: &[&str],
    ) -> (Subscription, RecordingHandler) {
        let fields = Fields::parse(fields.iter().copied()).unwrap();
        let handler = RecordingHandler::default();
        let subscription =
            self.informers
                .subscribe(watched, fields, Box::new(handler.clone()), account);
        (subscription, handler)
    }

    /// Waits for what must come within ten minutes.
    pub(crate) async fn within<T>(&self, future: impl Future<Output = T>) -> T {
        let patience = self.seams.clock.within(600 * SECOND, future).await;
        patience.unwrap_or_else(|| panic!("it never came: {:?}", self.asked.lock()))
    }

    pub(crate) async fn wait(&self, duration: Duration) {
        self.seams.clock.sleep(duration).await;
    }

    /// How many requests of each kind there were: streamed lists, pages, watches.
    fn requests(&self) -> (usize, usize, usize) {
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

impl EventHandler for RecordingHandler {
    fn on_notification(&self, news: Notification<'_>) {
        let Notification::Changed(change, origin) = news else {
            return;
        };
        if let Some(new) = &change.new {
            let (uid, version) = (new.metadata.uid.to_string(), new.metadata.version());
            let before = self.versions.lock().insert(uid, version);
            let again = self.may_return.load(Ordering::Relaxed) && before == Some(version);
            assert!(before < Some(version) || again, "back in time");
        }
        let named = |object: &Option<Object>, sign: char| {
            let metadata = object.as_ref().map(|object| &object.metadata);
            metadata.map_or(String::new(), |metadata| {
                format!("{sign}{}", metadata.key.name)
            })
        };
        let text = named(&change.old, '-') + &named(&change.new, '+');
        let from = match origin {
            Origin::List => "",
            Origin::Watch => "~",
            Origin::Answer => "!",
        };
        self.heard.lock().push(text + from);
    }
}

impl RecordingHandler {
    /// What was heard since the last time: `+a` came by a list, `-a+a~` changed by the watch, `-a!` is
    /// gone by an answer to somebody else.
    fn told(&self) -> String {
        let mut heard = std::mem::take(&mut *self.heard.lock());
        if heard.iter().all(|one| !one.ends_with(['~', '!'])) {
            heard.sort();
        }
        heard.join(" ")
    }
}

pub(crate) fn config_maps() -> InformerKey {
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

pub(crate) fn key(name: &str) -> Key {
    Key::new(Some("default"), name)
}

fn names(subscription: &Subscription) -> String {
    let objects = subscription.list(None, &LabelSelector::default());
    let names = objects.iter().map(|object| &*object.metadata.key.name);
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_streams_and_goes_on_as_a_watch() {
    let world = World::new();
    world.create("a").await;
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+a");
    world.create("b").await;
    world.change("a", "1").await;
    world.delete("b").await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+b~ -a+a~ -b~");
    assert_eq!(names(&maps), "a");
    assert_eq!(world.requests(), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_after_the_time_that_was_asked_for() {
    let world = World::new();
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    for name in ["a", "b", "c"] {
        world.wait(601 * SECOND).await;
        world.create(name).await;
    }
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+a~ +b~ +c~");
    let (streams, pages, watches) = world.requests();
    assert_eq!((streams, pages), (1, 0), "no new list");
    assert!(
        (3..=6).contains(&watches),
        "{watches} watches of 5 to 10 minutes"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_enter_and_leave_the_selector_come_and_go() {
    let world = World::new();
    world.create("a").await;
    world.create("b").await;
    let (maps, handler) = world.subscribe(InformerKey {
        label_selector: Some("app=a".into()),
        ..config_maps()
    });
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+a");
    for (name, app) in [("b", "a"), ("a", "c")] {
        let change = json!({ "metadata": { "labels": { "app": app } } });
        world
            .send("PATCH", &format!("{MAPS}/{name}"), &change)
            .await;
    }
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+b~ -a~");
}
