//! How the last pass over each of the newest objects ended: one object counts once, however often it is tried again.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The hash of an object's UID.
pub(super) type ObjectHash = u64;

/// Tells one object from another.
pub(super) fn object_hash(uid: &str) -> ObjectHash {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    hasher.finish()
}

/// The ends of a bounded number of objects.
#[derive(Debug)]
pub(super) struct LastEnds {
    most: usize,
    /// Whether the last pass was bad, and the number of that pass.
    ends: HashMap<ObjectHash, (bool, u64)>,
    /// The passes by number, the oldest first; of an object only the last one counts.
    order: VecDeque<(ObjectHash, u64)>,
    passes: u64,
}

impl LastEnds {
    /// No object yet; the newest `most` will be known.
    pub(super) fn of(most: usize) -> Self {
        Self {
            most,
            ends: HashMap::new(),
            order: VecDeque::new(),
            passes: 0,
        }
    }

    /// A pass over `object` has ended, badly or not. Whether the object was not known.
    pub(super) fn ended(&mut self, object: ObjectHash, is_bad: bool) -> bool {
        self.passes += 1;
        let is_new = self.ends.insert(object, (is_bad, self.passes)).is_none();
        self.order.push_back((object, self.passes));
        while self.ends.len() > self.most || self.order.len() > 2 * self.most {
            let Some((object, pass)) = self.order.pop_front() else {
                break;
            };
            if self
                .ends
                .get(&object)
                .is_some_and(|(_, last)| *last == pass)
            {
                if self.ends.len() > self.most {
                    self.ends.remove(&object);
                } else {
                    self.order.push_back((object, pass));
                }
            }
        }
        is_new
    }

    /// How many passes have ended.
    pub(super) fn passes(&self) -> u64 {
        self.passes
    }

    /// How many of the newest objects ended badly, and how many there are: of the newest `limit` at most.
    pub(super) fn count(&self, limit: usize) -> (usize, usize) {
        if self.ends.len() <= limit {
            let bad = self.ends.values().filter(|(is_bad, _)| *is_bad).count();
            return (bad, self.ends.len());
        }
        let mut newest: Vec<(u64, bool)> = { self.ends.values() }
            .map(|(is_bad, pass)| (*pass, *is_bad))
            .collect();
        newest.sort_unstable_by(|one, other| other.cmp(one));
        newest.truncate(limit);
        let bad = newest.iter().filter(|(_, is_bad)| *is_bad).count();
        (bad, newest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_counts_once_with_its_last_pass() {
        let mut ends = LastEnds::of(3);
        for is_bad in [true, false, true] {
            ends.ended(1, is_bad);
        }
        assert!(ends.ended(2, false) && !ends.ended(2, false));
        assert_eq!((ends.count(3), ends.passes()), ((1, 2), 5));
        ends.ended(3, true);
        ends.ended(4, true);
        // The oldest one is forgotten.
        assert_eq!(ends.count(3), (2, 3));
        assert_eq!((ends.count(2), ends.count(1)), ((2, 2), (1, 1)));
        assert!(ends.ended(1, false));
    }

    #[test]
    fn one_object_that_is_tried_without_end_takes_no_memory() {
        let mut ends = LastEnds::of(10);
        ends.ended(1, false);
        for _ in 0..1000 {
            ends.ended(2, true);
        }
        assert_eq!(ends.count(10), (1, 2), "the other one is still known");
        assert!(ends.order.len() <= 20);
    }
}
