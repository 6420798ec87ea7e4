//! Kubernetes Events (`events.k8s.io/v1`), recorded off the hot path.
//!
//! - Publishing never waits: what exceeds the queue is dropped and counted.
//! - Repetitions become one series: the first is created, the second and every doubling after it
//!   update the count. The key of a series leaves the note out, as client-go's does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::api::{Api, Request, object};
use crate::seams::{Clock, Seams, Task};

/// Events that wait to be sent.
const WAITING: usize = 1000;

/// Series that are remembered at most.
const SERIES: usize = 4096;

/// Events that a plugin may publish at once, and each second after that: one plugin's flood does not
/// push out the others'.
const BURST: f64 = 100.0;
const REFILL: f64 = 5.0;

/// How long a host that ends waits for its last Events to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A series ends after this long without a repetition.
const SERIES_END: Duration = Duration::from_secs(360);

/// What an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// None for a cluster-scoped object: its Events are in `default`.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
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
pub struct Note {
    /// Which plugin it comes from.
    pub plugin: Arc<str>,
    /// What it is about.
    pub regarding: About,
    /// What else plays a part.
    pub related: Option<About>,
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
#[derive(Clone, Debug)]
pub struct Recorder {
    letters: mpsc::Sender<Letter>,
    clock: Clock,
    budgets: Arc<Mutex<HashMap<Arc<str>, Budget>>>,
    dropped: Arc<AtomicU64>,
}

/// What the sending task is handed.
#[derive(Debug)]
enum Letter {
    Note(Box<Note>),
    /// Somebody wants to know when all before it is sent.
    Flush(oneshot::Sender<()>),
}

/// How many Events a plugin may publish now.
#[derive(Clone, Copy, Debug)]
struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    /// Takes one, if there is one by `now`.
    fn take(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() * REFILL;
        self.left = (self.left + earned).min(BURST);
        self.at = now;
        let granted = self.left >= 1.0;
        self.left -= if granted { 1.0 } else { 0.0 };
        granted
    }
}

impl Recorder {
    /// Starts the task that sends Events as `instance`.
    pub fn start(api: Api, seams: &Seams, instance: &str) -> (Self, Task) {
        let (letters, mut waiting) = mpsc::channel(WAITING);
        let mut writer = Writer {
            api,
            seams: seams.clone(),
            instance: instance.to_owned(),
            series: HashMap::new(),
        };
        let task = seams.spawn.task(async move {
            while let Some(letter) = waiting.recv().await {
                match letter {
                    Letter::Note(note) => writer.write(*note).await,
                    Letter::Flush(done) => drop(done.send(())),
                }
            }
        });
        let (clock, budgets) = (seams.clock, Arc::default());
        (
            Self {
                letters,
                clock,
                budgets,
                dropped: Arc::default(),
            },
            task,
        )
    }

