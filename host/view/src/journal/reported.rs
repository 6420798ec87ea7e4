//! What people were told of the runs of a key that goes wrong: it is logged once, until it changes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use windlass_kube::object::Key;

/// So many different things that were told of one run are known in the next.
const TOLD: usize = 20;

/// What was told of this run of a key, or of the one before it and holds in this one too: as hashes.
#[derive(Debug, Default)]
pub(super) struct Reported(HashMap<Key, [Vec<u64>; 2]>);

impl Reported {
    /// A run of `key` begins.
    pub(super) fn begin(&mut self, key: &Key) {
        if let Some([last, now]) = self.0.get_mut(key) {
            *last = std::mem::take(now);
            if last.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// `key` is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Whether it was told neither of this run of `key` nor of the one before it. What was told of that counts as told
    /// of this one too.
    pub(super) fn is_news(&mut self, key: &Key, what: &str) -> bool {
        let Some([last, now]) = self.0.get_mut(key) else {
            return true;
        };
        let hash = hash(what);
        if now.contains(&hash) {
            return false;
        }
        let is_known = last.contains(&hash);
        if is_known && now.len() < TOLD {
            now.push(hash);
        }
        !is_known
    }

    /// People have been told it of this run of `key`.
    pub(super) fn report(&mut self, key: &Key, what: &str) {
        let hash = hash(what);
        let [_, now] = self.0.entry(key.clone()).or_default();
        if now.len() < TOLD && !now.contains(&hash) {
            now.push(hash);
        }
    }
}

fn hash(what: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_again_is_news_when_it_has_changed() {
        let (mut told, key) = (Reported::default(), Key::new(None, "a"));
        let mut run = |all: &[&str]| -> Vec<bool> {
            told.begin(&key);
            let mut tell = |what: &&str| {
                let is_news = told.is_news(&key, what);
                if is_news {
                    told.report(&key, what);
                }
                is_news
            };
            all.iter().map(&mut tell).collect()
        };
        assert_eq!(run(&["get pods", "get pods"]), [true, false]);
        assert_eq!(run(&["get pods"]), [false], "the next run says the same");
        assert_eq!(run(&["get pods"]), [false]);
        assert_eq!(run(&["get nodes", "get pods"]), [true, false]);
        assert_eq!(run(&["get pods"]), [false]);
        assert_eq!(run(&[]), [false; 0]);
        assert_eq!(run(&["get pods"]), [true], "it went well meanwhile");
        told.begin(&key);
        told.begin(&key);
        assert!(told.0.is_empty());
        told.report(&key, "get pods");
        told.forget(&key);
        assert!(told.0.is_empty());
    }

    #[test]
    fn what_was_not_told_stays_news() {
        let (mut told, key) = (Reported::default(), Key::new(None, "a"));
        for run in 1..=3 {
            told.begin(&key);
            assert!(told.is_news(&key, "get pods"), "run {run}");
            assert!(told.is_news(&key, "get pods"), "run {run}, once more");
        }
        assert!(told.0.is_empty(), "nothing is kept of it");
        told.report(&key, "get pods");
        assert!(!told.is_news(&key, "get pods"));
    }
}
