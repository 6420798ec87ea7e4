//! Lists and watches one resource, forever: the only source of an informer's store.
//!
//! - The first list is the newest there is; later ones are at least as new as what was seen, and an
//!   older answer is refused.
//! - A refused or broken watch goes on where it was; only a version that is too old, or something that
//!   cannot be read, means a new list.
//! - A connection that is silently dead is noticed soon after the time at which the server should have
//!   closed the watch.

mod backoff;
mod event;
mod page;
pub(super) mod query;
mod state;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::shared::{Origin, SharedInformer};
use super::store::FieldSet;
use super::{InformerDependencies, InformerKey, InformerPhase};
use crate::api::{Accept, ApiError, Lines, RefusedBy};
use backoff::ReflectorBackoff;
use event::WatchEvent;
use state::{NextRequest, Pause, ReflectorState, StreamEnd};
use windlass_base::error::Chain;
use windlass_base::text::clean;

/// The server is asked to close a watch after this long, up to twice as long.
const LASTS: Duration = Duration::from_secs(300);
/// How much later it may do so.
const LATE: Duration = Duration::from_secs(5);
/// A streamed list with nothing new for so long is not going to end.
const QUIET: Duration = Duration::from_secs(10);
/// A watch that was shorter, and showed nothing, was no watch.
const SHORT: Duration = Duration::from_secs(1);
/// How often it is asked whether an absent kind is served by now.
const ABSENT: Duration = Duration::from_secs(5);
/// The longest error that is shown: something between us and the API server may answer with a page.
const TEXT: usize = 500;

/// Keeps the store of one informer up to date.
pub(super) struct Reflector {
    watched: InformerKey,
    shared: Arc<SharedInformer>,
    means: InformerDependencies,
}

impl Reflector {
    pub(super) fn new(
        watched: InformerKey,
        shared: Arc<SharedInformer>,
        means: InformerDependencies,
    ) -> Self {
        Self {
            watched,
            shared,
            means,
        }
    }

    /// Lists and watches until it is dropped.
    pub(super) async fn run(self) {
        let (mut state, mut backoff) = (ReflectorState::default(), ReflectorBackoff::default());
        loop {
            let next = state.next();
            let end = match &next {
                NextRequest::Page => self.list(state.wants_newest()).await,
                NextRequest::Stream | NextRequest::Watch(_) => {
                    self.follow(&next, &mut state, &mut backoff).await
                }
            };
            let end = self.judged(end).await;
            self.say(&end, &mut backoff);
            match state.ended(&next, &end) {
                Pause::None => {}
                Pause::Backoff => {
                    let asked = match &end {
                        StreamEnd::Failed(error) => error.slow_down(),
                        _ => None,
                    };
                    // A busy server has not failed, and says itself when it wants to be asked again.
                    let delay =
                        asked.unwrap_or_else(|| backoff.failed(self.means.seams.clock.now()));
                    let delay = self.means.seams.rng.spread(delay, 1.0);
                    self.means.seams.clock.sleep(delay).await;
                }
                Pause::Absence => self.absence().await,
            }
        }
    }

    /// Streams a list, if `next` says so, and watches.
    async fn follow(
        &self,
        next: &NextRequest,
        state: &mut ReflectorState,
        backoff: &mut ReflectorBackoff,
    ) -> StreamEnd {
        let lasts = self.means.seams.rng.spread(LASTS, 1.0);
        let at_least = self.shared.highest();
        let wanted = (at_least > 0 && !state.wants_newest()).then_some(at_least);
        let uri = match next {
            NextRequest::Watch(version) => query::watch(&self.watched, version, lasts),
            NextRequest::Stream | NextRequest::Page => query::stream(&self.watched, wanted, lasts),
        };
        let uri = match uri {
            Ok(uri) => uri,
            Err(error) => return StreamEnd::Failed(ApiError::Garbled(error.to_string())),
        };
        let listing = !matches!(next, NextRequest::Watch(_));
        let began = self.means.seams.clock.now();
        let longest = self.means.settings.longest_line;
        let lines = match self.means.api.watch(uri, self.accept(), longest).await {
            Ok(lines) => lines,
            Err(error) if listing && refuses(&error) => return StreamEnd::Refused,
            Err(error) if error.code() == Some(410) => return StreamEnd::Expired,
            Err(error) => return StreamEnd::Failed(error),
        };
        let mut watch = OpenWatch {
            reflector: self,
            lines,
            deadline: began + lasts + LATE,
            listing: listing.then_some(at_least),
            asked: wanted.is_none().then_some(began),
            shown: 0,
            cut: if listing {
                self.shared.begin_list()
            } else {
                self.shared.cut()
            },
        };
        let end = watch.run(state, backoff).await;
        if watch.listing.is_some() {
            self.shared.drop_list();
        }
        let short = self.means.seams.clock.now() < began + SHORT && watch.shown == 0;
        match end {
            StreamEnd::Closed if short => StreamEnd::Short,
            end => end,
        }
    }

