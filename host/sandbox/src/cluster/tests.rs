//! Calls on the embedded server: what it sends, and what becomes of it there.

mod answers;
mod applied;
mod arbitrary;
mod bulk;
mod children;
mod create;
mod delete_all;
mod denied;
mod drift;
mod kinds;
mod memory;
mod names;
mod observed;
mod owners;
mod ownership;
mod patch;
mod read;
mod repeat;
mod replaces;
mod reported;
mod reserved;
mod rights;
mod select;
mod set;
mod slices;
mod slow;
mod sources;
mod told;
mod unchanged;
mod unwatched;
mod update;

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_apiserver::history::Record;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::{Options, Server};

use super::{Call, CapturedWrites, ClusterAccess, Primary, WriteMode};
use crate::bindings::cluster::{Consistency, DeleteOptions, Error, PatchType};
use crate::bindings::types::ObjectRef;
use crate::{CustomMetrics, Hints, HostCalls, Rates};
use windlass_base::flowcontrol::Throttled;
use windlass_base::memory::Account;
use windlass_base::seams::{Clock, Rng, Seams, Spawn, Task};
use windlass_kube::api::{Api, Discovery, Resource, ServiceAccount};
use windlass_kube::events::Recorder;
use windlass_kube::informer::{InformerKey, Informers, Notification, Settings, Subscription};
use windlass_kube::object::{Fields, Key, finalizer_of, manager_of};
use windlass_policy::grants::{Grant, Grants, Scope, Used};
use windlass_policy::rights::{PluginApi, Rights};
use windlass_view::{Enqueue, KeyQueue, View, WatchSpec};

/// Who is not the host, in the server's history.
const SOMEBODY: &str = "somebody";

const CRD: &str = include_str!("../../../../plugins/greeter/greeting.crd.yaml");

/// A server, and a plugin's access to it with a view that is refreshed when the test says so.
struct World {
    server: Server,
    cluster: Arc<ClusterAccess>,
    /// The keys that the view wanted to run.
    woken: Arc<Mutex<Vec<Key>>>,
    informers: Informers,
    watched: Mutex<Vec<Arc<Subscription>>>,
    /// What came up to this revision was there before the first host.
    filled: u64,
    _events: Task,
}

impl World {
    /// A world with the Greeting `ada` in `default`.
    async fn new() -> Self {
        let server = Server::with(
            server::Seams {
                clock: server::Clock::new(start),
                rng: server::Rng::seeded(1),
            },
            Options {
                history: true,
                ..Options::default()
            },
        );
        Self::fill(&server).await;
        let filled = server.store().revision();
        Self::on(server, filled, Setting::default()).await
    }

    /// The same host after a restart: it remembers nothing.
    async fn restarted(self) -> Self {
        self.set(Setting::default()).await
    }

    /// The same, in another setting.
    async fn set(self, setting: Setting) -> Self {
        Self::on(self.server, self.filled, setting).await
    }

