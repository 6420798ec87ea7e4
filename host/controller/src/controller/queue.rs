//! A queue of keys that need work.
//!
//! - **Deduplicated**: a key waiting to run is in the queue once.
//! - **Exclusive**: a key handed out is not handed out again until it is done.
//! - **Never lost**: a key added while it runs will run again.
//! - **Delays**: the earliest delay of a key wins, and an immediate add cancels it.
//! - **Two priorities**: what is added low runs after everything else, but is never starved by it
//!   (kubernetes-sigs/controller-runtime#3496); a retry has the priority of the run before it.
//! - **Held back**: a key can be held back until a moment, unless what is noted of it does not wait for that.
//!
//! No lock, no clock, no await: [`super::work`] owns those.

mod entry;
mod payload;
mod slots;

use std::borrow::Borrow;
use std::collections::{BTreeSet, VecDeque};
use std::hash::Hash;
use std::mem;

use super::object_state::Hold;
use entry::{Count, Entry};
pub(super) use payload::Payload;
pub(super) use slots::Handle;
use slots::Slots;
use windlass_base::bugs::bug;

/// Of so many keys taken, one was added low, if any is waiting.
const SHARE: u32 = 8;

/// A queue of keys, which are cheap to clone. `T` is a point in time, and `N` what is noted of a key until it runs.
#[derive(Debug)]
pub(super) struct Queue<K, T, N = ()> {
    ready: VecDeque<Handle>,
    /// Keys that wait for those in `ready`. One that is no longer low, since it was added again or has run, is passed
    /// over.
    low: VecDeque<Handle>,
    /// Keys taken from `ready` while others waited in `low`.
    passed: u32,
    /// All that is known of each key that is anywhere.
    keys: Slots<K, Entry<T, N>>,
    /// When delayed keys are due, as `keys` says too.
    alarms: BTreeSet<(T, Handle)>,
    count: Count,
}

/// A key that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakenKey<K, N> {
    pub(super) handle: Handle,
    pub(super) key: K,
    pub(super) note: N,
    pub(super) cause: Cause,
    pub(super) priority: Priority,
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPosition<T> {
    /// Not in the queue.
    Nowhere,
    /// It waits to be taken.
    Waiting { low: bool },
    /// It waits for its time, or is held back until then.
    Delayed { due: T, hold: Option<Hold> },
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

impl<K: Clone + Ord + Hash, T: Copy + Ord, N> Default for Queue<K, T, N> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            low: VecDeque::new(),
            passed: 0,
            keys: Slots::default(),
            alarms: BTreeSet::new(),
            count: Count::default(),
        }
    }
}

impl<K: Clone + Ord + Hash, T: Copy + Ord, N: Payload> Queue<K, T, N> {
    /// Marks `key` as needing work now. A delay it had is forgotten. Answers what is noted of it, as the others do;
    /// `None` if there is no room for another key, after four thousand million of them.
    pub(super) fn add(&mut self, key: K) -> Option<&mut N> {
        let handle = self.keys.enter(key)?;
        self.wake(handle, Priority::Normal)
    }

    /// Marks `key` as needing work, after what needs it more. A delay it had is forgotten.
    pub(super) fn add_low(&mut self, key: K) -> Option<&mut N> {
        let handle = self.keys.enter(key)?;
        self.wake(handle, Priority::Low)
    }

    /// Marks `key` as needing work at `due`. Of two delays the earlier one counts, and the higher priority. Answers
    /// `None` also if the key runs earlier anyway, or as early.
    pub(super) fn add_at(&mut self, key: K, due: T, priority: Priority) -> Option<&mut N> {
        let handle = self.keys.enter(key)?;
        self.delay(handle, due, priority)
    }

