//! What is counted of one plugin, in whatever version.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use super::counts::{Loads, ObservedWrites};
use super::failure::FailureKind;
use super::history::{History, Interval, Totals};
use super::pass_metrics::PassMetrics;
use super::plugin_stage::{NotRunning, PluginStage, ReconciledKind, RunningVersion};
use super::smoke_test::SmokeTestReport;
use windlass_base::flowcontrol::{Seconds, Throttled};
use windlass_base::memory::Account;
use windlass_base::seams::watch;
use windlass_policy::grants::Used;
use windlass_sandbox::{CustomMetrics, HostCalls, HttpRequests, Rates};

/// A gauge of what cannot be negative.
pub(super) type UnsignedGauge = Gauge<u64, AtomicU64>;

/// What is counted of one plugin.
#[derive(Debug)]
pub struct PluginMetrics {
    /// Workers.
    pub(crate) max_concurrent: UnsignedGauge,
    /// Keys that came into the queue.
    pub(crate) adds: Counter,
    /// Keys that were to come into the queue after a delay.
    pub(crate) retries: Counter,
    /// How long keys waited for a worker, in seconds.
    pub(crate) queued: Histogram,
    /// How long workers had keys, in seconds.
    pub(crate) worked: Histogram,
    /// Whether this host has the plugin's Lease.
    pub leads: UnsignedGauge,
    /// CPU time of the guest, in seconds.
    pub cpu: Seconds,
    /// The guest's memory at its peak so far, in bytes.
    pub memory: UnsignedGauge,
    /// What it makes the host hold.
    pub(crate) account: OnceLock<Account>,
    /// Requests to the API server.
    pub(crate) requests: Counter,
    /// Keys whose last pass failed.
    pub(crate) failing: UnsignedGauge,
    /// Objects that somebody has paused.
    pub paused: UnsignedGauge,
    /// Writes that were not sent since the plugin observes, and would have changed something.
    pub(crate) observed: ObservedWrites,
    /// Objects of a plugin that observes whose last pass would have written something.
    pub differing: UnsignedGauge,
    /// Fields that became hot.
    pub(crate) hot_loops: Counter,
    /// Versions that took over.
    pub swapped: Counter,
    /// Versions that were refused.
    pub refused: Counter,
    /// Versions that failed their trial.
    pub rolled_back: Counter,
    /// Versions that were loaded, by where their code came from.
    pub loads: Loads,
    /// Components that were fetched from registries and ConfigMaps.
    pub fetched: Counter,
    /// What of its grants it has used.
    pub(crate) used: Used,
    /// What its calls asked for.
    pub(crate) calls: HostCalls,
    /// Numbers of the plugin's own.
    pub(crate) custom_metrics: CustomMetrics,
    /// What it does only so often.
    pub(crate) rates: Rates,
    /// What it waited for, and what it lost.
    pub(crate) throttled: Throttled,
    /// Its HTTP requests.
    pub http: HttpRequests,
    /// What is counted of its passes, by the name of the kind.
    kinds: Mutex<BTreeMap<String, Arc<PassMetrics>>>,
    /// Calls that did not end well, by how they ended.
    failures: Mutex<BTreeMap<FailureKind, u64>>,
    stage: Mutex<PluginStage>,
    /// Who has its Lease, if that is another host.
    holder: Mutex<Option<String>>,
    refusal: Mutex<Option<NotRunning>>,
    history: Mutex<History>,
    about: Mutex<Option<RunningVersion>>,
    /// All of the digest of the last good version's component.
    last_good: Mutex<Option<String>>,
    smoke_test: Mutex<Option<SmokeTestReport>>,
    /// The kinds that a version reconciles which does not run yet; none if no version could say so.
    claim: Mutex<Vec<ReconciledKind>>,
    moved: watch::Sender<()>,
    backlog: Mutex<Option<Weak<dyn Backlog>>>,
}

/// What waits, and what is worked on.
pub(crate) trait Backlog: Send + Sync {
    /// As it is now.
    fn waiting(&self) -> QueueDepth;
}

