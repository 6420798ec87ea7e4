//! Kubernetes Events (`events.k8s.io/v1`), recorded off the hot path.
//!
//! - The Events of a plugin with a service account are sent as that account.
//! - Publishing never waits: what exceeds the plugin's limit, its share of the host's, the limit of one object, or the
//!   queue is dropped and counted.
//! - Repetitions become one series: the first is created, the second and every doubling after it
//!   update the count, and so do a new text and each half hour. The key of a series leaves the note out, as client-go's
//!   does.
//! - What the API server does not take is counted, and logged once for each reason; but a namespace that is terminating
//!   takes none, and nobody would read them.

mod writer;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::api::{Api, ApiError};
use crate::object::Key;
use windlass_base::flowcontrol::{Claim, Quota, QuotaDecision, Rate, Throttled, WEIGHT};
use windlass_base::seams::{Clock, Seams, Task};
use windlass_base::text::clean;
use writer::{EventResult, Writer};

/// Events that wait to be sent.
const WAITING: usize = 1000;

/// Events that a plugin of the usual weight may publish at once, and each second after that.
const BURST: f64 = 100.0;
const REFILL: f64 = 5.0;

/// Events that all plugins together may publish, unless [`Recorder::limit`] says otherwise: one after the other, at the
/// latency of a busy API server.
const ALL: Rate = Rate {
    per_second: 50.0,
    burst: 500.0,
};

/// How long a host that ends waits for its last Events to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// So many reasons for which Events were not taken are logged for each plugin, and so much of each.
const REASONS: usize = 16;
const REASON: usize = 64;
/// So much of the API server's words is logged.
const WORDS: usize = 1 << 10;

/// What an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Regarding {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Its name. The Events of a cluster-scoped object are in `default`.
    pub key: Key,
    /// Its UID, if it is known.
    pub uid: Option<String>,
}

/// How an Event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Good to know.
    Normal,
    /// Somebody should look.
    Warning,
}

/// One thing worth telling.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which plugin it comes from.
    pub plugin: Arc<str>,
    /// Who reports it; none for `windlass.dev/` and the plugin.
    pub reporter: Option<Arc<str>>,
    /// What it is about.
    pub regarding: Regarding,
    /// What else plays a part.
    pub related: Option<Regarding>,
    /// How it is shown.
    pub severity: Severity,
    /// Why, in CamelCase.
    pub reason: String,
    /// What was done, in CamelCase.
    pub action: String,
    /// A sentence.
    pub note: String,
}

/// Where Events go. Cheap to clone.
#[derive(Clone)]
pub struct Recorder {
    letters: mpsc::Sender<Letter>,
    clock: Clock,
    shared: Arc<Mutex<RecorderState>>,
    /// As whom it sends Events; none for the host.
    account: Option<Api>,
    /// Whether it publishes nothing.
    is_muted: bool,
}

/// What the sending task is handed.
enum Letter {
    /// An Event, and as whom it is sent; none for the host.
    Note(Box<(Event, Option<Api>)>),
    /// Somebody wants to know when all before it is sent.
    Flush(oneshot::Sender<()>),
}

/// What is shared between plugins.
#[derive(Debug)]
struct RecorderState {
    quota: Quota,
    plugins: HashMap<Arc<str>, PluginQuota>,
}

/// What is known of a plugin.
#[derive(Debug)]
struct PluginQuota {
    weight: u32,
    throttled: Throttled,
    /// For which reasons the API server did not take its Events: these are logged.
    failed: BTreeSet<String>,
}

impl Default for PluginQuota {
    fn default() -> Self {
        Self {
            weight: WEIGHT,
            throttled: Throttled::default(),
            failed: BTreeSet::new(),
        }
    }
}

impl RecorderState {
    /// The API server did not take an Event of `plugin`. Counts it; answers the reason, if it is a new one.
    fn failed(&mut self, plugin: &Arc<str>, error: &ApiError) -> Option<String> {
        // client-go's recorder does not take these for errors either: the same Event was taken before.
        if error.is_of_terminating_namespace() || error.is_already_there() {
            return None;
        }
        let known = self.plugins.entry(plugin.clone()).or_default();
        known.throttled.failed_event();
        let reason = match error {
            ApiError::Status { reason, .. } => clean(reason, REASON),
            _ => "NoAnswer".to_owned(),
        };
        let is_new = known.failed.len() < REASONS && known.failed.insert(reason.clone());
        is_new.then_some(reason)
    }
}

/// What a plugin of this weight may publish.
fn rate(weight: u32) -> Rate {
    Rate {
        per_second: REFILL * f64::from(weight) / f64::from(WEIGHT),
        burst: BURST * f64::from(weight) / f64::from(WEIGHT),
    }
}