    fn wake(&mut self, handle: Handle, priority: Priority) -> Option<&mut N> {
        let entry = &mut self.keys.get_mut(handle)?.entry;
        bug!(
            ChangesDuringARunAreDropped,
            if entry.running && priority == Priority::Normal {
                return self.keys.get_mut(handle).map(|slot| &mut slot.entry.note);
            }
        );
        if let Some(due) = entry.forget_delay() {
            self.alarms.remove(&(due, handle));
        }
        let was_dirty = mem::replace(&mut entry.dirty, true);
        match priority {
            Priority::Normal => {
                entry.again_low = false;
                let raised = mem::take(&mut entry.low);
                self.count.low -= usize::from(raised);
                if (!was_dirty || raised) && !entry.running {
                    self.ready.push_back(handle);
                }
            }
            Priority::Low if was_dirty => {}
            Priority::Low if entry.running => entry.again_low = true,
            Priority::Low => self.wait_low(handle),
        }
        Some(&mut self.keys.get_mut(handle)?.entry.note)
    }

    fn wait_low(&mut self, handle: Handle) {
        let Some(slot) = self.keys.get_mut(handle) else {
            return;
        };
        slot.entry.low = true;
        slot.entry.in_low += 1;
        self.count.low += 1;
        self.low.push_back(handle);
    }

    fn delay(&mut self, handle: Handle, due: T, priority: Priority) -> Option<&mut N> {
        let entry = &mut self.keys.get_mut(handle)?.entry;
        if entry.dirty {
            return None;
        }
        let held = entry.delayed;
        match priority {
            Priority::Normal => entry.delayed_low = false,
            Priority::Low if held.is_none() => entry.delayed_low = true,
            Priority::Low => {}
        }
        if held.is_some_and(|held| held <= due) {
            return None;
        }
        if let Some(held) = held {
            self.alarms.remove(&(held, handle));
        }
        entry.delayed = Some(due);
        self.alarms.insert((due, handle));
        Some(&mut entry.note)
    }

    /// Does not hand `key` out before `until`, unless what is noted of it ignores that. Of two holds the later one
    /// counts.
    pub(super) fn hold(&mut self, key: K, until: T, hold: Hold) {
        let handle = self.keys.enter(key);
        if let Some(slot) = handle.and_then(|handle| self.keys.get_mut(handle))
            && slot.entry.held.is_none_or(|(held, _)| held <= until)
        {
            slot.entry.held = Some((until, hold));
        }
    }

    /// Takes the oldest key that is ready at `now`, and says why it runs. Hand it back with [`Queue::hand_back`].
    pub(super) fn take(&mut self, now: T) -> Option<TakenKey<K, N>> {
        self.promote(now);
        loop {
            let (handle, priority) = self.next()?;
            let Some(slot) = self.keys.get_mut(handle) else {
                continue;
            };
            let entry = &mut slot.entry;
            entry.dirty = false;
            let is_due = mem::take(&mut entry.due);
            if let Some((until, hold)) = entry.held
                && until > now
                && !entry.note.ignores(hold)
            {
                self.delay(handle, until, priority);
                continue;
            }
            entry.held = None;
            entry.running = true;
            self.count.running += 1;
            let cause = if is_due { Cause::Delay } else { Cause::Change };
            return Some(TakenKey {
                handle,
                note: mem::take(&mut entry.note),
                key: slot.key.clone(),
                cause,
                priority,
            });
        }
    }

    /// The key whose turn it is: of those added low one in [`SHARE`] while others wait.
    fn next(&mut self) -> Option<(Handle, Priority)> {
        self.pass_over();
        let is_their_turn = self.ready.is_empty() || self.passed + 1 >= SHARE;
        if is_their_turn && let Some(handle) = self.low.pop_front() {
            self.passed = 0;
            self.count.low -= 1;
            if let Some(slot) = self.keys.get_mut(handle) {
                slot.entry.low = false;
                slot.entry.in_low -= 1;
            }
            return Some((handle, Priority::Low));
        }
        let handle = self.ready.pop_front()?;
        self.passed = if self.low.is_empty() {
            0
        } else {
            self.passed + 1
        };
        Some((handle, Priority::Normal))
    }

