//! Finds objects that a plugin makes only to delete them again, under another name each time: no field of them is
//! rewritten, so nothing else would notice.
//!
//! - What counts is the deletion of an object that the plugin itself made within the last minute. A key is hot after
//!   as many of them, of one kind, as of rewrites of a field.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Sub;
use std::time::Duration;

use super::hot::{Heat, HotLoops, WINDOW};

/// So many objects are remembered for each plugin.
const MOST: usize = 4096;

/// What one plugin has made and deleted. `N` names an object, `B` who deletes and what kind, `T` is a point in time.
#[derive(Debug)]
pub(super) struct Churn<N, B, T> {
    made: HashMap<N, T>,
    deletions: HotLoops<B, T>,
}

impl<N, B, T> Default for Churn<N, B, T> {
    fn default() -> Self {
        Self {
            made: HashMap::new(),
            deletions: HotLoops::default(),
        }
    }
}

impl<N: Eq + Hash, B: Eq + Hash, T: Copy + Sub<T, Output = Duration>> Churn<N, B, T> {
    /// The object was made at `now`.
    pub(super) fn made(&mut self, object: N, now: T) {
        if self.made.len() >= MOST {
            self.made.retain(|_, made| now - *made < WINDOW);
        }
        if self.made.len() >= MOST {
            self.made.clear();
        }
        self.made.insert(object, now);
    }

    /// The object was deleted at `now`.
    pub(super) fn deleted(&mut self, object: &N, by: B, now: T) -> Heat {
        match self.made.remove(object) {
            Some(made) if now - made < WINDOW => self.deletions.rewrote(by, None, now),
            Some(_) | None => Heat::Calm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds, as a point in time.
    #[derive(Clone, Copy)]
    struct At(u64);

    impl Sub for At {
        type Output = Duration;

        fn sub(self, other: Self) -> Duration {
            Duration::from_millis(self.0.saturating_sub(other.0))
        }
    }

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
            match is_deleted {
                false => churn.made(object, At(at)),
                true => last = churn.deleted(&object, "key", At(at)),
            }
        }
        last
    }

    #[test]
    fn objects_that_live_for_a_moment_are_hot_if_there_are_many() {
        // (objects, milliseconds that each lives, milliseconds between them; what the last one is)
        let rows = [
            (39, 1, 1, Heat::Calm),
            (40, 1, 1, Heat::New(40)),
            (41, 1, 1, Heat::Hot),
            (40, 50_000, 1, Heat::New(40)),
            // What has lived for long is replaced, and not churned.
            (4000, 60_000, 1, Heat::Calm),
            // One every two seconds is slow enough.
            (4000, 1, 2000, Heat::Calm),
        ];
        for (objects, lives, between, want) in rows {
            assert_eq!(judged(objects, lives, between), want, "{objects} {lives}");
        }
    }

    #[test]
    fn what_others_made_does_not_count_and_memory_is_bounded() {
        let mut churn = Churn::default();
        let foreign = (0..1000).all(|object| churn.deleted(&object, "key", At(0)) == Heat::Calm);
        assert!(foreign);
        for object in 0..100_000 {
            churn.made(object, At(object));
        }
        assert!(churn.made.len() <= MOST);
    }
}