impl Recorder {
    /// Starts the task that sends Events as `instance`.
    pub fn start(api: Api, seams: &Seams, instance: &str) -> (Self, Task) {
        let (letters, mut waiting) = mpsc::channel(WAITING);
        let mut writer = Writer::new(seams.clone(), instance);
        let shared = RecorderState {
            quota: Quota::new(ALL),
            plugins: HashMap::new(),
        };
        let shared = Arc::new(Mutex::new(shared));
        let counts = shared.clone();
        let task = seams.spawn.task(async move {
            while let Some(letter) = waiting.recv().await {
                match letter {
                    Letter::Note(letter) => {
                        let (note, account) = *letter;
                        let plugin = note.plugin.clone();
                        match writer.write(account.as_ref().unwrap_or(&api), note).await {
                            Ok(EventResult::Told) => {}
                            Ok(EventResult::AtObjectLimit) => limited(&counts, &plugin),
                            Err(error) => failed(&counts, &plugin, &error),
                        }
                    }
                    Letter::Flush(done) => drop(done.send(())),
                }
            }
        });
        let recorder = Self {
            letters,
            clock: seams.clock,
            shared,
            account: None,
            is_muted: false,
        };
        (recorder, task)
    }

    /// The same, but it sends Events by `account`, which acts as a service account, if there is one.
    #[must_use]
    pub fn acting(&self, account: Option<Api>) -> Self {
        Self {
            account,
            ..self.clone()
        }
    }

    /// The same, but it publishes nothing.
    #[must_use]
    pub fn muted(&self) -> Self {
        Self {
            is_muted: true,
            ..self.clone()
        }
    }

    /// From now on all plugins together may publish so many.
    pub fn limit(&self, maximum: Rate) {
        self.shared.lock().quota.limit(Some(maximum));
    }

    /// The plugin has this weight from now on; what is dropped of its Events is counted there.
    pub fn knows(&self, plugin: &Arc<str>, weight: u32, throttled: &Throttled) {
        let mut shared = self.shared.lock();
        let known = shared.plugins.entry(plugin.clone()).or_default();
        known.weight = weight;
        known.throttled = throttled.clone();
    }

    /// The plugin is gone.
    pub fn forget(&self, plugin: &str) {
        let mut shared = self.shared.lock();
        shared.quota.forget(plugin);
        shared.plugins.remove(plugin);
    }

    /// Records an Event, if there is room.
    pub fn publish(&self, note: Event) {
        if self.is_muted {
            return;
        }
        let now = self.clock.now();
        let plugin = note.plugin.clone();
        let (taken, throttled) = {
            let mut shared = self.shared.lock();
            let RecorderState { quota, plugins } = &mut *shared;
            let known = plugins.entry(plugin.clone()).or_default();
            let claim = Claim {
                plugin: plugin.clone(),
                weight: known.weight,
                rate: rate(known.weight),
            };
            let taken = quota.take(now, &claim, 1.0);
            (taken, known.throttled.clone())
        };
        let why = match taken {
            QuotaDecision::Yes => {
                let letter = Letter::Note(Box::new((note, self.account.clone())));
                if self.letters.try_send(letter).is_ok() {
                    return;
                }
                "the API server takes no more of them"
            }
            QuotaDecision::OwnLimit => "the plugin is at its own limit",
            QuotaDecision::HostMaximum => {
                "the plugins together are at the host's maximum, --event-qps"
            }
        };
        dropped(&plugin, &throttled, why);
    }

    /// Waits until what was published so far is sent, but no longer than a host that ends can wait.
    pub async fn flush(&self) {
        let flushed = async {
            let (done, all_sent) = oneshot::channel();
            if self.letters.send(Letter::Flush(done)).await.is_ok() {
                let _ = all_sent.await;
            }
        };
        self.clock.within(LAST_WORDS, flushed).await;
    }
}

/// An Event of `plugin` is dropped. Counts it, and logs each doubling.
fn dropped(plugin: &str, throttled: &Throttled, why: &str) {
    throttled.dropped_event();
    let dropped = throttled.events();
    if dropped.is_power_of_two() {
        tracing::warn!(plugin, "{dropped} Events are dropped so far: {why}");
    }
}

/// The object of an Event of `plugin` has had as many as it may.
fn limited(shared: &Mutex<RecorderState>, plugin: &str) {
    let shared = shared.lock();
    let throttled = shared.plugins.get(plugin).map(|it| it.throttled.clone());
    drop(shared);
    // A plugin that is gone has no counters.
    if let Some(throttled) = throttled {
        let why = "one object has 25 Events at once, and one more every 5 minutes";
        dropped(plugin, &throttled, why);
    }
}

/// An Event of `plugin` could not be sent.
fn failed(shared: &Mutex<RecorderState>, plugin: &Arc<str>, error: &ApiError) {
    let mut shared = shared.lock();
    let reason = shared.failed(plugin, error);
    drop(shared);
    let (plugin, error) = (&**plugin, clean(&error.to_string(), WORDS));
    match reason {
        Some(reason) => tracing::warn!(
            plugin,
            reason,
            "cannot record an Event: {error}; windlass_events_failed_total counts more of them"
        ),
        None => tracing::debug!(plugin, "cannot record an Event: {error}"),
    }
}

#[cfg(test)]
mod tests;
