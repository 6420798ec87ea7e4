//! What each key's last run read, and whom a change of it wakes.
//!
//! - A read counts from the moment it is made: a change that comes while the key runs is not lost.
//! - What the last run read that ended well is kept until another one has ended well.
//! - What is kept counts on the plugin's account, for as long as it is kept.
//! - Reads of one object are found by its name, lists by their namespace and the first equality of their
//!   selector: an unrelated change costs the same with ten keys or ten thousand.

mod kind;

use std::collections::{BTreeSet, HashMap};

use kind::{KindReads, OwnerBucket, ReadRuns, owner_buckets};
use windlass_base::bugs::bug;
use windlass_base::memory::{Account, Charge, Exceeded};
use windlass_kube::object::{Key, Metadata};
use windlass_kube::selector::LabelSelector;

/// So many reads of one kind are kept apart for a key; with more, it is woken by every change of the kind.
const MOST: usize = 1_000;

/// The entries of a read in a list and in an index take so much, in bytes.
const REMEMBERED: usize = 400;

/// A group and a kind, in whatever version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GroupKind {
    pub(super) group: String,
    pub(super) kind: String,
}

/// Something that was read.
#[derive(Clone, Debug)]
pub(super) enum Read {
    /// One object, there or not.
    Object(Key),
    /// The objects in a namespace, or everywhere, that a selector selects.
    List(Option<String>, LabelSelector),
    /// The objects in a namespace, or everywhere, that the object with this UID owns; with none, those that no object
    /// controls.
    Children(Option<String>, Option<String>),
}

impl Read {
    /// What it takes to remember it, of this kind, in bytes: in a reader's list and in an index.
    fn bytes(&self, kind: &GroupKind) -> usize {
        let own = match self {
            Self::Object(key) => {
                key.name.len() + key.namespace.as_ref().map_or(0, |text| text.len())
            }
            Self::List(namespace, selector) => {
                namespace.as_ref().map_or(0, String::len) + selector.bytes()
            }
            Self::Children(namespace, owner) => [namespace, owner]
                .into_iter()
                .flatten()
                .map(String::len)
                .sum(),
        };
        REMEMBERED + 2 * (own + kind.group.len() + kind.kind.len())
    }
}

/// The reads of all keys of one plugin.
#[derive(Debug)]
pub(super) struct Reads {
    kinds: HashMap<GroupKind, KindReads>,
    readers: HashMap<Key, KeyReads>,
    /// What all of them take.
    charge: Charge,
}

/// What one key read.
#[derive(Debug, Default)]
struct KeyReads {
    settled: Vec<(GroupKind, Read)>,
    latest: Vec<(GroupKind, Read)>,
    /// How many reads of each kind the latest run has made.
    counts: HashMap<GroupKind, usize>,
}

impl Reads {
    /// None yet. They count on `account`.
    pub(super) fn on(account: &Account) -> Self {
        Self {
            kinds: HashMap::new(),
            readers: HashMap::new(),
            charge: account.charge(),
        }
    }

    /// These are kept no more.
    fn give_back(&mut self, reads: &[(GroupKind, Read)]) {
        let bytes: usize = reads.iter().map(|(kind, read)| read.bytes(kind)).sum();
        self.charge.set(self.charge.bytes().saturating_sub(bytes));
    }

    /// A run of `reader` begins. What a run read that did not end well is forgotten.
    pub(super) fn begin(&mut self, reader: &Key) {
        let held = self.readers.entry(reader.clone()).or_default();
        held.counts.clear();
        let latest = std::mem::take(&mut held.latest);
        self.give_back(&latest);
        for (kind, read) in latest {
            self.mark(reader, &kind, &read, |runs| runs.latest = false);
        }
    }

    /// The run of `reader` has read something, or is about to.
    ///
    /// # Errors
    /// There is no room to remember it.
    pub(super) fn read(
        &mut self,
        reader: &Key,
        kind: &GroupKind,
        read: Read,
    ) -> Result<(), Exceeded> {
        let Some(held) = self.readers.get_mut(reader) else {
            return Ok(());
        };
        // Before anything is kept of it. What is known already gives it back.
        let bytes = read.bytes(kind);
        self.charge.grow(bytes)?;
        let count = held.counts.entry(kind.clone()).or_default();
        *count += 1;
        let read = match *count {
            ..MOST => read,
            MOST => Read::List(None, LabelSelector::default()),
            _ => {
                self.charge.set(self.charge.bytes() - bytes);
                return Ok(());
            }
        };
        let index = self.kinds.entry(kind.clone()).or_default();
        let kept = if index.insert(reader, &read) {
            read.bytes(kind)
        } else {
            0
        };
        if kept > 0 {
            held.latest.push((kind.clone(), read));
        }
        self.charge.set(self.charge.bytes() - bytes + kept);
        Ok(())
    }

