//! All objects, in memory: one revision counter over everything, and what happened lately.
//!
//! - Every accepted write gets the next revision; the object carries it as `resourceVersion`.
//! - A write names the revision that it builds on, and is refused if that has moved: no write is lost.
//! - The last events of each resource are kept, so that a watch can go on from where it was and a list can
//!   be read as of an earlier revision; older ones are compacted away (410). They are limited by their number,
//!   and all together by their bytes.
//! - Objects are kept as compact JSON, written once: lists and watches hand out the same bytes.

mod bell;
mod entry;
mod past;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use bell::BellListener;
pub(crate) use entry::parse;
pub use entry::{Entry, Labels, NamespacedName};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
pub use table::{Event, EventType, Events, Gone, Happened, Snapshot};

use bell::Bell;
use entry::Draft;
use past::Past;
use table::Table;

/// Which objects lie together: the group and plural, whatever the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupResource {
    /// The group; empty for the core one.
    pub group: String,
    /// The plural.
    pub plural: String,
}

/// The store. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store(Arc<Mutex<StoreState>>);

#[derive(Debug)]
struct StoreState {
    revision: u64,
    tables: BTreeMap<GroupResource, Table>,
    /// What the events of all tables take, in bytes.
    past: usize,
    /// Nothing can be listed as it was before this revision.
    compacted: u64,
    /// Rings with every write to anything.
    bell: Bell,
    /// How deeply the deepest object ever written is nested.
    deepest: usize,
}

/// What the events of all resources may take, in bytes.
pub const MOST_PAST: usize = 32 << 20;
/// Events that a reader takes at once: who does not read on holds no more than these.
const AT_ONCE: usize = 256;

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The objects that there are.
    pub objects: usize,
    /// The resources that have objects or events, or are served.
    pub resources: usize,
    /// The events that are kept.
    pub events: usize,
    /// What they take besides the objects that there are, in bytes.
    pub event_bytes: usize,
}

/// What a write does to an object.
#[derive(Debug)]
pub enum Write {
    /// Puts this in its place.
    Put(Value),
    /// Takes it away; this is what the watches see as its last state.
    Delete(Value),
}

/// The resource is not served any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// Another write came first: read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved;

impl Default for Store {
    /// An empty store.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(StoreState {
            revision: 1,
            tables: BTreeMap::new(),
            past: 0,
            compacted: 0,
            bell: Bell::default(),
            deepest: 0,
        })))
    }
}

