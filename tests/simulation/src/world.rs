//! One world: an API server with its controllers, hosts and a user, all tasks of one thread.
//!
//! - Time is paused, so it moves only when everybody waits; who waits how long is drawn from one seed.
//!   That is the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use windlass_apiserver::request::query::Query;
use windlass_apiserver::request::route::Route;
use windlass_apiserver::request::{Request, User};
use windlass_apiserver::seams as server;
use windlass_apiserver::server::{Options, Server};
use windlass_host::controller::{Archive, Record};
use windlass_host::hosting::LastGood;
use windlass_host::lease::Times;
use windlass_host::seams::{Clock, Process};
use windlass_host::source::Candidate;

use crate::kit::Kit;
use crate::network::Network;
use crate::replica::Alive;
use crate::run::Case;
use crate::trace::Trace;
use crate::which::Which;

/// When every run begins.
pub const START: &str = "2026-11-21T09:30:00Z";

/// Where the hosts have their Lease.
pub const NAMESPACE: &str = "kube-system";

/// One world.
pub struct World {
    /// What all worlds share.
    pub kit: &'static Kit,
    /// The plugin that it is about.
    pub which: Which,
    /// The API server.
    pub server: Server,
    /// The time of everybody.
    pub clock: Clock,
    /// What happens.
    pub trace: Trace,
    /// The times of the Leases.
    pub times: Times,
    /// What goes wrong.
    pub network: Network,
    /// Hosts, by place; none where one is down.
    hosts: Mutex<Vec<Option<Alive>>>,
    /// All hosts that came up, and what they record.
    lives: Mutex<Vec<(Arc<str>, Archive)>>,
    /// What the hosts are asked to run.
    plugin: Mutex<Candidate>,
    /// Only small latencies from now on, and nothing else goes wrong.
    healed: AtomicBool,
    /// Hosts that stop are not followed by others.
    closing: AtomicBool,
    /// Hosts that start tell each other of crashes.
    shares_crashes: AtomicBool,
    /// Where hosts that start keep their last good versions, if they do.
    last_good: Mutex<Option<LastGood>>,
    rng: Mutex<fastrand::Rng>,
}

/// Renewed every minute: a run of ten minutes at rest has few requests.
fn slow() -> Times {
    Times {
        lease_duration: Duration::from_secs(200),
        renew_deadline: Duration::from_secs(130),
        retry_period: Duration::from_secs(60),
    }
}

impl World {
    /// The world of a case before anything has happened.
    ///
    /// # Errors
    /// The kit could not be made.
    pub fn new(case: &Case) -> anyhow::Result<Arc<Self>> {
        Self::with(case, true)
    }

    /// The same, where nothing is kept of what has happened.
    ///
    /// # Errors
    /// The kit could not be made.
    pub fn without_history(case: &Case) -> anyhow::Result<Arc<Self>> {
        Self::with(case, false)
    }

    fn with(case: &Case, history: bool) -> anyhow::Result<Arc<Self>> {
        let (seed, faults) = (case.seed, &case.faults);
        let start: Timestamp = START.parse()?;
        let clock = Clock::starting_at(start);
        let server = Server::with(
            server::Seams {
                clock: server::Clock::new(move || clock.wall()),
                rng: server::Rng::seeded(seed),
            },
            Options {
                history,
                ..Options::default()
            },
        );
        let kit = Kit::get()?;
        let about_leases = faults.iter().any(|fault| fault.what.is_about_leases());
        let world = Arc::new(Self {
            kit,
            which: case.which,
            server,
            clock,
            trace: if history {
                Trace::new()
            } else {
                Trace::of_nothing()
            },
            times: if about_leases {
                Times::default()
            } else {
                slow()
            },
            network: Network::new(faults),
            hosts: Mutex::new((0..case.hosts).map(|_| None).collect()),
            lives: Mutex::default(),
            plugin: Mutex::new(kit.plugin(case.which).asked.clone()),
            healed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            shares_crashes: AtomicBool::new(false),
            last_good: Mutex::default(),
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
        });
        for object in &kit.plugin(case.which).cluster {
            let plural = match object.get("kind").and_then(Value::as_str) {
                Some("Namespace") => "/api/v1/namespaces",
                _ => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            };
            let (code, _) = world.ask(Method::POST, plural, object);
            ensure!(code == 201, "the cluster cannot be set up: {code}");
        }
        world.network.arm(&world.server);
        Ok(world)
    }

    /// A number below `end`.
    pub fn below(&self, end: u64) -> u64 {
        let mut rng = self.rng.lock();
        if end == 0 { 0 } else { rng.u64(..end) }
    }