    async fn fill(server: &Server) {
        let crd: Value = serde_saphyr::from_str(CRD).unwrap();
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(send(server, "POST", crds, &crd).await.0, 201);
        for name in ["ada", "bob"] {
            let greeting = json!({
                "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
                "metadata": { "name": name }, "spec": { "name": name },
            });
            let greetings = "/apis/examples.windlass.dev/v1/namespaces/default/greetings";
            let (code, answer) = send(server, "POST", greetings, &greeting).await;
            assert_eq!(code, 201, "{answer}");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    async fn on(server: Server, filled: u64, setting: Setting) -> Self {
        let seams = Seams {
            clock: Clock::starting_at(start()),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(tokio::runtime::Handle::current()),
        };
        let api = Api::in_process(server.clone(), seams.clone());
        let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
        let resource = discovery
            .by_kind("examples.windlass.dev/v1", "Greeting")
            .await;
        let woken = Arc::<Mutex<Vec<Key>>>::default();
        let view = View::new(
            watch_spec(resource.unwrap().unwrap(), &setting),
            Arc::new(Woken(woken.clone())),
            &setting.account,
        );
        let rights = Rights::new(api.clone(), seams.clock);
        let (events, task) = Recorder::start(api.clone(), &seams, "test");
        let settings = Settings::default();
        let informers = Informers::new(api.clone(), discovery.clone(), seams, settings);
        let replaced = setting.replaces.iter().map(|it| (*it).to_owned());
        let replaced: Vec<String> = replaced.collect();
        let api = match setting.writes {
            WriteMode::Observed => api.read_only(),
            WriteMode::Sent | WriteMode::Captured => api,
        };
        let cluster = ClusterAccess {
            plugin: "greeter".into(),
            api: PluginApi::of(&api, setting.service_account.as_ref(), &rights),
            discovery,
            used: Used::default(),
            calls: HostCalls::default(),
            custom_metrics: CustomMetrics::default(),
            grants: grants(&setting),
            hints: Hints::on(&setting.account),
            rates: Rates::default(),
            throttled: Throttled::default(),
            http: None,
            replaces: super::Replaces::of(&replaced),
            reporter: setting.reporter.map(Arc::from),
            view: Arc::new(view),
            events,
            account: setting.account,
            writes: setting.writes,
            captured: CapturedWrites::default(),
        };
        let world = Self {
            server,
            cluster: Arc::new(cluster),
            woken,
            informers,
            watched: Mutex::default(),
            filled,
            _events: task,
        };
        world.watch("examples.windlass.dev/v1", "Greeting").await;
        if setting.sees_maps {
            world.watch("v1", "ConfigMap").await;
        }
        world.watch("apps/v1", "Deployment").await;
        world
    }

    async fn resource(&self, api_version: &str, kind: &str) -> Resource {
        let found = self.cluster.discovery.by_kind(api_version, kind).await;
        found.unwrap().unwrap()
    }

    /// From now on the view holds this kind, as it is at the server.
    async fn watch(&self, api_version: &str, kind: &str) {
        let resource = self.resource(api_version, kind).await;
        let watched = InformerKey::all_of(resource.clone());
        let (view, of) = (Arc::downgrade(&self.cluster.view), resource.clone());
        let heard = move |news: Notification<'_>| {
            if let Some(view) = view.upgrade() {
                view.on_notification(&of, news);
            }
        };
        let all = Fields::default();
        let informer =
            self.informers
                .subscribe(watched, all, Box::new(heard), &Account::unlimited());
        let informer = Arc::new(informer);
        informer.synced().await;
        self.watched.lock().push(informer.clone());
        self.cluster
            .view
            .watch(resource, Scope::All, vec![informer]);
    }

    /// Waits until the view has caught up with the server.
    async fn refresh(&self, resource: &Resource) {
        let informers = self.watched.lock().clone();
        for informer in informers {
            if informer.watched().resource == *resource {
                informer.barrier().await;
            }
        }
    }

    /// A call about the Greeting `name`.
    async fn call_for(&self, name: &str) -> Call {
        let resource = self.resource("examples.windlass.dev/v1", "Greeting").await;
        let key = Key::new(Some("default"), name);
        let object = self.cluster.view.get(&resource, &key).unwrap();
        let uid = object.metadata.uid.to_string();
        Call::new(self.cluster.clone(), Primary { resource, key, uid })
    }

    /// A call about `ada`.
    async fn call(&self) -> Call {
        self.call_for("ada").await
    }

    /// Somebody else does something.
    async fn somebody(&self, method: &str, path: &str, body: &Value) -> Value {
        let (code, answer) = send(&self.server, method, path, body).await;
        assert!((200..300).contains(&code), "{method} {path}: {answer}");
        answer
    }

    /// What is at the server.
    async fn read(&self, path: &str) -> Option<Value> {
        let (code, answer) = send(&self.server, "GET", path, &Value::Null).await;
        (code == 200).then_some(answer)
    }

    /// The accepted writes of the host.
    fn writes(&self) -> Vec<Record> {
        let mut records = self.server.history().records();
        records.retain(|record| record.revision > self.filled && record.agent != SOMEBODY);
        records
    }
}

/// Notes the keys that a view wakes.
struct Woken(Arc<Mutex<Vec<Key>>>);

impl KeyQueue for Woken {
    fn enqueue(&self, wakeup: Enqueue) {
        self.0.lock().push(wakeup.key);
    }
}

/// What a host is like.
struct Setting {
    /// What may be done to ConfigMaps.
    verbs: &'static [&'static str],
    /// Whether ConfigMaps have been listed.
    sees_maps: bool,
    writes: WriteMode,
    /// Where its memory counts.
    account: Account,
    /// The field managers that the plugin replaces.
    replaces: &'static [&'static str],
    /// Who reports the plugin's Events.
    reporter: Option<&'static str>,
    /// Whether the plugin may take over ConfigMaps, and put the finalizer `example.com/hold` on them.
    adopts: bool,
    /// What the plugin reads of a Greeting; none for all of it.
    fields: &'static [&'static str],
    /// Whether a change of a Greeting's status alone does not run it.
    spec_change_only: bool,
    /// Who the plugin acts as.
    service_account: Option<ServiceAccount>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
            sees_maps: true,
            writes: WriteMode::Sent,
            account: Account::unlimited(),
            replaces: &[],
            reporter: None,
            adopts: false,
            fields: &[],
            spec_change_only: false,
            service_account: None,
        }
    }
}

