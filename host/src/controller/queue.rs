//! A queue of keys that need work.
//!
//! - **Deduplicated**: a key waiting to run is in the queue once.
//! - **Exclusive**: a key handed out is not handed out again until it is done.
//! - **Never lost**: a key added while it runs will run again.
//! - **Delays**: the earliest delay of a key wins, and an immediate add cancels it.
//! - **Two priorities**: what is added low runs after everything else, but is never starved by it
//!   (kubernetes-sigs/controller-runtime#3496); a retry has the priority of the run before it.
//! - **Slowed**: a key can be held back until a moment, whoever adds it.
//!
//! No lock, no clock, no await: [`super::work`] owns those.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;

use crate::bugs::{self, Bug};

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
    /// Keys that run low when their delay ends.
    delayed_low: HashSet<K>,
    /// Keys that do not run before a moment.
    slowed: HashMap<K, T>,
}

/// A key that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken<K> {
    pub(super) key: K,
    pub(super) cause: Cause,
    pub(super) priority: Priority,
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<T> {
    /// Not in the queue.
    Nowhere,
    /// It waits to be taken.
    Waiting { low: bool },
    /// It waits for its time; held back, if it is slowed.
    Delayed { due: T, slowed: bool },
    /// It was taken, and is to run again if it was added since.
    Running { again: bool },
}

/// Which keys run first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    /// After what needs it more: first lists, resyncs, new versions of a plugin.
    Low,
    /// In the order in which they come.
    Normal,
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
            delayed_low: HashSet::new(),
            slowed: HashMap::new(),
        }
    }
}

impl<K: Clone + Ord + Hash, T: Copy + Ord> Queue<K, T> {
    /// Marks `key` as needing work now. A delay it had is forgotten.
    pub(super) fn add(&mut self, key: K) {
        if bugs::is(Bug::ChangesDuringARunAreDropped) && self.running.contains(&key) {
            return;
        }
        self.forget_delay(&key);
        let raised = self.is_low.remove(&key);
        if (self.dirty.insert(key.clone()) || raised) && !self.running.contains(&key) {
            self.ready.push_back(key);
        }
    }

    /// Marks `key` as needing work, after what needs it more. A delay it had is forgotten.
    pub(super) fn add_low(&mut self, key: K) {
        self.forget_delay(&key);
        if self.dirty.insert(key.clone()) && !self.running.contains(&key) {
            self.is_low.insert(key.clone());
            self.low.push_back(key);
        }
    }

    /// Marks `key` as needing work at `due`, unless it is to run earlier anyway. Of two delays the earlier
    /// one counts, and the higher priority.
    pub(super) fn add_at(&mut self, key: K, due: T, priority: Priority) {
        if self.dirty.contains(&key) {
            return;
        }
        let held = self.delayed.get(&key);
        match priority {
            Priority::Normal => drop(self.delayed_low.remove(&key)),
            Priority::Low if held.is_none() => drop(self.delayed_low.insert(key.clone())),
            Priority::Low => {}
        }
        if held.is_none_or(|held| *held > due) {
            self.delayed.insert(key.clone(), due);
            self.alarms.push(Reverse((due, key)));
        }
    }

    /// Does not hand `key` out before `until`.
    pub(super) fn slow(&mut self, key: &K, until: T) {
        self.slowed.insert(key.clone(), until);
    }

    /// Takes the oldest key that is ready at `now`, and says why it runs. Hand it back with [`Queue::done`].
    pub(super) fn take(&mut self, now: T) -> Option<Taken<K>> {
        self.promote(now);
        loop {
            let (key, priority) = self.next()?;
            self.dirty.remove(&key);
            let is_due = self.due.remove(&key);
            let until = self.slowed.get(&key).copied();
            if let Some(until) = until.filter(|until| *until > now) {
                self.add_at(key, until, priority);
                continue;
            }
            self.slowed.remove(&key);
            self.running.insert(key.clone());
            let cause = if is_due { Cause::Delay } else { Cause::Change };
            return Some(Taken {
                key,
                cause,
                priority,
            });
        }
    }

    /// The key whose turn it is: of those added low one in [`SHARE`] while others wait.
    fn next(&mut self) -> Option<(K, Priority)> {
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
            return Some((key, Priority::Low));
        }
        let key = self.ready.pop_front()?;
        self.passed = if self.low.is_empty() {
            0
        } else {
            self.passed + 1
        };
        Some((key, Priority::Normal))
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

    /// Of those, how many are low.
    pub(super) fn low(&self) -> usize {
        self.is_low.len()
    }

    /// How many keys wait for their time.
    pub(super) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    /// Where `key` is.
    pub(super) fn place(&self, key: &K) -> Place<T> {
        let is_dirty = self.dirty.contains(key);
        if self.running.contains(key) {
            return Place::Running { again: is_dirty };
        }
        if is_dirty {
            let low = self.is_low.contains(key);
            return Place::Waiting { low };
        }
        match self.delayed.get(key) {
            Some(due) => Place::Delayed {
                due: *due,
                slowed: self.slowed.get(key) == Some(due),
            },
            None => Place::Nowhere,
        }
    }

    /// The keys that are next, of either priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = &K> {
        let mut low = self.low.iter();
        let low = low.find(|key| self.is_low.contains(key));
        self.ready.front().into_iter().chain(low)
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
                if self.delayed_low.contains(&key) {
                    self.add_low(key.clone());
                } else {
                    self.add(key.clone());
                }
                self.due.insert(key);
            }
        }
    }

    fn forget_delay(&mut self, key: &K) {
        self.delayed.remove(key);
        self.delayed_low.remove(key);
    }
}

#[cfg(test)]
mod tests;
