//! All objects, in memory: one revision counter over everything, and what happened lately.
//!
//! - Every accepted write gets the next revision; the object carries it as `resourceVersion`.
//! - A write names the revision that it builds on, and is refused if that has moved: no write is lost.
//! - The last events of each resource are kept, so that a watch can go on from where it was and a list can
//!   be read as of an earlier revision; older ones are compacted away (410).
//! - Objects are kept as compact JSON, written once: lists and watches hand out the same bytes.

mod bell;
mod entry;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use bell::Listener;
pub(crate) use entry::parse;
pub use entry::{Entry, Key, Labels};
use serde_json::Value;
pub use table::{Change, Event, Events, Gone, Happened, Snapshot};

use bell::Bell;
use entry::Draft;
use table::Table;

/// Which objects lie together: the group and plural, whatever the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The group; empty for the core one.
    pub group: String,
    /// The plural.
    pub plural: String,
}

/// The store. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    revision: u64,
    tables: BTreeMap<Place, Table>,
    /// Rings with every write to anything.
    bell: Bell,
    /// How deeply the deepest object ever written is nested.
    deepest: usize,
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
        Self(Arc::new(Mutex::new(Inner {
            revision: 1,
            tables: BTreeMap::new(),
            bell: Bell::default(),
            deepest: 0,
        })))
    }
}

impl Store {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn get(&self, place: &Place, key: &Key) -> Option<Arc<Entry>> {
        self.inner().tables.get(place)?.get(key)
    }

    /// Writes one object, if it still is at the revision that the write builds on (`None`: absent).
    /// Answers the entry, which for a deletion is the last state with the revision of the deletion.
    ///
    /// # Errors
    /// [`Moved`] if another write came first.
    pub fn write(
        &self,
        place: &Place,
        key: Key,
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
        table.put(Arc::clone(&entry), deletes);
        inner.revision = revision;
        inner.deepest = inner.deepest.max(nesting);
        inner.bell.ring();
        Ok(entry)
    }

    /// Objects of one resource, in the order of namespace and name, and the revision that they show.
    pub fn list(&self, place: &Place, namespace: Option<&str>) -> Snapshot {
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
        place: &Place,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Snapshot, Gone> {
        let inner = self.inner();
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
    pub fn follow(&self, place: &Place, revision: u64) -> Result<Events, Gone> {
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
                let place = place.clone();
                all.push(Happened { place, event });
            }
        }
        all.sort_by_key(|happened| happened.event.entry.revision);
        Ok((all, inner.revision))
    }

    /// Rings with every write to anything, and with [`Store::ring`].
    pub fn bell(&self) -> Listener {
        self.inner().bell.listen()
    }

    /// Rings without a write: something else has changed.
    pub fn ring(&self) {
        self.inner().bell.ring();
    }

    /// Watches of a resource go back to this moment at most.
    pub fn begin(&self, place: &Place) {
        let mut inner = self.inner();
        let now = inner.revision;
        inner.tables.entry(place.clone()).or_default().begin(now);
    }

    /// Ends the readers of a resource, once they have seen everything.
    pub fn close(&self, place: &Place) {
        if let Some(table) = self.inner().tables.get_mut(place) {
            table.close();
        }
    }

    /// Forgets what happened up to now: who has not seen it by then gets a 410.
    pub fn compact(&self) {
        let mut inner = self.inner();
        let revision = inner.revision;
        for table in inner.tables.values_mut() {
            table.compact(revision);
        }
    }

    /// The resources that have objects, or had.
    pub fn places(&self) -> Vec<Place> {
        self.inner().tables.keys().cloned().collect()
    }

    /// Moves the revision on without a write: a restored server, a simulated gap.
    pub fn skip(&self, revisions: u64) {
        self.inner().revision += revisions;
    }

    fn after(&self, place: &Place, revision: u64) -> Result<(Vec<Arc<Event>>, u64), Gone> {
        let inner = self.inner();
        let events = match inner.tables.get(place) {
            Some(table) => table.after(revision)?,
            None => Vec::new(),
        };
        Ok((events, inner.revision))
    }
}

