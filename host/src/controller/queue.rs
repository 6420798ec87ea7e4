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

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::mem;

use crate::bugs::{self, Bug};

/// Of so many keys taken, one was added low, if any is waiting.
const SHARE: u32 = 8;

/// A queue of keys, which are cheap to clone. `T` is a point in time, and `N` what is noted of a key until it runs.
#[derive(Debug)]
pub(super) struct Queue<K, T, N = ()> {
    ready: VecDeque<K>,
    /// Keys that wait for those in `ready`. One that is no longer low, since it was added again or has run, is passed
    /// over.
    low: VecDeque<K>,
    /// Keys taken from `ready` while others waited in `low`.
    passed: u32,
    /// All that is known of each key that is anywhere.
    keys: HashMap<K, Entry<T, N>, ahash::RandomState>,
    /// When delayed keys are due. What `keys` says otherwise is out of date here.
    alarms: BinaryHeap<Reverse<(T, K)>>,
    count: Count,
}

/// What is known of a key.
#[derive(Debug)]
struct Entry<T, N> {
    /// It must run: it is in `ready` or `low`, or runs and has changed again.
    dirty: bool,
    running: bool,
    /// It waits in `low`, and counts there.
    low: bool,
    /// It is ready, since its delay has ended.
    due: bool,
    /// When it is due, if it is delayed.
    delayed: Option<T>,
    /// It runs low when its delay ends.
    delayed_low: bool,
    /// It does not run before then.
    slowed: Option<T>,
    note: N,
}

/// How many keys are what.
#[derive(Debug, Default)]
struct Count {
    low: usize,
    delayed: usize,
    running: usize,
}

/// A key that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken<K, N> {
    pub(super) key: K,
    pub(super) note: N,
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

impl<T, N: Default> Default for Entry<T, N> {
    fn default() -> Self {
        Self {
            dirty: false,
            running: false,
            low: false,
            due: false,
            delayed: None,
            delayed_low: false,
            slowed: None,
            note: N::default(),
        }
    }
}

impl<T, N> Entry<T, N> {
    fn forget_delay(&mut self, count: &mut Count) {
        self.delayed_low = false;
        count.delayed -= usize::from(self.delayed.take().is_some());
    }

    /// Whether there is nothing to know of it.
    fn is_idle(&self) -> bool {
        !self.dirty && !self.running && self.delayed.is_none() && self.slowed.is_none()
    }
}

impl<K: Clone + Ord + Hash, T: Copy + Ord, N> Default for Queue<K, T, N> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            low: VecDeque::new(),
            passed: 0,
            keys: HashMap::default(),
            alarms: BinaryHeap::new(),
            count: Count::default(),
        }
    }
}

impl<K: Clone + Ord + Hash, T: Copy + Ord, N: Default> Queue<K, T, N> {
    /// Marks `key` as needing work now. A delay it had is forgotten. Answers what is noted of it, as the others do.
    pub(super) fn add(&mut self, key: K) -> &mut N {
        let entry = self.keys.entry(key.clone()).or_default();
        if bugs::is(Bug::ChangesDuringARunAreDropped) && entry.running {
            return &mut entry.note;
        }
        entry.forget_delay(&mut self.count);
        let raised = mem::take(&mut entry.low);
        self.count.low -= usize::from(raised);
        let was_dirty = mem::replace(&mut entry.dirty, true);
        if (!was_dirty || raised) && !entry.running {
            self.ready.push_back(key);
        }
        &mut entry.note
    }

    /// Marks `key` as needing work, after what needs it more. A delay it had is forgotten.
    pub(super) fn add_low(&mut self, key: K) -> &mut N {
        let entry = self.keys.entry(key.clone()).or_default();
        entry.forget_delay(&mut self.count);
        if !mem::replace(&mut entry.dirty, true) && !entry.running {
            entry.low = true;
            self.count.low += 1;
            self.low.push_back(key);
        }
        &mut entry.note
    }

    /// Marks `key` as needing work at `due`, unless it is to run earlier anyway. Of two delays the earlier
    /// one counts, and the higher priority.
    pub(super) fn add_at(&mut self, key: K, due: T, priority: Priority) -> &mut N {
        let entry = self.keys.entry(key.clone()).or_default();
        if entry.dirty {
            return &mut entry.note;
        }
        let held = entry.delayed;
        match priority {
            Priority::Normal => entry.delayed_low = false,
            Priority::Low if held.is_none() => entry.delayed_low = true,
            Priority::Low => {}
        }
        if held.is_none_or(|held| held > due) {
            self.count.delayed += usize::from(held.is_none());
            entry.delayed = Some(due);
            self.alarms.push(Reverse((due, key)));
        }
        &mut entry.note
    }

