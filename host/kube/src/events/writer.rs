//! Sends Events, one after the other: as few as say the same.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Event, Regarding, Severity};
use crate::api::{Api, ApiError, Request, object};
use windlass_base::flowcontrol::{Rate, TokenBucket};
use windlass_base::seams::{Rng, Seams};
use windlass_base::text::is_dns_subdomain;

/// Series that are remembered at most.
const SERIES: usize = 4096;

/// Events about one object that a plugin may publish at once, and each second after that
/// (client-go, `tools/record`: `defaultSpamBurst`, `defaultSpamQPS`).
const OBJECT: Rate = Rate {
    per_second: 1.0 / 300.0,
    burst: 25.0,
};

/// The longest `reportingInstance`, in bytes.
const INSTANCE: usize = 128;

/// A series ends after this long without a repetition.
const SERIES_END: Duration = Duration::from_secs(360);

/// A series that goes on is sent again after this long: the API server keeps an Event for an hour after its last write
/// (client-go, `tools/events`: `refreshTime`).
const REFRESH: Duration = Duration::from_secs(30 * 60);

/// Who sends them.
pub(super) struct Writer {
    seams: Seams,
    instance: String,
    series: HashMap<SeriesKey, EventSeries>,
    /// How many more series each object may have of each plugin.
    objects: HashMap<(Arc<str>, Regarding), TokenBucket>,
}

type SeriesKey = (Arc<str>, Regarding, Severity, String, String);

struct EventSeries {
    name: String,
    count: u64,
    /// A hash of the text that was sent last.
    text: u64,
    /// When it was sent last, or was to be.
    sent: Instant,
    last: Instant,
}

/// What became of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventResult {
    /// It was sent, or says nothing new.
    Told,
    /// Its object has had as many as it may.
    AtObjectLimit,
}

enum EventRequest {
    Create,
    Update(u64),
    Nothing,
}

impl Writer {
    /// Sends them as `instance`.
    pub(super) fn new(seams: Seams, instance: &str) -> Self {
        let mut instance = instance.to_owned();
        instance.truncate(instance.floor_char_boundary(INSTANCE));
        Self {
            seams,
            instance,
            series: HashMap::new(),
            objects: HashMap::new(),
        }
    }

    /// Whether one more Event about this object may be made, or changed.
    fn may(&mut self, note: &Event, now: Instant) -> bool {
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

    /// Sends one by `api`, if it says something new.
    ///
    /// # Errors
    /// The API server did not take it.
    pub(super) async fn write(&mut self, api: &Api, note: Event) -> Result<EventResult, ApiError> {
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
            // All of them are young: a flood. Those who repeat themselves begin again.
            if self.series.len() >= SERIES {
                self.series.clear();
            }
        }
        let sent = match self.series.get_mut(&key) {
            Some(series) if now - series.last < SERIES_END => {
                series.last = now;
                series.count += 1;
                let is_news = series.count.is_power_of_two() || series.text != hash_of(&note.note);
                if is_news || now - series.sent >= REFRESH {
                    EventRequest::Update(series.count)
                } else {
                    EventRequest::Nothing
                }
            }
            Some(_) | None => EventRequest::Create,
        };
        if !matches!(sent, EventRequest::Nothing) && !self.may(&note, now) {
            return Ok(EventResult::AtObjectLimit);
        }
        match sent {
            EventRequest::Nothing => {}
            EventRequest::Create => self.create(api, &note, key, now).await?,
            EventRequest::Update(count) => match self.update(api, &note, &key, count).await {
                // It is gone, as Events are after an hour.
                Err(error) if error.is_not_found() => self.create(api, &note, key, now).await?,
                updated => updated?,
            },
        }
        Ok(EventResult::Told)
    }

    /// Begins a series.
    async fn create(
        &mut self,
        api: &Api,
        note: &Event,
        key: SeriesKey,
        now: Instant,
    ) -> Result<(), ApiError> {
        let namespace = namespace(note);
        let name = name_for(&note.regarding.key.name, &self.seams.rng);
        let event = self.event(note, &name, namespace);
        let request = Request::json(Method::POST, path("/apis/events.k8s.io/v1", note), &event);
        let sent = api.send(request).await;
        if sent.is_ok() {
            let series = EventSeries {
                name,
                count: 1,
                text: hash_of(&note.note),
                sent: now,
                last: now,
            };
            self.series.insert(key, series);
        } else {
            // Nothing is there that could be updated.
            self.series.remove(&key);
        }
        sent.map(drop)
    }

