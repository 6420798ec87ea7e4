//! What happened to the objects of one resource lately, and how much memory that takes.
//!
//! - An event holds the states that are not current any more: the one before it, and for a deletion also the
//!   last one. So each state counts once, in the event that has ended it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::table::{Event, EventType, Gone};

/// Events that are kept at most: a reader that is further behind has to list again.
pub(super) const MOST_EVENTS: usize = 10_000;
/// What an event takes besides the text of its objects, in bytes, roughly.
const OVERHEAD: usize = 400;
/// Room for so many events is never given back.
const SPARE: usize = 16;

/// The last events of a resource.
#[derive(Debug, Default)]
pub(super) struct Past {
    events: VecDeque<Arc<Event>>,
    /// What they take, in bytes.
    bytes: usize,
    /// Events up to this revision are gone.
    begins: u64,
}

fn size(event: &Event) -> usize {
    let before = event.before.as_ref().map_or(0, |before| before.json.len());
    let last = match event.change {
        EventType::Deleted => event.entry.json.len(),
        EventType::Added | EventType::Modified => 0,
    };
    OVERHEAD + before + last
}

impl Past {
    pub(super) fn add(&mut self, event: Event) {
        self.bytes += size(&event);
        self.events.push_back(Arc::new(event));
        if self.events.len() > MOST_EVENTS {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= size(&oldest);
            self.begins = oldest.entry.revision;
        }
    }

    /// Forgets the oldest events until the rest takes no more than this, in bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        while self.bytes > bytes {
            self.forget_oldest();
        }
        self.give_back();
    }

    /// Forgets the events up to a revision.
    pub(super) fn forget_until(&mut self, revision: u64) {
        let is_old = |event: &Arc<Event>| event.entry.revision <= revision;
        while self.events.front().is_some_and(is_old) {
            self.forget_oldest();
        }
        self.give_back();
    }

    /// Forgets everything, and says that nothing up to a revision is known.
    pub(super) fn clear(&mut self, revision: u64) {
        self.forget_until(u64::MAX);
        self.begins = self.begins.max(revision);
    }

    fn give_back(&mut self) {
        if self.events.capacity() / 4 > self.events.len() {
            self.events.shrink_to(self.events.len().max(SPARE));
        }
    }

    /// What happened after a revision, oldest first.
    ///
    /// # Errors
    /// [`Gone`] if some of it is forgotten.
    pub(super) fn after(
        &self,
        revision: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Gone> {
        if revision < self.begins {
            return Err(Gone);
        }
        let known = |event: &Arc<Event>| event.entry.revision <= revision;
        let first = self.events.partition_point(known);
        Ok(self.events.range(first..))
    }

    /// Events up to this revision are gone.
    pub(super) fn begins(&self) -> u64 {
        self.begins
    }

    /// The revision of the last event; 0 if there is none.
    pub(super) fn ends(&self) -> u64 {
        self.events.back().map_or(0, |last| last.entry.revision)
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