    /// Does not hand `key` out before `until`.
    pub(super) fn slow(&mut self, key: K, until: T) {
        self.keys.entry(key).or_default().slowed = Some(until);
    }

    /// Takes the oldest key that is ready at `now`, and says why it runs. Hand it back with [`Queue::done`].
    pub(super) fn take(&mut self, now: T) -> Option<Taken<K, N>> {
        self.promote(now);
        loop {
            let (key, priority) = self.next()?;
            let entry = self.keys.entry(key.clone()).or_default();
            entry.dirty = false;
            let is_due = mem::take(&mut entry.due);
            if let Some(until) = entry.slowed.filter(|until| *until > now) {
                self.add_at(key, until, priority);
                continue;
            }
            entry.slowed = None;
            entry.running = true;
            self.count.running += 1;
            let cause = if is_due { Cause::Delay } else { Cause::Change };
            return Some(Taken {
                note: mem::take(&mut entry.note),
                key,
                cause,
                priority,
            });
        }
    }

    /// The key whose turn it is: of those added low one in [`SHARE`] while others wait.
    fn next(&mut self) -> Option<(K, Priority)> {
        let keys = &self.keys;
        let counts = |key: &K| keys.get(key).is_some_and(|entry| entry.low);
        while self.low.front().is_some_and(|key| !counts(key)) {
            self.low.pop_front();
        }
        let is_their_turn = self.ready.is_empty() || self.passed + 1 >= SHARE;
        if is_their_turn && let Some(key) = self.low.pop_front() {
            self.passed = 0;
            self.count.low -= 1;
            if let Some(entry) = self.keys.get_mut(&key) {
                entry.low = false;
            }
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
    pub(super) fn done<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let Some((key, mut entry)) = self.keys.remove_entry(key) else {
            return;
        };
        if mem::take(&mut entry.running) {
            self.count.running -= 1;
            if entry.dirty {
                self.ready.push_back(key.clone());
            }
        }
        if !entry.is_idle() {
            self.keys.insert(key, entry);
        }
    }

    /// When the next delayed key becomes due.
    pub(super) fn next_due(&mut self) -> Option<T> {
        while let Some(Reverse((due, key))) = self.alarms.peek() {
            let entry = self.keys.get(key);
            if entry.is_some_and(|entry| entry.delayed == Some(*due)) {
                return Some(*due);
            }
            self.alarms.pop();
        }
        None
    }

    /// How many keys wait to run, not counting delayed ones.
    pub(super) fn depth(&self) -> usize {
        self.ready.len() + self.count.low
    }

    /// Of those, how many are low.
    pub(super) fn low(&self) -> usize {
        self.count.low
    }

    /// How many keys wait for their time.
    pub(super) fn delayed(&self) -> usize {
        self.count.delayed
    }

    /// What is noted of `key`, if it is anywhere.
    pub(super) fn note<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&N>
    where
        K: Borrow<Q>,
    {
        self.keys.get(key).map(|entry| &entry.note)
    }

    /// Where `key` is.
    pub(super) fn place<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Place<T>
    where
        K: Borrow<Q>,
    {
        let Some(entry) = self.keys.get(key) else {
            return Place::Nowhere;
        };
        if entry.running {
            return Place::Running { again: entry.dirty };
        }
        if entry.dirty {
            return Place::Waiting { low: entry.low };
        }
        match entry.delayed {
            Some(due) => Place::Delayed {
                due,
                slowed: entry.slowed == Some(due),
            },
            None => Place::Nowhere,
        }
    }

    /// The keys that are next, of either priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = &K> {
        let mut low = self.low.iter();
        let counts = |key: &K| self.keys.get(key).is_some_and(|entry| entry.low);
        let low = low.find(|key| counts(key));
        self.ready.front().into_iter().chain(low)
    }

    /// How many keys run now.
    pub(super) fn running(&self) -> usize {
        self.count.running
    }

    fn promote(&mut self, now: T) {
        while let Some(due) = self.next_due() {
            if due > now {
                return;
            }
            if let Some(Reverse((_, key))) = self.alarms.pop() {
                let entry = self.keys.get(&key);
                match entry.is_some_and(|entry| entry.delayed_low) {
                    true => self.add_low(key.clone()),
                    false => self.add(key.clone()),
                };
                self.keys.entry(key).or_default().due = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