impl Events {
    /// The store that is read.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What happened since the last call, with the revision that this brings the reader to; waits for
    /// nothing.
    ///
    /// # Errors
    /// [`Gone`] if the reader was too slow.
    pub fn take(&mut self) -> Result<(Vec<Arc<Event>>, u64), Gone> {
        self.changed.mark_unchanged();
        let (events, revision) = self.store.after(&self.place, self.seen)?;
        self.seen = revision;
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
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> Place {
        Place {
            group: String::new(),
            plural: "configmaps".to_owned(),
        }
    }

    fn key(name: &str) -> Key {
        Key::new("default", name)
    }

    fn object(name: &str, data: u32) -> Value {
        json!({ "data": data, "kind": "ConfigMap", "metadata": { "name": name, "uid": "u" } })
    }

    #[test]
    fn a_write_that_builds_on_an_older_state_is_refused() {
        let store = Store::default();
        let first = store
            .write(&place(), key("a"), None, Write::Put(object("a", 1)))
            .unwrap();
        assert_eq!(first.revision, 2);
        assert_eq!(
            first.value()["metadata"],
            json!({ "name": "a", "resourceVersion": "2", "uid": "u" })
        );
        let late = store.write(&place(), key("a"), None, Write::Put(object("a", 2)));
        assert_eq!(late.unwrap_err(), Moved);
        let next = store.write(&place(), key("a"), Some(2), Write::Put(object("a", 2)));
        assert_eq!(next.unwrap().revision, 3);
    }

    #[tokio::test]
    async fn a_reader_sees_every_event_once_and_in_order() {
        let store = Store::default();
        let mut events = store.follow(&place(), 1).unwrap();
        let put = |name: &str, expected, data| {
            let write = Write::Put(object(name, data));
            store
                .write(&place(), key(name), expected, write)
                .unwrap()
                .revision
        };
        let first = put("a", None, 1);
        put("b", None, 1);
        put("a", Some(first), 2);
        events.changed().await.unwrap();
        let (seen, revision) = events.take().unwrap();
        let seen: Vec<_> = seen
            .iter()
            .map(|event| (event.change, event.entry.revision))
            .collect();
        assert_eq!(
            seen,
            [
                (Change::Added, 2),
                (Change::Added, 3),
                (Change::Modified, 4)
            ]
        );
        assert_eq!(revision, 4);
        assert!(events.take().unwrap().0.is_empty());
        store.compact();
        assert!(events.take().is_ok(), "it had seen everything");
        put("c", None, 1);
        store.compact();
        assert_eq!(events.take().unwrap_err(), Gone);
    }

    #[tokio::test]
    async fn a_reader_of_what_is_closed_sees_the_rest_and_then_the_end() {
        let store = Store::default();
        let mut events = store.follow(&place(), 1).unwrap();
        let write = Write::Put(object("a", 1));
        store.write(&place(), key("a"), None, write).unwrap();
        store.close(&place());
        assert_eq!(events.changed().await, Ok(()));
        assert_eq!(events.take().unwrap().0.len(), 1);
        assert_eq!(events.changed().await, Err(Closed));
        let mut again = store.follow(&place(), 2).unwrap();
        let write = Write::Put(object("b", 1));
        store.write(&place(), key("b"), None, write).unwrap();
        assert_eq!(again.changed().await, Ok(()), "it may come again");
    }

    #[test]
    fn a_list_can_be_read_as_of_an_earlier_revision() {
        let store = Store::default();
        let names = |snapshot: &Snapshot| -> Vec<String> {
            let entries = snapshot.entries.iter();
            entries
                .map(|entry| format!("{}:{}", entry.key.name, entry.revision))
                .collect()
        };
        for (name, data) in [("a", 1), ("b", 1), ("c", 1)] {
            store
                .write(&place(), key(name), None, Write::Put(object(name, data)))
                .unwrap();
        }
        let before = store.list(&place(), None);
        store
            .write(&place(), key("a"), Some(2), Write::Put(object("a", 2)))
            .unwrap();
        store
            .write(&place(), key("b"), Some(3), Write::Delete(object("b", 1)))
            .unwrap();
        store
            .write(&place(), key("d"), None, Write::Put(object("d", 1)))
            .unwrap();
        assert_eq!(names(&store.list(&place(), None)), ["a:5", "c:4", "d:7"]);
        let then = store.list_at(&place(), None, before.revision).unwrap();
        assert_eq!(names(&then), names(&before));
        assert_eq!(names(&then), ["a:2", "b:3", "c:4"]);
        store.compact();
        assert_eq!(
            store.list_at(&place(), None, before.revision).unwrap_err(),
            Gone
        );
    }
}