/// What waits in a queue now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Keys that wait for a worker.
    pub normal: usize,
    /// Keys that wait for those.
    pub low: usize,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// How long the oldest of the first two has waited.
    pub oldest: Duration,
    /// Keys that workers have.
    pub running: usize,
    /// How long they have had them, in all.
    pub unfinished: Duration,
    /// How long one of them has had its key.
    pub longest: Duration,
}

impl Default for PluginMetrics {
    fn default() -> Self {
        // client-go's buckets of the work queue: 10 ns to 1000 s.
        let queue = || Histogram::new(exponential_buckets(10e-9, 10.0, 12));
        Self {
            max_concurrent: UnsignedGauge::default(),
            adds: Counter::default(),
            retries: Counter::default(),
            queued: queue(),
            worked: queue(),
            leads: UnsignedGauge::default(),
            cpu: Seconds::default(),
            memory: UnsignedGauge::default(),
            account: OnceLock::new(),
            requests: Counter::default(),
            failing: UnsignedGauge::default(),
            paused: UnsignedGauge::default(),
            observed: ObservedWrites::default(),
            differing: UnsignedGauge::default(),
            hot_loops: Counter::default(),
            swapped: Counter::default(),
            refused: Counter::default(),
            rolled_back: Counter::default(),
            loads: Loads::default(),
            fetched: Counter::default(),
            used: Used::default(),
            calls: HostCalls::default(),
            custom_metrics: CustomMetrics::default(),
            rates: Rates::default(),
            throttled: Throttled::default(),
            http: HttpRequests::default(),
            kinds: Mutex::default(),
            failures: Mutex::default(),
            stage: Mutex::default(),
            holder: Mutex::default(),
            refusal: Mutex::default(),
            history: Mutex::default(),
            about: Mutex::default(),
            last_good: Mutex::default(),
            smoke_test: Mutex::default(),
            claim: Mutex::default(),
            moved: watch::Sender::new(()),
            backlog: Mutex::default(),
        }
    }
}

impl fmt::Debug for dyn Backlog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.waiting().fmt(formatter)
    }
}

impl PluginMetrics {
    /// A call did not end well; `how` is one of a closed set.
    pub(crate) fn failed(&self, kind: FailureKind) {
        let mut failures = self.failures.lock();
        *failures.entry(kind).or_default() += 1;
    }

    /// How often calls did not end well.
    pub(super) fn failures(&self) -> BTreeMap<FailureKind, u64> {
        self.failures.lock().clone()
    }

    /// The plugin is that far now.
    pub fn reached(&self, stage: PluginStage) {
        *self.stage.lock() = stage;
        self.moved.send_replace(());
    }

    /// There is no component yet, for this reason; or there is one now. A plugin that runs is left alone.
    pub fn waits_for_component(&self, why: Option<String>) {
        let is_known = self.about().is_some();
        if !is_known && matches!(self.stage(), PluginStage::Loading | PluginStage::Waiting(_)) {
            self.reached(why.map_or(PluginStage::Loading, PluginStage::Waiting));
        }
    }

    /// Another host has the plugin's Lease, or none is known to have it.
    pub fn held_by(&self, holder: Option<&str>) {
        let holder = holder.map(str::to_owned);
        let before = std::mem::replace(&mut *self.holder.lock(), holder.clone());
        if before != holder {
            self.moved.send_replace(());
        }
    }

    /// Who has the plugin's Lease, if another host is known to have it.
    pub fn holder(&self) -> Option<String> {
        self.holder.lock().clone()
    }

    /// How far the plugin is.
    pub fn stage(&self) -> PluginStage {
        self.stage.lock().clone()
    }

    /// The newest version that was asked for does not run, for this reason; or it does.
    pub fn refuses(&self, held: Option<NotRunning>) {
        *self.refusal.lock() = held;
        self.moved.send_replace(());
    }

    /// Why the newest version that was asked for does not run, if it does not.
    pub fn refusal(&self) -> Option<String> {
        self.not_running().map(|held| held.why)
    }

    /// Whether the newest version that was asked for is quarantined.
    pub fn is_quarantined(&self) -> bool {
        let held = self.refusal.lock();
        held.as_ref().is_some_and(|held| held.is_quarantined)
    }

