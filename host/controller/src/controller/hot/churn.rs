//! Finds keys that make objects only to delete them again, under another name each time: no field of them is
//! rewritten, so nothing else would notice.
//!
//! - What counts is that a key deletes an object which it made itself within the last minute. A key is hot after
//!   [`MANY`] of those, of one kind, within a minute. A controller with many short-lived objects stays below that.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Sub;
use std::time::Duration;

use super::{FieldWrite, Heat, HotLoops, MOST, WINDOW};

/// So many objects that a key makes and deletes within [`WINDOW`] are too many.
const MANY: usize = 300;

/// What one plugin has made and deleted. `N` names an object, `B` who writes it and what kind, `T` is a point in time.
#[derive(Debug)]
pub(in crate::controller) struct Churn<N, B, T> {
    made: HashMap<N, (B, T)>,
    deletions: HotLoops<B, T>,
}

impl<N, B, T> Default for Churn<N, B, T> {
    fn default() -> Self {
        Self {
            made: HashMap::new(),
            deletions: HotLoops::after(MANY),
        }
    }
}

impl<N: Eq + Hash, B: Eq + Hash, T: Copy + Sub<T, Output = Duration>> Churn<N, B, T> {
    /// The object was made at `now`.
    pub(in crate::controller) fn record_create(&mut self, object: N, by: B, now: T) {
        if self.made.len() >= MOST {
            self.made.retain(|_, (_, made)| now - *made < WINDOW);
        }
        if self.made.len() >= MOST {
            self.made.clear();
        }
        self.made.insert(object, (by, now));
    }

    /// The object was deleted at `now`.
    pub(in crate::controller) fn deleted(&mut self, object: &N, by: B, now: T) -> Heat {
        match self.made.remove(object) {
            Some((maker, made)) if maker == by && now - made < WINDOW => {
                self.deletions.rewrote(by, FieldWrite::default(), now)
            }
            Some(_) | None => Heat::Calm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::At;
    use super::*;

    /// How the last deletion is judged if so many objects are made, each deleted after a time, with a time between.
    fn judged(objects: u64, lives: u64, between: u64) -> Heat {
        let (mut churn, mut last) = (Churn::default(), Heat::Calm);
        let mut events: Vec<_> = (0..objects)
            .flat_map(|number| {
                let made = number * between;
                [(made, false, number), (made + lives, true, number)]
            })
            .collect();
        events.sort_unstable();
        for (at, is_deleted, object) in events {
            if is_deleted {
                last = churn.deleted(&object, "key", At(at))
            } else {
                churn.record_create(object, "key", At(at))
            }
        }
        last
    }

    #[test]
    fn objects_that_live_for_a_moment_are_hot_if_there_are_many() {
        // (objects, seconds that each lives, seconds between them; what the last one is)
        let rows = [
            (299, 0, 0, Heat::Calm),
            (300, 0, 0, Heat::New(300)),
            (301, 59, 0, Heat::Hot),
            // What has lived for long is replaced, and not churned.
            (4000, 60, 0, Heat::Calm),
            // One each second is slow enough.
            (4000, 1, 1, Heat::Calm),
        ];
        for (objects, lives, between, want) in rows {
            assert_eq!(judged(objects, lives, between), want, "{objects} {lives}");
        }
    }

    #[test]
    fn only_the_key_that_made_an_object_churns_it_and_memory_is_bounded() {
        let mut churn = Churn::default();
        for object in 0..1000 {
            if object % 2 == 0 {
                churn.record_create(object, "another", At(0));
            }
            assert_eq!(churn.deleted(&object, "key", At(0)), Heat::Calm);
        }
        for object in 0..100_000 {
            churn.record_create(object, "key", At(0));
        }
        assert!(churn.made.len() <= MOST);
    }
}
