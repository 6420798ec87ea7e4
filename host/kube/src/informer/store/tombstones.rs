//! The UIDs that were seen to go.

use std::collections::{HashMap, VecDeque};

/// How many are remembered for each informer.
const REMEMBERED: usize = 4096;

/// UIDs, oldest first, and the version up to which nothing of them is news. They may come back with a
/// later one: an object can leave a selector and return.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    order: VecDeque<String>,
    at: HashMap<String, u64>,
}

impl Tombstones {
    /// `uid` was gone at version `at`.
    pub(super) fn add(&mut self, uid: &str, at: u64) {
        if let Some(held) = self.at.get_mut(uid) {
            *held = at.max(*held);
            return;
        }
        self.at.insert(uid.to_owned(), at);
        self.order.push_back(uid.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.at.remove(&oldest);
        }
    }

    /// Whether `version` of `uid` is known to be over.
    pub(super) fn covers(&self, uid: &str, version: u64) -> bool {
        self.at.get(uid).is_some_and(|at| version <= *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_the_oldest() {
        let mut gone = Tombstones::default();
        for uid in 0..=REMEMBERED {
            gone.add(&uid.to_string(), 5);
            gone.add(&uid.to_string(), 3);
        }
        assert!(!gone.covers("0", 1));
        assert!(gone.covers("1", 5) && !gone.covers("1", 6));
        assert_eq!((gone.order.len(), gone.at.len()), (REMEMBERED, REMEMBERED));
    }
}