    /// Continues a series with the text of its newest Event. Only the core group lets a text change (client-go's
    /// recorder uses that group). A host that may not patch Events there keeps the text and counts on.
    async fn update(
        &mut self,
        api: &Api,
        note: &Event,
        key: &SeriesKey,
        count: u64,
    ) -> Result<(), ApiError> {
        let Some(series) = self.series.get_mut(key) else {
            return Ok(());
        };
        series.sent = series.last;
        let name = series.name.clone();
        let series = json!({ "count": count, "lastObservedTime": self.time() });
        let patch = json!({ "message": note.note, "series": series });
        let uri = format!("{}/{name}", path("/api/v1", note));
        let sent = api.send(Request::merge_patch(uri, &patch)).await;
        let sent = match sent {
            Err(error) if error.is_forbidden() => {
                let uri = format!("{}/{name}", path("/apis/events.k8s.io/v1", note));
                let patch = json!({ "series": series });
                api.send(Request::merge_patch(uri, &patch)).await
            }
            sent => sent,
        };
        sent?;
        if let Some(series) = self.series.get_mut(key) {
            series.text = hash_of(&note.note);
        }
        Ok(())
    }

    fn time(&self) -> String {
        // MicroTime wants six digits.
        format!("{:.6}", self.seams.clock.wall())
    }

    fn event(&self, note: &Event, name: &str, namespace: &str) -> Value {
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
            ("reportingController", Some(reporter(note).into())),
            ("reportingInstance", Some(self.instance.clone().into())),
            ("action", Some(note.action.clone().into())),
            ("reason", Some(note.reason.clone().into())),
            ("regarding", Some(reference(&note.regarding))),
            ("related", note.related.as_ref().map(reference)),
            ("note", Some(note.note.clone().into())),
            ("type", Some(severity.into())),
        ])
    }
}

/// Who reports an Event.
fn reporter(note: &Event) -> String {
    let own = || format!("windlass.dev/{}", note.plugin);
    note.reporter.as_deref().map_or_else(own, str::to_owned)
}

/// The namespace of an Event: that of its object, or `default`.
fn namespace(note: &Event) -> &str {
    note.regarding.key.namespace.as_deref().unwrap_or("default")
}

/// Where the Events of `group` are that are beside this one.
fn path(group: &str, note: &Event) -> String {
    format!("{group}/namespaces/{}/events", namespace(note))
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The name of an Event about the object called `object`. An Event's name is a DNS subdomain: an object whose name is
/// none, or is too long, has Events with random names (client-go, `GenerateEventName`).
fn name_for(object: &str, rng: &Rng) -> String {
    let name = format!("{object}.{:016x}", rng.number());
    if is_dns_subdomain(&name) {
        name
    } else {
        format!("{:016x}{:016x}", rng.number(), rng.number())
    }
}

fn reference(about: &Regarding) -> Value {
    object([
        ("apiVersion", Some(about.api_version.clone().into())),
        ("kind", Some(about.kind.clone().into())),
        ("name", Some((*about.key.name).into())),
        ("namespace", about.key.namespace.as_deref().map(Value::from)),
        ("uid", about.uid.clone().map(Value::from)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_called_like_its_object_where_the_server_takes_that() {
        let rng = Rng::seeded(1);
        let (longest, too_long) = ("a".repeat(236), "a".repeat(237));
        let cut = format!("{}.{}", "a".repeat(199), "b".repeat(20));
        for (object, is_kept) in [
            ("web", true),
            ("web.example.com", true),
            (&*longest, true),
            (&*cut, true),
            (&*too_long, false),
            ("team:reader", false),
            ("Upper", false),
            ("with space", false),
            ("cost$", false),
            ("é", false),
        ] {
            let name = name_for(object, &rng);
            assert!(is_dns_subdomain(&name), "{name}");
            assert_eq!(name.starts_with(object), is_kept, "{name}");
            assert_ne!(name, name_for(object, &rng));
        }
    }
}
