//! What a queue knows of one key, and how many keys are what.

use super::super::object_state::Hold;
use super::Payload;

/// What is known of a key.
#[derive(Debug)]
pub(super) struct Entry<T, N> {
    /// It must run: it is in `ready` or `low`, or runs and has changed again.
    pub(super) dirty: bool,
    pub(super) running: bool,
    /// It waits in `low`, and counts there.
    pub(super) low: bool,
    /// It runs, and was added low alone meanwhile.
    pub(super) again_low: bool,
    /// How often it is in `low`, counting or not: nobody else gets its slot before it is passed over there.
    pub(super) in_low: u32,
    /// It is ready, since its delay has ended.
    pub(super) due: bool,
    /// When it is due, if it is delayed.
    pub(super) delayed: Option<T>,
    /// It runs low when its delay ends.
    pub(super) delayed_low: bool,
    /// It does not run before then, and why.
    pub(super) held: Option<(T, Hold)>,
    pub(super) note: N,
}

/// How many keys are what.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) low: usize,
    pub(super) running: usize,
}

impl<T, N: Default> Default for Entry<T, N> {
    fn default() -> Self {
        Self {
            dirty: false,
            running: false,
            low: false,
            again_low: false,
            in_low: 0,
            due: false,
            delayed: None,
            delayed_low: false,
            held: None,
            note: N::default(),
        }
    }
}

impl<T, N: Payload> Entry<T, N> {
    /// Answers when it was due.
    pub(super) fn forget_delay(&mut self) -> Option<T> {
        self.delayed_low = false;
        let due = self.delayed.take();
        if due.is_some() {
            self.note.delay_forgotten();
        }
        due
    }

    /// Whether there is nothing to know of it.
    pub(super) fn is_idle(&self) -> bool {
        let waits = self.dirty || self.delayed.is_some() || self.held.is_some();
        !waits && !self.running && self.in_low == 0
    }
}
