//! What is known of each key, in slots that are found by the key or by a handle.
//!
//! - **A key is hashed once**, when it comes: its hash stays with it until it goes.
//! - **A handle is enough** for everything after that, and reads no text.
//! - **In order of arrival**: keys that come one after the other lie one after the other in memory, so that code that
//!   takes them in that order need not wait for it. The slot that was left last is the next to be used.
//! - **Given back**: what many keys have taken is free again when all have gone.

use std::borrow::Borrow;
use std::hash::Hash;

use hashbrown::HashTable;

/// So many slots are kept when all are left: a first list puts all objects into the queue, once.
const FEW: usize = 1024;

/// Slots for keys, and for an `E` that is known of each.
#[derive(Debug)]
pub(super) struct Slots<K, E> {
    slots: Vec<Option<Slot<K, E>>>,
    /// Those that have been left.
    free: Vec<Handle>,
    by_key: HashTable<Handle>,
    hasher: ahash::RandomState,
}

/// A key, and what is known of it.
#[derive(Debug)]
pub(super) struct Slot<K, E> {
    hash: u64,
    pub(super) key: K,
    pub(super) entry: E,
}

/// Says in which slot a key is, for as long as it is in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controller) struct Handle(u32);

impl Handle {
    /// No handle is less, or more.
    pub(super) const FIRST: Self = Self(0);
    pub(super) const LAST: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl<K, E> Default for Slots<K, E> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: HashTable::new(),
            hasher: ahash::RandomState::new(),
        }
    }
}

impl<K: Eq + Hash, E: Default> Slots<K, E> {
    /// The slot of `key`, which gets one if it has none; `None` if there are more keys than handles.
    pub(super) fn enter(&mut self, key: K) -> Option<Handle> {
        let hash = self.hasher.hash_one(&key);
        let slots = &self.slots;
        let slot = |handle: &Handle| slots.get(handle.index())?.as_ref();
        let is_it = |handle: &Handle| slot(handle).is_some_and(|slot| slot.key == key);
        if let Some(handle) = self.by_key.find(hash, is_it) {
            return Some(*handle);
        }
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None => Handle(u32::try_from(slots.len()).ok()?),
        };
        let hash_of = |handle: &Handle| slot(handle).map_or(0, |slot| slot.hash);
        self.by_key.insert_unique(hash, handle, hash_of);
        let entry = E::default();
        let slot = Some(Slot { hash, key, entry });
        match self.slots.get_mut(handle.index()) {
            Some(left) => *left = slot,
            None => self.slots.push(slot),
        }
        Some(handle)
    }

    /// The slot of `key`, if it has one.
    pub(super) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Handle>
    where
        K: Borrow<Q>,
    {
        let is_it = |handle: &Handle| {
            let slot = self.get(*handle);
            slot.is_some_and(|slot| slot.key.borrow() == key)
        };
        let hash = self.hasher.hash_one(key);
        self.by_key.find(hash, is_it).copied()
    }

    /// What is in a slot.
    pub(super) fn get(&self, handle: Handle) -> Option<&Slot<K, E>> {
        self.slots.get(handle.index())?.as_ref()
    }

    /// The same, to change what is known.
    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut Slot<K, E>> {
        self.slots.get_mut(handle.index())?.as_mut()
    }

    /// Forgets the key in a slot.
    pub(super) fn leave(&mut self, handle: Handle) {
        let Some(left) = self.slots.get_mut(handle.index()) else {
            return;
        };
        let Some(slot) = left else {
            return;
        };
        let found = self.by_key.find_entry(slot.hash, |held| *held == handle);
        if let Ok(found) = found {
            found.remove();
        }
        *left = None;
        self.free.push(handle);
        if self.by_key.is_empty() && self.slots.len() > FEW {
            *self = Self {
                hasher: self.hasher.clone(),
                ..Self::default()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_many_keys_have_taken_is_given_back_when_all_have_gone() {
        let mut slots: Slots<usize, u32> = Slots::default();
        let handles: Vec<_> = (0..=FEW).filter_map(|key| slots.enter(key)).collect();
        handles.iter().for_each(|handle| slots.leave(*handle));
        assert_eq!((slots.slots.capacity(), slots.free.capacity()), (0, 0));
        let handle = slots.enter(7).unwrap();
        assert_eq!(slots.find(&7), Some(handle));
    }

    /// Random operations against a map.
    #[test]
    fn a_key_has_one_slot_and_what_is_known_of_it_until_it_leaves() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut slots: Slots<u16, u32> = Slots::default();
        let mut model: BTreeMap<u16, (Handle, u32)> = BTreeMap::new();
        for number in 0..20_000 {
            let key = rng.u16(0..500);
            if rng.u8(0..3) == 0 {
                let known = model.remove(&key).map(|(handle, _)| handle);
                assert_eq!(slots.find(&key), known);
                known.into_iter().for_each(|handle| slots.leave(handle));
            } else {
                let handle = slots.enter(key).unwrap();
                let held = model.entry(key).or_insert((handle, 0));
                let slot = slots.get_mut(handle).unwrap();
                assert_eq!((handle, slot.key, slot.entry), (held.0, key, held.1));
                (slot.entry, held.1) = (number, number);
            }
        }
        for key in 0..500 {
            let slot = slots.find(&key).and_then(|handle| slots.get(handle));
            let known = model.get(&key).map(|(_, entry)| *entry);
            assert_eq!(slot.map(|slot| slot.entry), known);
        }
        assert!(slots.slots.len() <= 500, "what is left is used again");
    }
}