    /// The same, with what tells one refusal from another.
    pub fn not_running(&self) -> Option<NotRunning> {
        self.refusal.lock().clone()
    }

    /// What is counted of its passes over objects of `kind`; at 0 if there was none.
    pub(crate) fn passes_over(&self, kind: &str) -> Arc<PassMetrics> {
        let mut kinds = self.kinds.lock();
        match kinds.get(kind) {
            Some(passes) => passes.clone(),
            None => kinds.entry(kind.to_owned()).or_default().clone(),
        }
    }

    /// What is counted of its passes, by the name of the kind. Without a name, until a version has said what it
    /// reconciles.
    pub(super) fn by_kind(&self) -> Vec<(String, Arc<PassMetrics>)> {
        let kinds = self.kinds.lock();
        if kinds.is_empty() {
            return vec![(String::new(), Arc::default())];
        }
        let kinds = kinds.iter();
        let kinds = kinds.map(|(kind, passes)| (kind.clone(), passes.clone()));
        kinds.collect()
    }

    /// How many passes have ended.
    pub fn passes(&self) -> u64 {
        let kinds = self.kinds.lock();
        kinds.values().map(|passes| passes.ended()).sum()
    }

    /// How many passes have failed.
    pub fn failed_passes(&self) -> u64 {
        let kinds = self.kinds.lock();
        kinds.values().map(|passes| passes.error.get()).sum()
    }

    /// A step of its history is over.
    pub(super) fn ticks(&self) {
        let totals = Totals {
            passes: self.passes(),
            hot_loops: self.hot_loops.get(),
            throttled_ms: self.throttled.request_millis(),
            log_lines: self.throttled.log_lines(),
            events: self.throttled.events(),
        };
        self.history.lock().ends(totals);
    }

    /// What it did in the last ten minutes, the oldest step first.
    pub fn history(&self) -> Vec<Interval> {
        self.history.lock().steps()
    }

    /// This version runs now, or stands by.
    pub fn is(&self, about: RunningVersion) {
        *self.about.lock() = Some(about);
        self.moved.send_replace(());
    }

    /// The version whose component has this digest is the last good one.
    pub fn proves(&self, digest: String) {
        *self.last_good.lock() = Some(digest);
        self.moved.send_replace(());
    }

    /// All of the digest of the last good version's component.
    pub fn last_good(&self) -> Option<String> {
        self.last_good.lock().clone()
    }

    /// The smoke test of the newest version has shown this.
    pub fn tested(&self, report: SmokeTestReport) {
        *self.smoke_test.lock() = Some(report);
        self.moved.send_replace(());
    }

    /// What the last smoke test has shown that refused nothing.
    pub fn smoke_test(&self) -> Option<SmokeTestReport> {
        self.smoke_test.lock().clone()
    }

    /// A version says that it reconciles these, whether it is admitted or not.
    pub fn claims(&self, kinds: Vec<ReconciledKind>) {
        for reconciled in &kinds {
            self.passes_over(&reconciled.kind);
        }
        *self.claim.lock() = kinds;
    }

    /// What the plugin reconciles, or would; none if no version could say so.
    pub fn reconciles(&self) -> Vec<ReconciledKind> {
        let about = self.about().map(|about| about.kinds);
        about.unwrap_or_else(|| self.claim.lock().clone())
    }

    /// Notices that the plugin has moved on: its stage, its version, or what was refused.
    pub fn moves(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    /// The version that runs, or stands by.
    pub fn about(&self) -> Option<RunningVersion> {
        self.about.lock().clone()
    }

    /// Where keys wait from now on.
    pub(crate) fn waits_in(&self, queue: Weak<dyn Backlog>) {
        *self.backlog.lock() = Some(queue);
    }

    /// What waits now.
    pub fn waiting(&self) -> QueueDepth {
        let queue = self.backlog.lock().as_ref().and_then(Weak::upgrade);
        queue.map_or_else(QueueDepth::default, |queue: Arc<dyn Backlog>| {
            queue.waiting()
        })
    }
}