    /// The run of `reader` has ended well: only what it read counts.
    pub(super) fn settle(&mut self, reader: &Key) {
        let Some(held) = self.readers.get_mut(reader) else {
            return;
        };
        let latest = std::mem::take(&mut held.latest);
        let before = std::mem::replace(&mut held.settled, latest.clone());
        // Most keys read nothing, and between two runs they are to cost nothing.
        held.counts = HashMap::new();
        if latest.is_empty() {
            self.readers.remove(reader);
        }
        self.give_back(&before);
        for (kind, read) in before {
            self.mark(reader, &kind, &read, |runs| runs.settled = false);
        }
        let settled = |runs: &mut ReadRuns| {
            *runs = ReadRuns {
                settled: true,
                latest: false,
            }
        };
        for (kind, read) in latest {
            self.mark(reader, &kind, &read, settled);
        }
    }

    /// The object that `reader` names is gone.
    pub(super) fn forget(&mut self, reader: &Key) {
        let held = self.readers.remove(reader).unwrap_or_default();
        self.give_back(&held.settled);
        self.give_back(&held.latest);
        for (kind, read) in held.settled.iter().chain(&held.latest) {
            self.mark(reader, kind, read, |runs| *runs = ReadRuns::default());
        }
    }

    /// Who has read what changed from `old` to `new`.
    pub(super) fn woken(
        &self,
        kind: &GroupKind,
        old: Option<&Metadata>,
        new: Option<&Metadata>,
    ) -> Vec<Key> {
        self.look_up(kind, [old, new]).0
    }

    /// Who has read one of `both`, and how often an index was asked, or a selector.
    fn look_up(&self, kind: &GroupKind, both: [Option<&Metadata>; 2]) -> (Vec<Key>, usize) {
        let mut probes = 1;
        let Some(kind) = self.kinds.get(kind) else {
            return (Vec::new(), probes);
        };
        let sides = bug!(
            LeavingAListIsNotHeard,
            both,
            match both {
                [Some(_), Some(new)] => [None, Some(new)],
                both => both,
            }
        );
        let is_new_to_all = bug!(AbsentReadsAreNotTracked, false, sides[0].is_none());
        let mut keys = Vec::new();
        let mut buckets = BTreeSet::new();
        for side in sides.into_iter().flatten() {
            let key = &side.key;
            let readers = kind.objects.get(key).filter(|_| !is_new_to_all);
            let readers = readers.into_iter();
            keys.extend(readers.flat_map(HashMap::keys).cloned());
            probes += 1;
            for namespace in [None, key.namespace.clone()] {
                let labels = side
                    .labels
                    .iter()
                    .map(|(name, value)| Some((name.clone(), value.clone())));
                buckets.extend(labels.chain([None]).map(|label| (namespace.clone(), label)));
            }
        }
        // Most plugins read no children by their owner.
        if !kind.children.is_empty() {
            let owners = sides.into_iter().flatten().flat_map(owner_buckets);
            let owners: BTreeSet<OwnerBucket> = owners.collect();
            let children = owners.iter().filter_map(|bucket| kind.children.get(bucket));
            keys.extend(children.flat_map(HashMap::keys).cloned());
            probes += owners.len();
        }
        probes += buckets.len();
        let lists = buckets.iter().filter_map(|bucket| kind.lists.get(bucket));
        for (reader, selectors) in lists.flatten() {
            let selects = |(selector, _): &(LabelSelector, ReadRuns)| {
                let mut sides = sides.into_iter().flatten();
                sides.any(|side| selector.selects(&side.labels))
            };
            probes += selectors.len();
            if selectors.iter().any(selects) {
                keys.push(reader.clone());
            }
        }
        keys.sort();
        keys.dedup();
        (keys, probes)
    }

    /// Says again which runs made a read; what none made is taken out.
    fn mark(
        &mut self,
        reader: &Key,
        kind: &GroupKind,
        read: &Read,
        mark: impl FnOnce(&mut ReadRuns),
    ) {
        let Some(index) = self.kinds.get_mut(kind) else {
            return;
        };
        index.mark(reader, read, mark);
        if index.objects.is_empty() && index.lists.is_empty() && index.children.is_empty() {
            self.kinds.remove(kind);
        }
    }
}

#[cfg(test)]
mod tests;