impl Store {
    fn inner(&self) -> MutexGuard<'_, StoreState> {
        self.0.lock()
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.inner().revision
    }

    /// How deeply the deepest object ever written is nested: who reads objects needs a stack for it.
    pub fn deepest(&self) -> usize {
        self.inner().deepest
    }

    /// An object as it is.
    pub fn get(&self, place: &GroupResource, key: &NamespacedName) -> Option<Arc<Entry>> {
        self.inner().tables.get(place)?.get(key)
    }

    /// Writes one object, if it still is at the revision that the write builds on (`None`: absent).
    /// Answers the entry, which for a deletion is the last state with the revision of the deletion.
    ///
    /// # Errors
    /// [`Moved`] if another write came first.
    pub fn write(
        &self,
        place: &GroupResource,
        key: NamespacedName,
        expected: Option<u64>,
        write: Write,
    ) -> Result<Arc<Entry>, Moved> {
        // All that takes time is done before the lock is taken.
        let (draft, deletes) = match write {
            Write::Put(object) => (Draft::of(&object), false),
            Write::Delete(object) => (Draft::of(&object), true),
        };
        let nesting = draft.nesting();
        let mut inner = self.inner();
        let revision = inner.revision + 1;
        let table = inner.tables.entry(place.clone()).or_default();
        if table.get(&key).map(|held| held.revision) != expected {
            return Err(Moved);
        }
        let entry = Arc::new(draft.at(key, revision));
        let before = table.past().bytes();
        table.put(Arc::clone(&entry), deletes);
        let after = table.past().bytes();
        inner.past = inner.past + after - before;
        inner.bound();
        inner.revision = revision;
        inner.deepest = inner.deepest.max(nesting);
        inner.bell.ring();
        Ok(entry)
    }

    /// Objects of one resource, in the order of namespace and name, and the revision that they show.
    pub fn list(&self, place: &GroupResource, namespace: Option<&str>) -> Snapshot {
        let inner = self.inner();
        let revision = inner.revision;
        let table = inner.tables.get(place);
        Snapshot {
            revision,
            entries: table.map(|table| table.list(namespace)).unwrap_or_default(),
        }
    }

    /// The same as they were at `revision`.
    ///
    /// # Errors
    /// [`Gone`] if that has been compacted away.
    pub fn list_at(
        &self,
        place: &GroupResource,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Snapshot, Gone> {
        let inner = self.inner();
        if revision < inner.compacted {
            return Err(Gone);
        }
        let entries = match inner.tables.get(place) {
            Some(table) => table.list_at(namespace, revision)?,
            None => Vec::new(),
        };
        Ok(Snapshot { revision, entries })
    }

    /// Follows one resource from `revision` on (events after it).
    ///
    /// # Errors
    /// [`Gone`] if events after it have been compacted away.
    pub fn follow(&self, place: &GroupResource, revision: u64) -> Result<Events, Gone> {
        let mut inner = self.inner();
        let table = inner.tables.entry(place.clone()).or_default();
        let changed = table.follow(revision)?;
        Ok(Events {
            store: self.clone(),
            place: place.clone(),
            seen: revision,
            changed,
        })
    }

    /// What happened to objects of all resources after `revision`, in order, and the revision that this
    /// brings the reader to.
    ///
    /// # Errors
    /// [`Gone`] if some of it has been compacted away.
    pub fn since(&self, revision: u64) -> Result<(Vec<Happened>, u64), Gone> {
        let inner = self.inner();
        let mut all = Vec::new();
        for (place, table) in &inner.tables {
            for event in table.after(revision)? {
                all.push(Happened {
                    place: place.clone(),
                    event: Arc::clone(event),
                });
            }
        }
        all.sort_by_key(|happened| happened.event.entry.revision);
        Ok((all, inner.revision))
    }

    /// Rings with every write to anything, and with [`Store::ring`].
    pub fn bell(&self) -> BellListener {
        self.inner().bell.listen()
    }

    /// Rings without a write: something else has changed.
    pub fn ring(&self) {
        self.inner().bell.ring();
    }

    /// Watches of a resource go back to this moment at most.
    pub fn begin(&self, place: &GroupResource) {
        let mut inner = self.inner();
        let now = inner.revision;
        inner.tables.entry(place.clone()).or_default().begin(now);
    }

    /// Ends the readers of a resource, once they have seen everything.
    pub fn close(&self, place: &GroupResource) {
        if let Some(table) = self.inner().tables.get_mut(place) {
            table.close();
        }
    }

    /// Ends the readers of a resource that is still served, once they have seen everything.
    pub fn end_watches(&self, place: &GroupResource) {
        if let Some(table) = self.inner().tables.get_mut(place) {
            table.end_readers();
        }
    }

    /// Forgets what happened up to now: who has not seen it by then gets a 410.
    pub fn compact(&self) {
        let mut inner = self.inner();
        let revision = inner.revision;
        inner.forget(revision, |past| past.clear(revision));
    }

    /// Forgets what happened up to a revision, as etcd's compaction does: who has not seen it by then gets a
    /// 410. Resources to which nothing happened can be watched from any revision.
    pub fn compact_until(&self, revision: u64) {
        let mut inner = self.inner();
        inner.forget(revision, |past| past.forget_until(revision));
    }

    /// How much it holds.
    pub fn size(&self) -> Size {
        let inner = self.inner();
        let mut size = Size {
            resources: inner.tables.len(),
            event_bytes: inner.past,
            ..Size::default()
        };
        for table in inner.tables.values() {
            size.objects += table.len();
            size.events += table.past().len();
        }
        size
    }

    /// The resources that have objects, or had.
    pub fn places(&self) -> Vec<GroupResource> {
        self.inner().tables.keys().cloned().collect()
    }

    /// Moves the revision on without a write: a restored server, a simulated gap.
    pub fn skip(&self, revisions: u64) {
        self.inner().revision += revisions;
    }

    /// The next events after `revision`, and up to where they tell everything.
    fn after(&self, place: &GroupResource, revision: u64) -> Result<(Vec<Arc<Event>>, u64), Gone> {
        let inner = self.inner();
        let Some(table) = inner.tables.get(place) else {
            return Ok((Vec::new(), inner.revision));
        };
        let after = table.after(revision)?;
        let is_all = after.len() <= AT_ONCE;
        let events: Vec<Arc<Event>> = after.take(AT_ONCE).cloned().collect();
        let last = events.last().map(|last| last.entry.revision);
        let reached = last.filter(|_| !is_all).unwrap_or(inner.revision);
        Ok((events, reached))
    }
}

impl StoreState {
    /// Keeps the events within their bytes, at the cost of the resource whose events take most.
    fn bound(&mut self) {
        while self.past > MOST_PAST {
            let all = self.tables.values_mut().map(Table::past_mut);
            let Some(largest) = all.max_by_key(|past| past.bytes()) else {
                return;
            };
            let before = largest.bytes();
            largest.shrink_to(before / 4 * 3);
            self.past -= before - largest.bytes();
        }
    }

    fn forget(&mut self, revision: u64, from: impl Fn(&mut Past)) {
        self.compacted = self.compacted.max(revision);
        self.tables
            .values_mut()
            .for_each(|table| from(table.past_mut()));
        self.tables.retain(|_, table| !table.is_spent());
        self.past = self.tables.values().map(|table| table.past().bytes()).sum();
    }
}

impl Events {
    /// The store that is read.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What happened since the last call, with the revision that this brings the reader to; waits for
    /// nothing. There may be more.
    ///
    /// # Errors
    /// [`Gone`] if the reader was too slow.
    pub fn take(&mut self) -> Result<(Vec<Arc<Event>>, u64), Gone> {
        self.changed.mark_unchanged();
        let (events, revision) = self.store.after(&self.place, self.seen)?;
        self.seen = revision;
        if events.len() == AT_ONCE {
            self.changed.mark_changed();
        }
        Ok((events, revision))
    }

    /// Waits until something happens.
    ///
    /// # Errors
    /// [`Closed`] if nothing will, and everything has been taken.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        self.changed.changed().await
    }
}

#[cfg(test)]
mod tests;