    /// How long something takes on its way.
    pub fn latency(&self) -> Duration {
        let longest = match self.below(100) {
            _ if self.is_healed() => 5,
            0 => 700,
            1..10 => 60,
            _ => 8,
        };
        Duration::from_millis(self.below(longest))
    }

    /// Waits for as long as something takes on its way.
    pub async fn travel(&self) {
        let latency = self.latency();
        if !latency.is_zero() {
            self.clock.sleep(latency).await;
        }
    }

    /// Nothing goes wrong from now on but what goes wrong every day.
    pub fn heal(&self) {
        self.trace.deed("chance", "heals everything");
        self.healed.store(true, Ordering::Relaxed);
        self.network.heal();
        self.server.faults().heal();
        self.network.every_day(&self.server);
        for alive in self.hosts().iter().flatten() {
            alive.process.thaw();
        }
    }

    /// Whether everything is healed.
    pub fn is_healed(&self) -> bool {
        self.healed.load(Ordering::Relaxed)
    }

    /// Hosts that stop are not followed by others from now on.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether hosts that stop are not followed by others.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Hosts that start tell each other of crashes from now on, as `windlass run` does.
    pub fn share_crashes(&self) {
        self.shares_crashes.store(true, Ordering::Relaxed);
    }

    /// Whether hosts tell each other of crashes.
    pub fn shares_crashes(&self) -> bool {
        self.shares_crashes.load(Ordering::Relaxed)
    }

    /// Hosts that start resume what is kept there from now on, as `windlass run --state-dir` does.
    pub fn keep_last_good(&self, last_good: LastGood) {
        let mut held = self.last_good.lock();
        *held = Some(last_good);
    }

    /// Where hosts keep their last good versions.
    pub fn last_good(&self) -> Option<LastGood> {
        let held = self.last_good.lock();
        held.clone()
    }

    /// What the hosts are asked to run.
    pub fn plugin(&self) -> Candidate {
        let plugin = self.plugin.lock();
        plugin.clone()
    }

    /// What hosts that start are asked to run.
    pub fn set_plugin(&self, plugin: Candidate) {
        *self.plugin.lock() = plugin;
    }

    /// The hosts, by place.
    pub fn hosts(&self) -> MutexGuard<'_, Vec<Option<Alive>>> {
        self.hosts.lock()
    }

    /// A host comes up, and will record its passes.
    pub fn comes_up(&self, name: &Arc<str>, records: Archive) {
        let mut lives = self.lives.lock();
        lives.push((name.clone(), records));
    }

    /// The passes of each host that came up.
    pub fn passes(&self) -> Vec<(Arc<str>, Vec<Arc<Record>>)> {
        let lives = self.lives.lock();
        let all = lives.iter();
        let plugin = self.which.name();
        all.map(|(name, records)| (name.clone(), records.of(plugin).all()))
            .collect()
    }

    /// The host that has the Lease, if it lives.
    pub fn leader(&self) -> Option<Alive> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{}",
            self.which.lease()
        );
        let (_, lease) = self.ask(Method::GET, &path, &Value::Null);
        let holder = lease.pointer("/spec/holderIdentity")?.as_str()?.to_owned();
        let hosts = self.hosts();
        hosts
            .iter()
            .flatten()
            .find(|alive| *alive.name == *holder)
            .cloned()
    }

    /// The host that a fault is to hit: the leader, or else the first.
    pub fn victim(&self) -> Option<Alive> {
        self.leader()
            .or_else(|| self.hosts().iter().flatten().next().cloned())
    }

    /// The process of a host that is alive.
    pub fn process(&self, name: &str) -> Option<Process> {
        let hosts = self.hosts();
        let alive = hosts.iter().flatten().find(|alive| *alive.name == *name);
        alive.map(|alive| alive.process.clone())
    }

    /// What a user asks the server, and gets at once, whatever goes wrong with the hosts.
    pub fn ask(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.ask_as("user", method, path, body)
    }

    /// The same as somebody else.
    pub fn ask_as(&self, user: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let mut headers = HeaderMap::new();
        let kind = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Ok(agent) = HeaderValue::from_str(user) {
            headers.insert(http::header::USER_AGENT, agent);
        }
        let body = match body {
            Value::Null => Bytes::new(),
            body => Bytes::from(body.to_string()),
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let answer = self.server.answer(&Request {
            method,
            path: path.to_owned(),
            route: Route::parse(path),
            query: Query::parse(query),
            headers,
            body,
            user: User {
                name: user.to_owned(),
                ..User::admin()
            },
        });
        let code = answer.code.as_u16();
        let body = futures::FutureExt::now_or_never(answer.body.whole());
        let value = serde_json::from_slice(&body.unwrap_or_default());
        (code, value.unwrap_or_default())
    }
}
