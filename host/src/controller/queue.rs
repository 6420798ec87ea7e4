//! A queue of keys that need work.
//!
//! - **Deduplicated**: a key waiting to run is in the queue once.
//! - **Exclusive**: a key handed out is not handed out again until it is done.
//! - **Never lost**: a key added while it runs will run again.
//! - **Delays**: the earliest delay of a key wins, and an immediate add cancels it.
//! - **Two priorities**: what is added low runs after everything else, but is never starved by it.
//!
//! No lock, no clock, no await: [`super::work`] owns those.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// Of so many keys taken, one was added low, if any is waiting.
const SHARE: u32 = 8;

/// A queue of keys. `T` is a point in time.
#[derive(Debug)]
pub(super) struct Queue<K, T> {
    ready: VecDeque<K>,
    /// Keys that wait for those in `ready`. One that is no longer dirty, or has been added again
    /// since, is passed over.
    low: VecDeque<K>,
    /// The keys of `low` that still count.
    is_low: HashSet<K>,
    /// Keys taken from `ready` while others waited in `low`.
    passed: u32,
    /// Keys that must run: every key in `ready`, plus running keys that changed again.
    dirty: HashSet<K>,
    running: HashSet<K>,
    /// When each delayed key is due. What `alarms` says beside this is out of date.
    delayed: HashMap<K, T>,
    alarms: BinaryHeap<Reverse<(T, K)>>,
    /// Ready keys whose delay has ended.
    due: HashSet<K>,
}

/// Why a key runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Something changed.
    Change,
    /// Its delay has ended.
    Delay,
}

impl<K: Clone + Ord + Hash, T: Copy + Ord> Default for Queue<K, T> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            low: VecDeque::new(),
            is_low: HashSet::new(),
            passed: 0,
            dirty: HashSet::new(),
            running: HashSet::new(),
            delayed: HashMap::new(),
            alarms: BinaryHeap::new(),
            due: HashSet::new(),
        }
    }
}

impl<K: Clone + Ord + Hash, T: Copy + Ord> Queue<K, T> {
    /// Marks `key` as needing work now. A delay it had is forgotten.
    pub(super) fn add(&mut self, key: K) {
        self.delayed.remove(&key);
        let raised = self.is_low.remove(&key);
        if (self.dirty.insert(key.clone()) || raised) && !self.running.contains(&key) {
            self.ready.push_back(key);
        }
    }

    /// Marks `key` as needing work, after what needs it more. A delay it had is forgotten.
    pub(super) fn add_low(&mut self, key: K) {
        self.delayed.remove(&key);
        if self.dirty.insert(key.clone()) && !self.running.contains(&key) {
            self.is_low.insert(key.clone());
            self.low.push_back(key);
        }
    }

    /// Marks `key` as needing work at `due`, unless it is to run earlier anyway.
    pub(super) fn add_at(&mut self, key: K, due: T) {
        if self.dirty.contains(&key) || self.delayed.get(&key).is_some_and(|held| *held <= due) {
            return;
        }
        self.delayed.insert(key.clone(), due);
        self.alarms.push(Reverse((due, key)));
    }

    /// Takes the oldest key that is ready at `now`, and says why it runs. Hand it back with [`Queue::done`].
    pub(super) fn take(&mut self, now: T) -> Option<(K, Cause)> {
        self.promote(now);
        let key = self.next()?;
        self.dirty.remove(&key);
        let cause = if self.due.remove(&key) {
            Cause::Delay
        } else {
            Cause::Change
        };
        self.running.insert(key.clone());
        Some((key, cause))
    }

    /// The key whose turn it is: of those added low one in [`SHARE`] while others wait.
    fn next(&mut self) -> Option<K> {
        while self
            .low
            .front()
            .is_some_and(|key| !self.is_low.contains(key))
        {
            self.low.pop_front();
        }
        let is_their_turn = self.ready.is_empty() || self.passed + 1 >= SHARE;
        if is_their_turn && let Some(key) = self.low.pop_front() {
            self.passed = 0;
            self.is_low.remove(&key);
            return Some(key);
        }
        let key = self.ready.pop_front()?;
        self.passed = if self.low.is_empty() {
            0
        } else {
            self.passed + 1
        };
        Some(key)
    }

    /// Ends a run. If `key` was added meanwhile, it becomes ready again.
    pub(super) fn done(&mut self, key: &K) {
        if self.running.remove(key) && self.dirty.contains(key) {
            self.ready.push_back(key.clone());
        }
    }

    /// When the next delayed key becomes due.
    pub(super) fn next_due(&mut self) -> Option<T> {
        while let Some(Reverse((due, key))) = self.alarms.peek() {
            if self.delayed.get(key) == Some(due) {
                return Some(*due);
            }
            self.alarms.pop();
        }
        None
    }

    /// How many keys wait to run, not counting delayed ones.
    pub(super) fn depth(&self) -> usize {
        self.ready.len() + self.is_low.len()
    }

