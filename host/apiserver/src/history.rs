//! The true history: every accepted write, for a test that judges a run afterwards.
//!
//! Clients see what watches show them; an oracle sees this (what really happened, by whom, and why).

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::request::route::Verb;
use crate::store::{Entry, GroupResource, NamespacedName};

/// One accepted write.
#[derive(Clone, Debug)]
pub struct Record {
    /// The number of the request: a request can be several writes.
    pub request: u64,
    /// When.
    pub time: Timestamp,
    /// Who.
    pub user: String,
    /// The user agent, as managedFields have it.
    pub agent: String,
    /// The field manager that the request names; empty if it names none.
    pub manager: String,
    /// What was sent, and as what: `application/apply-patch+yaml`.
    pub sent: (String, Bytes),
    /// What was asked for: a deletion that sets a timestamp is a `Delete` too.
    pub verb: Verb,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// Which resource.
    pub place: GroupResource,
    /// Which object.
    pub key: NamespacedName,
    /// The object before; nothing if it was made.
    pub before: Option<Arc<Entry>>,
    /// The object afterwards; nothing if it went away.
    pub after: Option<Arc<Entry>>,
    /// The revision that the write got.
    pub revision: u64,
}

/// Keeps records, if it was asked to.
#[derive(Debug)]
pub struct History(Option<Mutex<Vec<Record>>>);

impl History {
    /// A history that keeps records, or none.
    pub fn new(keeps: bool) -> Self {
        Self(keeps.then(Mutex::default))
    }

    /// Keeps a write.
    pub(crate) fn add(&self, record: impl FnOnce() -> Record) {
        if let Some(records) = &self.0 {
            let record = record();
            let mut records = records.lock();
            records.push(record);
        }
    }

    /// How many objects of this key were made so far.
    pub(crate) fn creations(&self, place: &GroupResource, key: &NamespacedName) -> usize {
        let Some(records) = &self.0 else {
            return 0;
        };
        let records = records.lock();
        let of_key = records
            .iter()
            .filter(|record| record.key == *key && record.place == *place);
        of_key.filter(|record| record.before.is_none()).count()
    }

    /// All records so far, by revision.
    pub fn records(&self) -> Vec<Record> {
        let Some(records) = &self.0 else {
            return Vec::new();
        };
        let mut all = records.lock().clone();
        all.sort_by_key(|record| record.revision);
        all
    }
}
