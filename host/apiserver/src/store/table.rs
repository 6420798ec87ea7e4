//! The objects of one resource, and the last events among them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bell::{Bell, BellListener};
use super::entry::{Entry, NamespacedName};
use super::past::Past;
use super::{GroupResource, Store};
use crate::mutants::mutant;

#[derive(Debug, Default)]
pub(super) struct Table {
    objects: BTreeMap<NamespacedName, Arc<Entry>>,
    past: Past,
    /// Whether the resource is not served any more.
    closed: bool,
    /// Watches from before this revision are refused: the resource was not served yet.
    begins: u64,
    bell: Bell,
}

/// Something that happened to an object.
#[derive(Debug)]
pub struct Event {
    /// What happened.
    pub change: EventType,
    /// The object afterwards; for a deletion its last state, at the revision of the deletion.
    pub entry: Arc<Entry>,
    /// The object before.
    pub before: Option<Arc<Entry>>,
}

/// Something that happened to an object of any resource.
#[derive(Clone, Debug)]
pub struct Happened {
    /// The resource.
    pub place: GroupResource,
    /// What happened.
    pub event: Arc<Event>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of watch events")]
pub enum EventType {
    Added,
    Modified,
    Deleted,
}

/// Compacted away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Objects at a revision.
#[derive(Debug)]
pub struct Snapshot {
    /// The revision.
    pub revision: u64,
    /// In the order of namespace and name.
    pub entries: Vec<Arc<Entry>>,
}

/// A reader of what happens to one resource.
#[derive(Debug)]
pub struct Events {
    pub(super) store: Store,
    pub(super) place: GroupResource,
    pub(super) seen: u64,
    pub(super) changed: BellListener,
}

impl Table {
    pub(super) fn get(&self, key: &NamespacedName) -> Option<Arc<Entry>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn put(&mut self, entry: Arc<Entry>, deletes: bool) {
        let key = entry.key.clone();
        let before = if deletes {
            self.objects.remove(&key)
        } else {
            self.objects.insert(key, Arc::clone(&entry))
        };
        let change = match (&before, deletes) {
            (_, true) => EventType::Deleted,
            (Some(_), false) => EventType::Modified,
            (None, false) => EventType::Added,
        };
        self.past.add(Event {
            change,
            entry,
            before,
        });
        self.bell.ring();
    }

    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Arc<Entry>> {
        match namespace {
            None => self.objects.values().cloned().collect(),
            Some(namespace) => {
                let from = NamespacedName::new(namespace, "");
                let all = self.objects.range(from..);
                all.take_while(|(key, _)| *key.namespace == *namespace)
                    .map(|(_, entry)| Arc::clone(entry))
                    .collect()
            }
        }
    }

    /// Undoes the events after `revision`, latest first.
    pub(super) fn list_at(
        &self,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Entry>>, Gone> {
        let mut later = self.past.after(revision)?.rev().peekable();
        if later.peek().is_none() {
            return Ok(self.list(namespace));
        }
        let held = self.list(namespace).into_iter();
        let mut objects: BTreeMap<NamespacedName, Arc<Entry>> =
            held.map(|entry| (entry.key.clone(), entry)).collect();
        for event in later {
            let key = &event.entry.key;
            if namespace.is_some_and(|namespace| *key.namespace != *namespace) {
                continue;
            }
            match &event.before {
                Some(before) => objects.insert(key.clone(), Arc::clone(before)),
                None => objects.remove(key),
            };
        }
        Ok(objects.into_values().collect())
    }

    pub(super) fn follow(&self, revision: u64) -> Result<BellListener, Gone> {
        let earliest = self.past.begins().max(self.begins);
        if mutant!(TooOldVersionsAreServed, revision < earliest, false) {
            return Err(Gone);
        }
        let mut changed = self.bell.listen();
        if self.past.ends() > revision {
            changed.mark_changed();
        }
        Ok(changed)
    }

    /// What happened after `revision`, oldest first.
    pub(super) fn after(
        &self,
        revision: u64,
    ) -> Result<impl ExactSizeIterator<Item = &Arc<Event>>, Gone> {
        self.past.after(revision)
    }

    pub(super) fn begin(&mut self, revision: u64) {
        self.begins = revision;
        self.closed = false;
    }

    pub(super) fn close(&mut self) {
        self.end_readers();
        self.closed = true;
    }

    pub(super) fn end_readers(&mut self) {
        self.bell = Bell::default();
    }

    pub(super) fn past(&self) -> &Past {
        &self.past
    }

    pub(super) fn past_mut(&mut self) -> &mut Past {
        &mut self.past
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether nobody can miss it: the resource is gone, with all that happened to it.
    pub(super) fn is_spent(&self) -> bool {
        self.closed && self.objects.is_empty() && self.past.len() == 0
    }
}
