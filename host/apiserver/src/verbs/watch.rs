//! Watch: what happens to objects, from a revision on.
//!
//! The events of an object that enters or leaves a selector are ADDED and DELETED; a client that was away
//! for too long gets an ERROR event with a 410
//! (<https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>).

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::{self, Stream};
use http::StatusCode;
use serde_json::{Value, json};

use super::read;
use crate::answer::Answer;
use crate::body::Body;
use crate::call::Call;
use crate::mutants::mutant;
use crate::present::{self, Look};
use crate::registry::Resource;
use crate::request::accept::Form;
use crate::request::options::ListOptions;
use crate::seams::Clock;
use crate::status::Refusal;
use crate::store::{Entry, Event, EventType, Events, Gone};
use crate::{deep, encode, faults, meta};

/// How often a quiet watch says how far it is.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// A watch without a time of its own lasts this long, up to twice as long.
const LASTS: u64 = 1800;
/// The last bookmark comes this long before the end.
const BEFORE_END: Duration = Duration::from_secs(2);
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// Answers with a stream of events.
///
/// # Errors
/// As a list; what shows later comes as an ERROR event.
pub fn watch(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let mut options = ListOptions::read(&call.request.query, call.resource)?;
    options.watch_by_path(call.target.name.as_deref())?;
    let wanted =
        read::version(&options.resource_version).map_err(|cause| read::unreadable(&cause))?;
    let seams = call.state.seams();
    let lasts = match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        _ => Duration::from_secs(LASTS + seams.rng.of(|| "watch".to_owned()).below(LASTS)),
    };
    let mut watch = Watch {
        resource: Arc::clone(call.resource),
        namespace: call.target.namespace.clone(),
        look,
        clock: seams.clock.clone(),
        end: Box::pin(sleep(seams.clock.clone(), lasts)),
        bookmark: bookmark_timer(&seams.clock, &options, lasts),
        options,
        events: None,
        ready: VecDeque::new(),
        first: true,
        revision: 0,
        over: false,
    };
    watch.begin(call, wanted);
    Ok(Answer::body(StatusCode::OK, Body::stream(watch.stream())))
}

type BookmarkTimer = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn sleep(clock: Clock, duration: Duration) {
    clock.sleep(duration).await;
}

fn bookmark_timer(clock: &Clock, options: &ListOptions, lasts: Duration) -> Option<BookmarkTimer> {
    let before_end = lasts.checked_sub(BEFORE_END);
    let before_end = mutant!(TheLastBookmarkIsLeftOut, before_end, Some(BOOKMARKS));
    let next = before_end.map_or(Duration::ZERO, |before| before.min(BOOKMARKS));
    options
        .bookmarks
        .then(|| Box::pin(sleep(clock.clone(), next)) as BookmarkTimer)
}

struct Watch {
    resource: Arc<Resource>,
    namespace: Option<String>,
    options: ListOptions,
    look: Look,
    clock: Clock,
    end: BookmarkTimer,
    bookmark: Option<BookmarkTimer>,
    events: Option<Events>,
    /// What is to be sent: the pieces of each event, of which the object is shared with the store.
    ready: VecDeque<[Bytes; 3]>,
    /// Whether no row has been sent: the first one carries the columns.
    first: bool,
    /// How far the client has been brought.
    revision: u64,
    over: bool,
}

impl Watch {
    /// Finds where to begin, and what the client has to know before.
    fn begin(&mut self, call: &Call<'_>, wanted: u64) {
        let store = call.state.store();
        let initial = self.options.send_initial.unwrap_or(false);
        let mut from = wanted;
        mutant!(WatchesBeginOneVersionEarlier, from = from.saturating_sub(1));
        if initial || wanted == 0 {
            if wanted > store.revision() {
                let current = store.revision();
                let refusal = crate::request::options::too_large_version(wanted, current);
                return self.fail(&refusal);
            }
            let namespace = self.namespace.as_deref();
            let old = faults::stale(call.request)
                .and_then(|then| store.list_at(&call.place, namespace, then).ok());
            let snapshot = old.unwrap_or_else(|| store.list(&call.place, namespace));
            from = snapshot.revision;
            self.revision = from;
            for entry in snapshot.entries.iter().filter(|_| initial) {
                if read::selects(&self.options, &self.resource, entry) {
                    self.send("ADDED", entry);
                }
            }
            if initial && self.options.watch && self.options.bookmarks {
                self.send_bookmark(true);
            }
        }
        self.revision = from;
        match store.follow(&call.place, from) {
            Ok(events) => self.events = Some(events),
            Err(gone) => self.too_old(gone),
        }
    }

    fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::unfold(self, async |mut watch| {
            let chunk = watch.next().await?;
            Some((Ok(chunk), watch))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(pieces) = self.ready.pop_front() {
                // One frame for each event, as the real server sends it: a client need not wait for a rest.
                return Some(pieces.concat().into());
            }
            if self.over {
                return None;
            }
            let mut events = self.events.take()?;
            let taken = events.take();
            match taken {
                Ok((happened, revision)) => {
                    deep::roomy(events.store().deepest(), || {
                        for event in &happened {
                            self.event(event);
                        }
                    });
                    self.revision = self.revision.max(revision);
                }
                Err(gone) => {
                    self.too_old(gone);
                    continue;
                }
            }
            if self.ready.is_empty() {
                let ends = self.wait(&mut events).await;
                self.over = ends;
            }
            self.events = Some(events);
        }
    }

    /// Waits for an event, the end, or the time for a bookmark; says whether it is the end. It also is
    /// when the resource is served no more.
    async fn wait(&mut self, events: &mut Events) -> bool {
        let changed = std::pin::pin!(events.changed());
        let Some(bookmark) = &mut self.bookmark else {
            let first = select(changed, &mut self.end).await;
            return !matches!(first, Either::Left((Ok(()), _)));
        };
        let timers = select(&mut self.end, bookmark);
        match select(changed, timers).await {
            Either::Left((changed, _)) => changed.is_err(),
            Either::Right((Either::Left(_), _)) => true,
            Either::Right((Either::Right(_), _)) => {
                self.send_bookmark(false);
                self.bookmark = Some(Box::pin(sleep(self.clock.clone(), BOOKMARKS)));
                false
            }
        }
    }

    fn event(&mut self, event: &Event) {
        if event.entry.revision <= self.revision && self.revision > 0 {
            return;
        }
        let key = &event.entry.key;
        if self
            .namespace
            .as_deref()
            .is_some_and(|namespace| *key.namespace != *namespace)
        {
            return;
        }
        let selects = |entry: &Entry| read::selects(&self.options, &self.resource, entry);
        let was = event.before.as_deref().is_some_and(selects);
        let is = event.change != EventType::Deleted && selects(&event.entry);
        match (was, is) {
            (false, true) => self.send("ADDED", &event.entry),
            (true, true) => self.send("MODIFIED", &event.entry),
            (true, false) if event.change == EventType::Deleted => {
                self.send("DELETED", &event.entry)
            }
            (true, false) => {
                mutant!(
                    LeavingObjectsAreSentAsTheyAre,
                    return self.send("DELETED", &event.entry)
                );
                // It leaves the selection: the client gets it as it last saw it.
                if let Some(before) = &event.before {
                    let left = before.at_revision(event.entry.revision);
                    self.send("DELETED", &left);
                }
            }
            (false, false) => {}
        }
    }

    fn send(&mut self, kind: &str, entry: &Entry) {
        let object = present::event(&self.resource, entry, self.look, self.first);
        self.first = false;
        self.frame(kind, object);
    }

    fn frame(&mut self, kind: &str, object: Bytes) {
        let head = match kind {
            "ADDED" => Bytes::from_static(b"{\"type\":\"ADDED\",\"object\":"),
            "MODIFIED" => Bytes::from_static(b"{\"type\":\"MODIFIED\",\"object\":"),
            "DELETED" => Bytes::from_static(b"{\"type\":\"DELETED\",\"object\":"),
            other => Bytes::from(format!("{{\"type\":\"{other}\",\"object\":")),
        };
        self.ready
            .push_back([head, object, Bytes::from_static(b"}\n")]);
    }

    fn send_bookmark(&mut self, initial_end: bool) {
        let mut metadata = json!({ "resourceVersion": self.revision.to_string() });
        if mutant!(InitialEventsEndUnmarked, initial_end, false) {
            meta::put(&mut metadata, "annotations", json!({ INITIAL_END: "true" }));
        }
        let mut object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version(),
            "metadata": metadata,
        });
        match self.look.form {
            Form::Object | Form::Discovery => {}
            Form::Metadata { beta, .. } => object = present::metadata_only(&object, beta),
            Form::Table { .. } => {
                let metadata = json!({ "resourceVersion": self.revision.to_string() });
                let mut table = present::table(&self.resource, &[object], &metadata, self.look);
                if !self.first {
                    meta::put(&mut table, "columnDefinitions", Value::Null);
                }
                self.first = false;
                object = table;
            }
        }
        self.frame("BOOKMARK", encode::to_vec(&object).into());
    }

    fn too_old(&mut self, _: Gone) {
        let message = format!(
            "too old resource version: {} ({})",
            self.revision,
            self.revision + 1
        );
        self.fail(&Refusal::expired(message));
    }

    fn fail(&mut self, refusal: &Refusal) {
        self.frame("ERROR", encode::to_vec(&refusal.to_value()).into());
        self.over = true;
    }
}