    /// Records an Event, if there is room.
    pub fn publish(&self, note: Note) {
        let now = self.clock.now();
        let granted = {
            let mut budgets = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
            let full = Budget {
                left: BURST,
                at: now,
            };
            budgets.entry(note.plugin.clone()).or_insert(full).take(now)
        };
        let plugin = note.plugin.clone();
        let sent = granted && self.letters.try_send(Letter::Note(Box::new(note))).is_ok();
        if !sent
            && self
                .dropped
                .fetch_add(1, Ordering::Relaxed)
                .is_power_of_two()
        {
            let plugin = &*plugin;
            tracing::warn!(
                plugin,
                "more Events than the host sends for one plugin: some are dropped"
            );
        }
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

struct Writer {
    api: Api,
    seams: Seams,
    instance: String,
    series: HashMap<SeriesKey, Series>,
}

type SeriesKey = (Arc<str>, About, Severity, String, String);

struct Series {
    name: String,
    count: u64,
    last: Instant,
}

enum Send {
    Create,
    Update(u64),
    Nothing,
}

impl Writer {
    async fn write(&mut self, note: Note) {
        let now = self.seams.clock.now();
        let key = (
            note.plugin.clone(),
            note.regarding.clone(),
            note.severity,
            note.reason.clone(),
            note.action.clone(),
        );
        if self.series.len() >= SERIES {
            self.series
                .retain(|_, series| now - series.last < SERIES_END / 2);
            // All of them are young: a flood. Those who repeat themselves begin anew.
            if self.series.len() >= SERIES {
                self.series.clear();
            }
        }
        let sent = match self.series.get_mut(&key) {
            Some(series) if now - series.last < SERIES_END => {
                series.last = now;
                series.count += 1;
                if series.count.is_power_of_two() {
                    Send::Update(series.count)
                } else {
                    Send::Nothing
                }
            }
            Some(_) | None => Send::Create,
        };
        let namespace = note
            .regarding
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let result = match sent {
            Send::Nothing => return,
            Send::Create => {
                let name = format!(
                    "{:.200}.{:016x}",
                    note.regarding.name,
                    self.seams.rng.number()
                );
                let event = self.event(&note, &name, &namespace);
                self.series.insert(
                    key,
                    Series {
                        name,
                        count: 1,
                        last: now,
                    },
                );
                self.api
                    .send(Request::json(Method::POST, path, &event))
                    .await
            }
            Send::Update(count) => {
                let name = self
                    .series
                    .get(&key)
                    .map(|series| series.name.clone())
                    .unwrap_or_default();
                let series = json!({ "count": count, "lastObservedTime": self.time() });
                // The note cannot be changed: the first one stands for all.
                let patch = json!({ "series": series });
                self.api
                    .send(Request::merge_patch(format!("{path}/{name}"), &patch))
                    .await
            }
        };
        if let Err(error) = result {
            let plugin = &*note.plugin;
            tracing::debug!(plugin, "cannot record an Event: {error}");
        }
    }

    fn time(&self) -> String {
        // MicroTime wants six digits.
        format!("{:.6}", self.seams.clock.wall())
    }

    fn event(&self, note: &Note, name: &str, namespace: &str) -> Value {
        let severity = match note.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        object([
            ("apiVersion", Some("events.k8s.io/v1".into())),
            ("kind", Some("Event".into())),
            (
                "metadata",
                Some(json!({ "name": name, "namespace": namespace })),
            ),
            ("eventTime", Some(self.time().into())),
            (
                "reportingController",
                Some(format!("windlass.dev/{}", note.plugin).into()),
            ),
            (
                "reportingInstance",
                Some(format!("{:.128}", self.instance).into()),
            ),
            ("action", Some(note.action.clone().into())),
            ("reason", Some(note.reason.clone().into())),
            ("regarding", Some(reference(&note.regarding))),
            ("related", note.related.as_ref().map(reference)),
            ("note", Some(note.note.clone().into())),
            ("type", Some(severity.into())),
        ])
    }
}

fn reference(about: &About) -> Value {
    object([
        ("apiVersion", Some(about.api_version.clone().into())),
        ("kind", Some(about.kind.clone().into())),
        ("name", Some(about.name.clone().into())),
        ("namespace", about.namespace.clone().map(Value::from)),
        ("uid", about.uid.clone().map(Value::from)),
    ])
}

#[cfg(test)]
mod tests {
    use windlass_apiserver::faults::{Fault, Matcher, Switch};
    use windlass_apiserver::seams as server;
    use windlass_apiserver::server::Server;

    use super::*;

    #[test]
    fn a_plugin_may_publish_a_burst_and_then_a_trickle() {
        let start = Clock::system().now();
        let mut budget = Budget {
            left: BURST,
            at: start,
        };
        let granted = (0..1000).filter(|_| budget.take(start)).count();
        assert_eq!(granted, 100);
        let later = start + Duration::from_secs(2);
        assert_eq!((0..1000).filter(|_| budget.take(later)).count(), 10);
        let much_later = start + Duration::from_secs(3600);
        assert_eq!((0..1000).filter(|_| budget.take(much_later)).count(), 100);
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    async fn what_was_published_is_sent_before_the_host_ends() {
        let seams = Seams {
            clock: Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap()),
            rng: crate::seams::Rng::seeded(1),
            spawn: crate::seams::Spawn::inline(tokio::runtime::Handle::current()),
        };
        let clock = seams.clock;
        let server = Server::new(server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(1),
        });
        let slow = |name: &str, latency| Switch {
            name: name.to_owned(),
            on: Matcher::default(),
            from: 0,
            times: 1,
            fault: Fault::Late(Duration::from_secs(latency)),
        };
        server.faults().switch_on(slow("first", 1));
        let api = Api::new(kube::Client::new(server, "default"), seams.clone());
        let (recorder, _task) = Recorder::start(api.clone(), &seams, "host");
        let note = Note {
            plugin: "greeter".into(),
            regarding: About {
                api_version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: Some("default".into()),
                name: "ada".into(),
                uid: None,
            },
            related: None,
            severity: Severity::Normal,
            reason: "Tested".into(),
            action: "Test".into(),
            note: "last words".into(),
        };
        recorder.publish(note);
        recorder.flush().await;
        let path = "/apis/events.k8s.io/v1/namespaces/default/events";
        let events = api.send(Request::get(path.to_owned())).await.unwrap();
        assert_eq!(events.pointer("/items/0/note"), Some(&"last words".into()));
    }
}