fn start() -> Timestamp {
    "2026-11-21T09:30:00Z".parse().unwrap()
}

fn watch_spec(primary: Resource, setting: &Setting) -> WatchSpec {
    let name = (primary.group.clone(), primary.plural.clone());
    let fields = Fields::parse(setting.fields.iter().copied()).unwrap();
    WatchSpec {
        fields: [(name, fields)].into(),
        spec_change_only: setting.spec_change_only,
        finalizer: finalizer_of("greeter"),
        manager: manager_of("greeter"),
        watches: [("", "configmaps"), ("apps", "deployments")]
            .map(|(group, plural)| (group.to_owned(), plural.to_owned()))
            .into(),
        ..windlass_view::testing::watch_spec(primary)
    }
}

fn grants(setting: &Setting) -> Grants {
    let (map_verbs, adopts) = (setting.verbs, setting.adopts);
    let all = Setting::default().verbs;
    let finalizers: &[&str] = if adopts { &["example.com/hold"] } else { &[] };
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings", "greetings/status"],
          "verbs": ["get", "list", "watch", "update", "patch"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": map_verbs, "namespaces": ["default", "away"],
          "adopt": adopts, "finalizers": finalizers },
        { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": all },
        { "apiGroups": ["batch"], "resources": ["jobs"], "verbs": all },
        { "apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"] },
        { "apiGroups": [""], "resources": ["namespaces"], "verbs": all, "namespaces": "all" },
        { "apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get", "update", "patch"] },
        { "apiGroups": [""], "resources": ["namespaces/finalize"], "verbs": ["update"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": all,
          "namespaces": "all" },
        { "apiGroups": [""], "resources": ["pods/eviction", "pods/binding"], "verbs": ["create"] },
    ]);
    let grants: Vec<Grant> = serde_json::from_value(grants).unwrap();
    Grants::new(grants.into_iter().map(Grant::acknowledged).collect()).unwrap()
}

/// A request of somebody else.
async fn send(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let media_type = match method {
        "PATCH" if body.get("apiVersion").is_some() => "application/apply-patch+yaml",
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .header("user-agent", SOMEBODY);
    let bytes = if body.is_null() {
        bytes::Bytes::new()
    } else {
        body.to_string().into()
    };
    let response = server.handle(request.body(Full::new(bytes)).unwrap()).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// An object in `default`.
fn reference(api_version: &str, kind: &str, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: Some("default".into()),
        name: name.into(),
    }
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": data,
    })
}

const NO_OPTIONS: DeleteOptions = DeleteOptions {
    uid: None,
    resource_version: None,
    propagation: None,
    grace_period_seconds: None,
};

/// An answer as the guest gets it.
fn parsed(answer: Result<String, Error>) -> Value {
    serde_json::from_str(&answer.unwrap()).unwrap()
}
