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
use windlass_apiserver::options::Node;
use windlass_apiserver::request::query::Query;
use windlass_apiserver::request::route::Route;
use windlass_apiserver::request::{Request, User};
use windlass_apiserver::seams as server;
use windlass_apiserver::server::{Options, Server};
use windlass_base::seams::{Clock, Process};
use windlass_controller::controller::{Archive, Record};
use windlass_host::hosting::LastGood;
use windlass_kube::lease::Times;
use windlass_policy::source::Candidate;

use crate::kit::Kit;
use crate::network::Network;
use crate::replica::Alive;
use crate::run::Case;
use crate::trace::Trace;
use crate::which::Which;

/// The passes of hosts, by the hosts' names.
pub type Passes = Vec<(Arc<str>, Vec<Arc<Record>>)>;

/// When every run begins.
pub const START: &str = "2026-11-21T09:30:00Z";

/// Where the hosts have their Lease.
pub const NAMESPACE: &str = "kube-system";

/// How many simulated nodes run the pods of workloads.
const NODES: u32 = 2;

/// How long a pod of a Job runs.
const JOB_DURATION: Duration = Duration::from_millis(1500);

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
    /// What the hosts are asked to run: the plugin that it is about, and those beside it.
    asked: Mutex<(Candidate, Vec<Candidate>)>,
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

/// What the server is like: for workloads, it has nodes, and leaves the rest to the plugins.
fn options(which: Which, history: bool) -> anyhow::Result<Options> {
    let mut options = Options {
        history,
        ..Options::default()
    };
    if which.is_of_workloads() {
        let off = "*,-deployment-controller,-replicaset-controller,-job-controller";
        options.controllers = off.parse()?;
        options.node = Node::Full;
        options.nodes = NODES;
        options.job_duration = JOB_DURATION;
    }
    Ok(options)
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
            options(case.which, history)?,
        );
        let kit = Kit::get()?;
        let main = kit.plugin(case.which)?;
        let others = case.which.company().into_iter();
        let others = others.filter(|which| *which != case.which);
        let others = others.map(|which| Ok(kit.plugin(which)?.asked.clone()));
        let others = others.collect::<anyhow::Result<_>>()?;
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
            asked: Mutex::new((main.asked.clone(), others)),
            healed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            shares_crashes: AtomicBool::new(false),
            last_good: Mutex::default(),
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
        });
        for object in &main.cluster {
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

    /// What the hosts are asked to run: the plugin that the run is about.
    pub fn plugin(&self) -> Candidate {
        let asked = self.asked.lock();
        asked.0.clone()
    }

    /// All plugins that the hosts are asked to run.
    pub fn plugins(&self) -> Vec<Candidate> {
        let asked = self.asked.lock();
        let (main, others) = &*asked;
        std::iter::once(main).chain(others).cloned().collect()
    }

    /// What hosts that start are asked to run, beside the other plugins.
    pub fn set_plugin(&self, plugin: Candidate) {
        let mut asked = self.asked.lock();
        let (main, others) = &mut *asked;
        let mut others = others.iter_mut();
        match others.find(|other| other.document.name == plugin.document.name) {
            Some(other) => *other = plugin,
            None => *main = plugin,
        }
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
    pub fn passes(&self) -> Passes {
        self.passes_of(self.which)
    }

    /// The passes of each host that came up, of one plugin.
    pub fn passes_of(&self, which: Which) -> Passes {
        let lives = self.lives.lock();
        let all = lives.iter();
        all.map(|(name, records)| (name.clone(), records.of(which.name()).all()))
            .collect()
    }

    /// The host that has the Lease, if it lives.
    pub fn leader(&self) -> Option<Alive> {
        self.leader_of(self.which)
    }

    /// The host that has the Lease of a plugin, if it lives.
    pub fn leader_of(&self, which: Which) -> Option<Alive> {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{}",
            which.lease()
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