    /// What `end` means for the kind: a 404 is only believed if discovery says the same.
    async fn judged(&self, end: StreamEnd) -> StreamEnd {
        let gone = match &end {
            StreamEnd::Failed(error) => error.code() == Some(404),
            // The kind may have gone and come back as something else.
            StreamEnd::Expired => !self.watched.resource.group.is_empty(),
            _ => false,
        };
        if !gone {
            return end;
        }
        match self.means.discovery.serves(&self.watched.resource).await {
            Ok(false) => StreamEnd::Absent,
            Ok(true) | Err(_) => end,
        }
    }

    /// Everything is gone, until the kind is served again.
    async fn absence(&self) {
        self.shared.absent();
        loop {
            self.means.seams.clock.sleep(ABSENT).await;
            if let Ok(true) = self.means.discovery.serves(&self.watched.resource).await {
                return;
            }
        }
    }

    fn say(&self, end: &StreamEnd, backoff: &mut ReflectorBackoff) {
        let Some(text) = words(end) else { return };
        if !backoff.says(&text, self.means.seams.clock.now()) {
            return;
        }
        let resource = self.watched.resource.to_string();
        let namespace = self.watched.namespace.as_deref();
        if self.shared.phase() != InformerPhase::Absent || !matches!(end, StreamEnd::Absent) {
            tracing::warn!(namespace, "cannot watch {resource}, trying again: {text}");
        }
    }

    fn accept(&self) -> Accept {
        if self.watched.metadata_only || self.watched.finalizer.is_some() {
            Accept::Metadata
        } else {
            Accept::Whole
        }
    }
}

/// An open watch.
struct OpenWatch<'a> {
    reflector: &'a Reflector,
    lines: Lines,
    deadline: Instant,
    /// A streamed list is under way, which must be at least as new as this.
    listing: Option<u64>,
    /// When the newest state was asked for, if it was.
    asked: Option<Instant>,
    /// How many lines have come.
    shown: u64,
    /// What is kept of objects.
    cut: FieldSet,
}

