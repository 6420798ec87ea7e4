//! What a reflector does next, from how its last request ended.

use crate::api::ApiError;

/// What a reflector asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextRequest {
    /// A list that goes on as a watch (KEP-3157).
    Stream,
    /// A list in pages.
    Page,
    /// A watch from this version on.
    Watch(String),
}

/// How that ended.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// The list is in, and was true at this version.
    Listed(String),
    /// The server closed the watch, as it does from time to time.
    Closed,
    /// The server closed the watch at once, and had nothing to say.
    Short,
    /// The watch outlived its time: its connection is dead.
    Silent,
    /// The version that was asked for is too old.
    Expired,
    /// The server does not stream lists.
    Refused,
    /// The server never said that the streamed list was complete.
    Endless,
    /// There is something in it that cannot be read.
    Unreadable(String),
    /// The list is older than what was seen: this version, where that one was known.
    Older(u64, u64),
    /// The kind is not served.
    Absent,
    /// Somebody wants everything listed again.
    Asked,
    /// Anything else.
    Failed(ApiError),
}

/// How long to wait before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    None,
    Backoff,
    /// Until the kind is served.
    Absence,
}

/// Where a reflector is.
#[derive(Debug)]
pub(super) struct ReflectorState {
    /// Whether the server streams lists, as far as is known.
    streams: bool,
    /// The next list comes in pages, whatever the server can do.
    pages: bool,
    /// The next list is to be the newest there is.
    newest: bool,
    /// Where the watch goes on; none if there must be a list first.
    position: Option<String>,
}

impl Default for ReflectorState {
    fn default() -> Self {
        Self {
            streams: true,
            pages: false,
            newest: true,
            position: None,
        }
    }
}

impl ReflectorState {
    /// What to ask for now.
    pub(super) fn next(&self) -> NextRequest {
        match &self.position {
            Some(version) => NextRequest::Watch(version.clone()),
            None if self.streams && !self.pages => NextRequest::Stream,
            None => NextRequest::Page,
        }
    }

    /// Whether the next list is to be the newest there is, and not only as new as what was seen.
    pub(super) fn wants_newest(&self) -> bool {
        self.newest
    }

    /// A list is complete, or a watch has come to `version`.
    pub(super) fn reached(&mut self, version: &str) {
        let number = |version: &str| version.parse::<u64>().unwrap_or(0);
        // A watch that shows old events again does not take us back.
        let back = |held: &String| number(version) < number(held);
        if !self.position.as_ref().is_some_and(back) {
            self.position = Some(version.to_owned());
        }
        self.newest = false;
        self.pages = false;
    }

    /// What `asked` ended with.
    pub(super) fn ended(&mut self, asked: &NextRequest, end: &StreamEnd) -> Pause {
        // As client-go: whatever went wrong with a stream, pages may do.
        self.pages = self.pages || *asked == NextRequest::Stream && self.position.is_none();
        match end {
            StreamEnd::Listed(version) => {
                self.position = None;
                self.reached(version);
                return Pause::None;
            }
            StreamEnd::Closed | StreamEnd::Silent if self.position.is_some() => return Pause::None,
            StreamEnd::Refused | StreamEnd::Endless => {
                self.streams = false;
                return Pause::None;
            }
            StreamEnd::Asked => {
                self.position = None;
                self.newest = true;
                return Pause::None;
            }
            StreamEnd::Expired => {
                self.position = None;
                self.newest = true;
            }
            StreamEnd::Unreadable(_) => {
                self.position = None;
                self.pages = true;
            }
            StreamEnd::Absent => {
                self.position = None;
                self.pages = false;
                self.newest = true;
                return Pause::Absence;
            }
            // The same again.
            StreamEnd::Closed
            | StreamEnd::Silent
            | StreamEnd::Short
            | StreamEnd::Older(..)
            | StreamEnd::Failed(_) => {}
        }
        Pause::Backoff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> StreamEnd {
        StreamEnd::Failed(ApiError::Unreachable("no".into()))
    }

    /// A state that has come to a watch from version 7 on.
    fn watching() -> ReflectorState {
        let mut state = ReflectorState::default();
        state.ended(&NextRequest::Stream, &StreamEnd::Listed("7".into()));
        state
    }

    #[test]
    fn a_watch_goes_on_where_it_was_unless_it_cannot() {
        let watch = || NextRequest::Watch("7".into());
        let rows = [
            (StreamEnd::Closed, Pause::None, watch()),
            (StreamEnd::Silent, Pause::None, watch()),
            (StreamEnd::Short, Pause::Backoff, watch()),
            (failed(), Pause::Backoff, watch()),
            (StreamEnd::Expired, Pause::Backoff, NextRequest::Stream),
            (
                StreamEnd::Unreadable(String::new()),
                Pause::Backoff,
                NextRequest::Page,
            ),
            (StreamEnd::Absent, Pause::Absence, NextRequest::Stream),
            (StreamEnd::Asked, Pause::None, NextRequest::Stream),
        ];
        for (end, pause, next) in rows {
            let mut state = watching();
            assert_eq!(state.ended(&watch(), &end), pause, "{end:?}");
            assert_eq!(state.next(), next, "{end:?}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_streamed_comes_in_pages() {
        let rows = [
            (StreamEnd::Refused, Pause::None, NextRequest::Page),
            (StreamEnd::Endless, Pause::None, NextRequest::Page),
            (StreamEnd::Expired, Pause::Backoff, NextRequest::Stream),
            (failed(), Pause::Backoff, NextRequest::Stream),
            (StreamEnd::Closed, Pause::Backoff, NextRequest::Stream),
            (StreamEnd::Older(1, 2), Pause::Backoff, NextRequest::Stream),
        ];
        for (end, pause, later) in rows {
            let mut state = ReflectorState::default();
            assert_eq!(state.ended(&NextRequest::Stream, &end), pause, "{end:?}");
            assert_eq!(state.next(), NextRequest::Page, "{end:?}");
            state.ended(&NextRequest::Page, &StreamEnd::Listed("7".into()));
            state.ended(&NextRequest::Watch("7".into()), &StreamEnd::Asked);
            assert_eq!(state.next(), later, "the list after that: {end:?}");
        }
    }

    #[test]
    fn the_first_list_and_one_after_an_expiry_are_the_newest_there_is() {
        let mut state = ReflectorState::default();
        assert!(state.wants_newest());
        state.ended(&NextRequest::Stream, &StreamEnd::Listed("7".into()));
        assert!(!state.wants_newest());
        state.ended(&state.next(), &StreamEnd::Expired);
        assert!(state.wants_newest());
    }

    #[test]
    fn old_events_do_not_take_a_watch_back() {
        let mut state = watching();
        state.reached("9");
        state.reached("8");
        assert_eq!(state.next(), NextRequest::Watch("9".into()));
        state.ended(&state.next(), &StreamEnd::Listed("3".into()));
        assert_eq!(
            state.next(),
            NextRequest::Watch("3".into()),
            "a list says where we are"
        );
    }
}
