//! The journals of the runs that are under way: each has a size that it does not exceed.

use std::collections::HashMap;

use super::super::difference::Hide;
use super::reported::Reported;
use super::{Journal, Saw, WriteOutcome, Wrote};
use windlass_kube::object::Key;

/// So many reads and so many writes of one run are kept.
const MOST: usize = 200;
/// So many bytes of both, about: paths and values are the guest's.
pub(super) const BYTES: usize = 64 << 10;
/// So many bytes of a selector.
pub(super) const SELECTOR: usize = 253;
/// So many things that one run was not allowed to do.
const DENIED: usize = 5;
/// So many requests of one run that failed.
const FAILED: usize = 5;
/// So many objects that one run wanted and may not take.
const CONFLICTS: usize = 5;

/// The journals of the runs that are under way.
#[derive(Default)]
pub(crate) struct Journals {
    under_way: HashMap<Key, Run>,
    told: Reported,
}

/// The journal of a run that is under way.
#[derive(Default)]
struct Run {
    journal: Journal,
    /// About how many bytes it takes.
    held: usize,
    hide: Option<Hide>,
}

impl Run {
    /// Whether there is room for one more entry of so many bytes, beside this `number` of entries. It counts from now
    /// on.
    fn admits(&mut self, number: usize, bytes: usize) -> bool {
        let has_room = number < MOST && self.held + bytes <= BYTES;
        if has_room {
            self.held += bytes
        } else {
            self.journal.left_out += 1
        }
        has_room
    }

    /// Forgets the earlier tries to delete the object that `wrote` has deleted.
    fn forget_tries(&mut self, wrote: &Wrote) {
        let is_try = |one: &Wrote| {
            one.end == WriteOutcome::NotDeleted
                && (&one.kind, &one.key) == (&wrote.kind, &wrote.key)
        };
        let tries = self.journal.writes.iter().filter(|one| is_try(one));
        let bytes: usize = tries.map(Wrote::bytes).sum();
        self.held = self.held.saturating_sub(bytes);
        self.journal.writes.retain(|one| !is_try(one));
    }
}

impl Journals {
    /// A run of `key` begins.
    pub(crate) fn begin(&mut self, key: &Key) {
        self.told.begin(key);
        self.under_way.insert(key.clone(), Run::default());
    }

    /// `key` is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.told.forget(key);
    }

    /// Of the values that the run of `key` writes only what `hide` leaves is shown.
    pub(crate) fn hides(&mut self, key: &Key, hide: Hide) {
        if let Some(run) = self.under_way.get_mut(key) {
            run.hide = Some(hide);
        }
    }

    /// What is to be made of the values that the run of `key` writes.
    pub(crate) fn hide(&self, key: &Key) -> Option<Hide> {
        self.under_way.get(key)?.hide.clone()
    }

    /// The run of `key` has read something.
    pub(crate) fn saw(&mut self, key: &Key, mut saw: Saw) {
        let Some(run) = self.under_way.get_mut(key) else {
            return;
        };
        if let Saw::List { selector, .. } = &mut saw {
            selector.truncate(selector.floor_char_boundary(SELECTOR));
        }
        if run.admits(run.journal.reads.len(), saw.bytes()) {
            run.journal.reads.push(saw);
        }
    }

    /// A write of the run of `key` has ended. Of a delete that was tried more than once the end alone counts.
    pub(crate) fn wrote(&mut self, key: &Key, wrote: Wrote) {
        let Some(run) = self.under_way.get_mut(key) else {
            return;
        };
        if wrote.end == WriteOutcome::Deleted {
            run.forget_tries(&wrote);
        }
        if run.admits(run.journal.writes.len(), wrote.bytes()) {
            run.journal.writes.push(wrote);
        }
    }

    /// The run of `key` was not allowed to do something. Answers whether that is news, until people are
    /// [told](Self::reported).
    pub(crate) fn denied(&mut self, key: &Key, what: &str) -> bool {
        if let Some(Run { journal, .. }) = self.under_way.get_mut(key) {
            note(&mut journal.denied, what, DENIED);
        }
        self.told.is_news(key, what)
    }

    /// A request of the run of `key` failed, with these words of the API server. Answers as [`Self::denied`].
    pub(crate) fn failed(&mut self, key: &Key, words: &str) -> bool {
        if let Some(Run { journal, .. }) = self.under_way.get_mut(key) {
            note(&mut journal.failed, words, FAILED);
        }
        self.told.is_news(key, words)
    }

    /// People were told this of the run of `key`: it is not news any more.
    pub(crate) fn reported(&mut self, key: &Key, what: &str) {
        self.told.report(key, what);
    }

    /// The set of the run of `key` may not take an object.
    pub(crate) fn conflicts(&mut self, key: &Key, what: &str) {
        if let Some(Run { journal, .. }) = self.under_way.get_mut(key) {
            note(&mut journal.conflicts, what, CONFLICTS);
        }
    }

    /// The run of `key` sent this HTTP request.
    pub(crate) fn sent(&mut self, key: &Key, line: String) {
        if let Some(Run { journal, .. }) = self.under_way.get_mut(key) {
            // A call sends no more than 20.
            journal.sent.push(line);
        }
    }

    /// The run of `key` has ended.
    pub(crate) fn end(&mut self, key: &Key) -> Journal {
        self.under_way.remove(key).unwrap_or_default().journal
    }
}

/// Adds a text to `texts`, if it is not there and there are not as many as `most` already.
fn note(texts: &mut Vec<String>, text: &str, most: usize) {
    if texts.len() < most && !texts.iter().any(|known| known == text) {
        texts.push(text.to_owned());
    }
}
