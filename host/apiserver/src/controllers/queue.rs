//! Keys that need work, now or later.
//!
//! - **Deduplicated**: a key that waits to be worked on is there once.
//! - **Never lost**: a key that is added while it is worked on comes again.
//! - **In order**: keys come as they were added, or became due; the same history gives the same order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::seams::Instant;

/// The first retry of a key that failed comes after this time; each further one after twice as long.
const FIRST_RETRY: Duration = Duration::from_millis(5);
/// Retries come at least this often.
const LAST_RETRY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Queue<K> {
    ready: VecDeque<K>,
    waiting: BTreeSet<K>,
    later: BTreeMap<(Instant, u64), K>,
    /// Where in `later` a key is.
    places: BTreeMap<K, (Instant, u64)>,
    failures: BTreeMap<K, u32>,
    count: u64,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            later: BTreeMap::new(),
            places: BTreeMap::new(),
            failures: BTreeMap::new(),
            count: 0,
        }
    }
}

impl<K: Clone + Ord> Queue<K> {
    /// Notes that a key needs work.
    pub(super) fn add(&mut self, key: K) {
        if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Notes that a key needs work at `due`, unless it comes earlier anyway.
    pub(super) fn add_at(&mut self, key: K, due: Instant) {
        if let Some(place) = self.places.get(&key) {
            if place.0 <= due {
                return;
            }
            self.later.remove(place);
        }
        self.count += 1;
        self.places.insert(key.clone(), (due, self.count));
        self.later.insert((due, self.count), key);
    }

    /// Notes that a key has failed, and has to be tried again.
    pub(super) fn failed(&mut self, key: K, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = FIRST_RETRY.saturating_mul(1 << (*failures).min(16));
        *failures += 1;
        self.add_at(key, now + delay.min(LAST_RETRY));
    }

    /// Notes that a key went well.
    pub(super) fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Takes the next key that needs work now.
    pub(super) fn take(&mut self, now: Instant) -> Option<K> {
        while let Some(first) = self
            .later
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let key = first.remove();
            self.places.remove(&key);
            self.add(key);
        }
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        Some(key)
    }

    /// When the next key is due that does not need work yet.
    pub(super) fn due(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((due, _), _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_once_in_order_and_when_they_are_due() {
        let now = crate::seams::Clock::new(|| jiff::Timestamp::UNIX_EPOCH).instant();
        let at = |seconds| now + Duration::from_secs(seconds);
        let mut queue = Queue::default();
        for key in ["a", "b", "a"] {
            queue.add(key);
        }
        queue.add_at("late", at(2));
        queue.add_at("later", at(3));
        queue.add_at("late", at(1));
        assert_eq!(queue.take(now), Some("a"));
        queue.add("a");
        assert_eq!(
            [queue.take(now), queue.take(now), queue.take(now)],
            [Some("b"), Some("a"), None]
        );
        assert_eq!(queue.due(), Some(at(1)));
        assert_eq!(
            [queue.take(at(9)), queue.take(at(9))],
            [Some("late"), Some("later")]
        );
        assert_eq!(queue.due(), None);
    }

    #[test]
    fn retries_become_rarer_until_it_goes_well() {
        let now = crate::seams::Clock::new(|| jiff::Timestamp::UNIX_EPOCH).instant();
        let mut queue = Queue::default();
        let mut delay = || {
            queue.failed("a", now);
            let due = queue.due().unwrap();
            assert_eq!(queue.take(due), Some("a"));
            (due - now).as_millis()
        };
        assert_eq!([delay(), delay(), delay()], [5, 10, 20]);
        assert_eq!((0..20).map(|_| delay()).last(), Some(60_000));
        queue.succeeded(&"a");
        queue.failed("a", now);
        assert_eq!(queue.due(), Some(now + FIRST_RETRY));
    }
}
