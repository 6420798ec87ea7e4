//! Sends Events, one after the other: as few as say the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{About, Note, Severity};
use crate::api::{Api, Request, object};
use crate::flowcontrol::{Rate, TokenBucket};
use crate::seams::Seams;

/// Series that are remembered at most.
const SERIES: usize = 4096;

/// Events about one object that a plugin may publish at once, and each second after that
/// (client-go, `tools/record`: `defaultSpamBurst`, `defaultSpamQPS`).
const OBJECT: Rate = Rate {
    per_second: 1.0 / 300.0,
    burst: 25.0,
};

/// A series ends after this long without a repetition.
const SERIES_END: Duration = Duration::from_secs(360);

/// Who sends them.
pub(super) struct Writer {
    api: Api,
    seams: Seams,
    instance: String,
    series: HashMap<SeriesKey, Series>,
    /// How many more series each object may have of each plugin.
    objects: HashMap<(Arc<str>, About), TokenBucket>,
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
    /// Sends them as `instance`.
    pub(super) fn new(api: Api, seams: Seams, instance: &str) -> Self {
        Self {
            api,
            seams,
            instance: instance.to_owned(),
            series: HashMap::new(),
            objects: HashMap::new(),
        }
    }

    /// Whether one more Event about this object may be made, or changed.
    fn may(&mut self, note: &Note, now: Instant) -> bool {
        if self.objects.len() >= SERIES {
            self.objects
                .retain(|_, budget| now - budget.at() < SERIES_END / 2);
            if self.objects.len() >= SERIES {
                self.objects.clear();
            }
        }
        let object = (note.plugin.clone(), note.regarding.clone());
        let budget = self.objects.entry(object);
        let full = || TokenBucket::full(OBJECT, now);
        budget.or_insert_with(full).take(OBJECT, 1.0, now)
    }

    /// Sends one, if it says something new.
    pub(super) async fn write(&mut self, note: Note) {
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
        if !matches!(sent, Send::Nothing) && !self.may(&note, now) {
            return;
        }
        let namespace = note.regarding.key.namespace.as_deref();
        let namespace = namespace.unwrap_or("default").to_owned();
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let is_new = matches!(sent, Send::Create);
        let result = match sent {
            Send::Nothing => return,
            Send::Create => {
                let name = format!(
                    "{:.200}.{:016x}",
                    note.regarding.key.name,
                    self.seams.rng.number()
                );
                let event = self.event(&note, &name, &namespace);
                self.series.insert(
                    key.clone(),
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
            // What is gone, as Events are after an hour, or never was there is made anew.
            if is_new || error.is_not_found() {
                self.series.remove(&key);
            }
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
        ("name", Some((*about.key.name).into())),
        ("namespace", about.key.namespace.as_deref().map(Value::from)),
        ("uid", about.uid.clone().map(Value::from)),
    ])
}