impl OpenWatch<'_> {
    async fn run(
        &mut self,
        state: &mut ReflectorState,
        backoff: &mut ReflectorBackoff,
    ) -> StreamEnd {
        let reflector = self.reflector;
        let clock = reflector.means.seams.clock;
        loop {
            let quiet = self.listing.map(|_| clock.now() + QUIET);
            let patience = quiet.map_or(self.deadline, |quiet| quiet.min(self.deadline));
            let line = tokio::select! {
                biased;
                line = self.lines.next() => line,
                () = reflector.shared.relist_requested() => return StreamEnd::Asked,
                () = clock.sleep_until(patience) => return match self.listing {
                    Some(_) => StreamEnd::Endless,
                    None => StreamEnd::Silent,
                },
            };
            let line = match line {
                Some(Ok(line)) => line,
                None => return StreamEnd::Closed,
                Some(Err(ApiError::TooLarge)) => {
                    let longest = reflector.means.settings.longest_line;
                    let why = format!("one object has more than {longest} bytes");
                    return StreamEnd::Unreadable(why);
                }
                Some(Err(error)) => return StreamEnd::Failed(error),
            };
            self.shown += 1;
            let Some(event) = event::read(&line, &reflector.watched.resource, &self.cut.fields)
            else {
                return self.torn(&line).await;
            };
            let listed = self.listing.is_none();
            if let Some(end) = self.take(event, state) {
                return end;
            }
            if listed {
                backoff.works();
            }
            if self.listing.is_none() {
                backoff.well();
            }
        }
    }

    /// A line that cannot be read: if nothing follows, the connection broke in the middle of it.
    async fn torn(&mut self, line: &str) -> StreamEnd {
        let clock = self.reflector.means.seams.clock;
        match clock.within(LATE, self.lines.next()).await {
            Some(None) => {
                StreamEnd::Failed(ApiError::Unreachable("the answer broke off".to_owned()))
            }
            Some(Some(Err(error))) => StreamEnd::Failed(error),
            Some(Some(Ok(_))) | None => {
                StreamEnd::Unreadable(format!("a line begins with {:?}", clean(line, 60)))
            }
        }
    }

    /// Takes in one event; answers how the watch ends, if it does.
    fn take(&mut self, event: WatchEvent, state: &mut ReflectorState) -> Option<StreamEnd> {
        let shared = &self.reflector.shared;
        let origin = match self.listing {
            Some(_) => Origin::List,
            None => Origin::Watch,
        };
        match event {
            WatchEvent::Shown(object) => {
                let version = object.metadata.resource_version.clone();
                shared.show(object, self.cut.edition, origin);
                self.pass(state, &version);
            }
            WatchEvent::Gone(object) => {
                let version = object.metadata.resource_version.clone();
                shared.delete(object);
                self.pass(state, &version);
            }
            WatchEvent::Bookmark { version, end } => {
                let number = version.parse().unwrap_or(0);
                if let (Some(at_least), true) = (self.listing, end) {
                    if number < at_least {
                        return Some(StreamEnd::Older(number, at_least));
                    }
                    self.listing = None;
                    shared.end_list(number, self.asked);
                    state.reached(&version);
                } else if self.listing.is_none() {
                    shared.reach(number);
                    state.reached(&version);
                }
            }
            WatchEvent::Error(error) if error.code() == Some(410) => {
                return Some(StreamEnd::Expired);
            }
            WatchEvent::Error(error) => return Some(StreamEnd::Failed(error)),
            WatchEvent::Unknown => {}
        }
        None
    }

    /// The watch has come to `version`. Before its end, the objects of a list say nothing of that.
    fn pass(&self, state: &mut ReflectorState, version: &str) {
        if self.listing.is_none() {
            state.reached(version);
        }
    }
}

/// Whether a server says that it cannot stream lists: any no to the request as such.
fn refuses(error: &ApiError) -> bool {
    matches!(error.code(), Some(400..=499))
        && !matches!(error.code(), Some(401 | 403 | 404 | 408 | 410 | 429))
}

/// What went wrong, in a sentence; none if nothing did that people want to hear of.
fn words(end: &StreamEnd) -> Option<String> {
    Some(match end {
        // This is common: the next request repairs it.
        StreamEnd::Listed(_)
        | StreamEnd::Closed
        | StreamEnd::Expired
        | StreamEnd::Asked
        | StreamEnd::Refused => return None,
        StreamEnd::Short => "the server closes each watch at once".to_owned(),
        StreamEnd::Silent => "the connection was dead".to_owned(),
        StreamEnd::Endless => "the server does not say that its list is complete".to_owned(),
        StreamEnd::Unreadable(what) => format!("the answer cannot be read: {what}"),
        StreamEnd::Older(this, that) => {
            format!("the list is of version {this}, but version {that} has been seen")
        }
        StreamEnd::Absent => {
            "the cluster does not serve it; reads of it fail until it does".to_owned()
        }
        StreamEnd::Failed(error) => {
            let hint = error.refusal().map_or("", RefusedBy::hint);
            format!("{}{hint}", clean(&Chain(error).to_string(), TEXT))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_api_server_is_shown_as_a_sentence() {
        let user = r#"pods is forbidden: User \"w\" cannot list resource \"pods\""#;
        let lacks = r#"pods is forbidden: User "w" cannot list resource "pods"; `windlass` itself lacks the right"#;
        for (message, want) in [(user, lacks), ("it is closed", "it is closed")] {
            let body = format!(
                r#"{{"kind":"Status","code":403,"reason":"Forbidden","message":"{message}"}}"#
            );
            let error = ApiError::from_status(403, None, body.as_bytes());
            assert_eq!(
                words(&StreamEnd::Failed(error)).unwrap(),
                format!("API server answered 403 Forbidden: {want}")
            );
        }
    }

    #[test]
    fn only_a_no_to_the_request_itself_means_that_lists_are_not_streamed() {
        let codes = [400, 401, 403, 404, 410, 422, 429, 500, 503];
        let refuse = |code: &u16| refuses(&ApiError::from_status(*code, None, b"{}"));
        let refusals: Vec<u16> = codes.into_iter().filter(refuse).collect();
        assert_eq!(refusals, [400, 422]);
    }
}