    /// Forgets the places in `low` that come first and do not count.
    fn pass_over(&mut self) {
        while let Some(handle) = self.low.front().copied() {
            if let Some(slot) = self.keys.get_mut(handle) {
                if slot.entry.low {
                    return;
                }
                slot.entry.in_low -= 1;
                if slot.entry.is_idle() {
                    self.keys.leave(handle);
                }
            }
            self.low.pop_front();
        }
    }

    /// Ends a run. If the key was added meanwhile, it becomes ready again, with the highest priority of those.
    pub(super) fn hand_back(&mut self, handle: Handle) {
        let Some(slot) = self.keys.get_mut(handle) else {
            return;
        };
        if mem::take(&mut slot.entry.running) {
            self.count.running -= 1;
            let is_low = mem::take(&mut slot.entry.again_low);
            if slot.entry.dirty && is_low {
                self.wait_low(handle);
            } else if slot.entry.dirty {
                self.ready.push_back(handle);
            }
        }
        if self
            .keys
            .get(handle)
            .is_some_and(|slot| slot.entry.is_idle())
        {
            self.keys.leave(handle);
        }
    }

    /// When the next delayed key becomes due.
    pub(super) fn next_due(&self) -> Option<T> {
        self.alarms.first().map(|(due, _)| *due)
    }

    /// How many keys are due from `from` to `until`; no more than `most` are counted.
    pub(super) fn due_between(&self, from: T, until: T, most: usize) -> usize {
        let span = (from, Handle::FIRST)..=(until, Handle::LAST);
        if from <= until {
            self.alarms.range(span).take(most).count()
        } else {
            0
        }
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
        self.alarms.len()
    }

    /// The handle of `key`, if it is anywhere.
    pub(super) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Handle>
    where
        K: Borrow<Q>,
    {
        self.keys.find(key)
    }

    /// What is noted of a key, if it is anywhere.
    pub(super) fn note(&self, handle: Handle) -> Option<&N> {
        self.keys.get(handle).map(|slot| &slot.entry.note)
    }

    /// Where a key is.
    pub(super) fn place(&self, handle: Handle) -> KeyPosition<T> {
        let Some(slot) = self.keys.get(handle) else {
            return KeyPosition::Nowhere;
        };
        let entry = &slot.entry;
        if entry.running {
            return KeyPosition::Running { again: entry.dirty };
        }
        if entry.dirty {
            return KeyPosition::Waiting { low: entry.low };
        }
        match entry.delayed {
            Some(due) => KeyPosition::Delayed {
                due,
                hold: entry
                    .held
                    .filter(|(until, _)| *until == due)
                    .map(|(_, hold)| hold),
            },
            None => KeyPosition::Nowhere,
        }
    }

    /// The keys that are to run already, and what holds each back.
    pub(super) fn held(&self) -> impl Iterator<Item = (&K, Hold)> {
        self.alarms.iter().filter_map(|(due, handle)| {
            let slot = self.keys.get(*handle)?;
            let (until, hold) = slot.entry.held?;
            (until == *due).then_some((&slot.key, hold))
        })
    }

    /// What is noted of the keys that are next, of either priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = &N> {
        let entry = |handle: &Handle| Some(&self.keys.get(*handle)?.entry);
        let low = self.low.iter().filter_map(entry).find(|entry| entry.low);
        let ready = self.ready.front().and_then(entry);
        ready.into_iter().chain(low).map(|entry| &entry.note)
    }

    /// How many keys run now.
    pub(super) fn running(&self) -> usize {
        self.count.running
    }

    fn promote(&mut self, now: T) {
        while let Some((due, handle)) = self.alarms.first().copied() {
            if due > now {
                return;
            }
            self.alarms.pop_first();
            let mut priority = Priority::Normal;
            if let Some(slot) = self.keys.get_mut(handle) {
                slot.entry.note.delay_ended();
                if slot.entry.delayed_low {
                    priority = Priority::Low;
                }
            }
            self.wake(handle, priority);
            if let Some(slot) = self.keys.get_mut(handle) {
                slot.entry.due = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