    /// How many keys run now.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    fn promote(&mut self, now: T) {
        while let Some(due) = self.next_due() {
            if due > now {
                return;
            }
            if let Some(Reverse((_, key))) = self.alarms.pop() {
                self.add(key.clone());
                self.due.insert(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The key alone.
    fn take<K: Clone + Ord + Hash, T: Copy + Ord>(queue: &mut Queue<K, T>, now: T) -> Option<K> {
        queue.take(now).map(|(key, _)| key)
    }

    fn queue(keys: &[&'static str]) -> Queue<&'static str, u64> {
        let mut queue = Queue::default();
        keys.iter().for_each(|key| queue.add(*key));
        queue
    }

    #[test]
    fn what_is_added_low_runs_last_but_not_never() {
        let mut queue = queue(&[]);
        let all: Vec<u64> = (0..20).collect();
        let mut numbers: Queue<u64, u64> = Queue::default();
        numbers.add_low(100);
        numbers.add_low(101);
        all.iter().for_each(|key| numbers.add(*key));
        let taken: Vec<u64> = std::iter::from_fn(|| take(&mut numbers, 0)).collect();
        assert_eq!(taken.len(), 22);
        assert_eq!(taken.iter().position(|key| *key == 100), Some(7));
        assert_eq!(taken.iter().position(|key| *key == 101), Some(15));
        queue.add_low("a");
        queue.add_low("b");
        queue.add("b");
        assert_eq!(queue.depth(), 2);
        assert_eq!(
            take(&mut queue, 0),
            Some("b"),
            "added again, it is low no more"
        );
        queue.add_low("b");
        assert_eq!(take(&mut queue, 0), Some("a"));
        queue.done(&"b");
        assert_eq!(
            take(&mut queue, 0),
            Some("b"),
            "it ran meanwhile, and runs again"
        );
        assert_eq!((take(&mut queue, 0), queue.depth()), (None, 0));
    }

    #[test]
    fn a_key_added_twice_runs_once() {
        let mut queue = queue(&["a", "b", "a"]);
        assert_eq!(
            (
                take(&mut queue, 0),
                take(&mut queue, 0),
                take(&mut queue, 0)
            ),
            (Some("a"), Some("b"), None)
        );
    }

    #[test]
    fn a_running_key_is_not_handed_out_again() {
        let mut queue = queue(&["a"]);
        take(&mut queue, 0);
        queue.add("a");
        assert_eq!(take(&mut queue, 0), None);
    }

    #[test]
    fn a_key_that_changes_while_running_runs_again() {
        let mut queue = queue(&["a"]);
        take(&mut queue, 0);
        queue.add("a");
        queue.done(&"a");
        assert_eq!(take(&mut queue, 0), Some("a"));
    }

    #[test]
    fn the_earliest_delay_wins_in_either_order() {
        for delays in [[5, 9], [9, 5]] {
            let mut queue = queue(&[]);
            delays.iter().for_each(|due| queue.add_at("a", *due));
            assert_eq!(queue.next_due(), Some(5));
            assert_eq!(
                (take(&mut queue, 4), take(&mut queue, 5)),
                (None, Some("a"))
            );
            queue.done(&"a");
            assert_eq!(take(&mut queue, 100), None, "the later delay is forgotten");
        }
    }

    #[test]
    fn an_immediate_add_cancels_a_delay() {
        let mut queue = queue(&[]);
        queue.add_at("a", 5);
        queue.add("a");
        assert_eq!(take(&mut queue, 0), Some("a"));
        queue.done(&"a");
        assert_eq!((queue.next_due(), take(&mut queue, 10)), (None, None));
    }

    #[test]
    fn a_delay_that_ends_while_the_key_runs_runs_it_again() {
        let mut queue = queue(&["a"]);
        take(&mut queue, 0);
        queue.add_at("a", 5);
        assert_eq!(take(&mut queue, 6), None);
        queue.done(&"a");
        assert_eq!(take(&mut queue, 6), Some("a"));
    }

    #[test]
    fn it_says_whether_a_change_or_a_delay_runs_a_key() {
        let mut queue = queue(&["a"]);
        assert_eq!(queue.take(0), Some(("a", Cause::Change)));
        queue.done(&"a");
        queue.add_at("a", 5);
        assert_eq!(queue.take(5), Some(("a", Cause::Delay)));
        queue.done(&"a");
        queue.add_at("a", 9);
        queue.add("a");
        assert_eq!(queue.take(9), Some(("a", Cause::Change)));
    }

    /// Random operations against a model that keeps nothing but sets.
    #[test]
    fn no_key_is_lost_doubled_or_run_twice_at_once() {
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..200 {
            let mut queue: Queue<u8, u64> = Queue::default();
            let mut wanted: BTreeMap<u8, u64> = BTreeMap::new();
            let mut running: Vec<u8> = Vec::new();
            for now in 0..400 {
                let key = rng.u8(0..6);
                match rng.u8(0..4) {
                    0 => {
                        queue.add(key);
                        wanted.insert(key, now);
                    }
                    1 => {
                        let due = now + rng.u64(0..20);
                        queue.add_at(key, due);
                        let held = wanted.entry(key).or_insert(due);
                        *held = due.min(*held);
                    }
                    2 => {
                        if let Some(taken) = take(&mut queue, now) {
                            assert!(!running.contains(&taken), "exclusive");
                            let due = wanted.remove(&taken).expect("somebody asked for it");
                            assert!(due <= now, "not before its time");
                            running.push(taken);
                        } else {
                            let waiting = wanted
                                .iter()
                                .any(|(k, due)| *due <= now && !running.contains(k));
                            assert!(!waiting, "lost: {wanted:?} {queue:?}");
                        }
                    }
                    _ => {
                        if let Some(ended) = running.pop() {
                            queue.done(&ended);
                        }
                    }
                }
            }
        }
    }
}
