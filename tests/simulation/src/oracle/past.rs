//! What was true when: every object's versions, by kind and name, from the true history.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_apiserver::history::Record;
use windlass_apiserver::store::{Entry, Labels};
use windlass_kube::object::Key;
use windlass_kube::selector::LabelSelector;

use super::stable::is_exempt;
use crate::run::Evidence;

/// The objects of a run, through time.
pub(super) struct Past<'a>(BTreeMap<(String, Key), Vec<&'a Record>>);

impl<'a> Past<'a> {
    pub(super) fn of(run: &'a Evidence) -> Self {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
        for record in run.history.iter().filter(|record| !is_exempt(record)) {
            let kind = kinds
                .entry(&record.place.plural)
                .or_insert_with(|| kind_of(record));
            let name = (kind.clone(), key_of(record));
            all.entry(name).or_default().push(record);
        }
        Self(all)
    }

    /// The last write to an object up to a revision.
    pub(super) fn last(&self, kind: &str, key: &Key, until: u64) -> Option<&'a Record> {
        let writes = self.0.get(&(kind.to_owned(), key.clone()))?;
        let end = writes.partition_point(|record| record.revision <= until);
        writes.get(end.checked_sub(1)?).copied()
    }

    /// Whether an object is the same at two revisions, but for what says when and by whom it was written.
    pub(super) fn is_same(&self, kind: &str, key: &Key, one: u64, other: u64) -> bool {
        let at = |revision| {
            let entry = self.last(kind, key, revision)?.after.as_ref()?;
            let mut value = entry.value();
            for field in ["managedFields", "resourceVersion"] {
                value.get_mut("metadata")?.as_object_mut()?.remove(field);
            }
            value.as_object_mut()?.remove("status");
            Some(value)
        };
        at(one) == at(other)
    }

    /// All writes to objects of a kind.
    pub(super) fn writes(&self, kind: &str) -> impl Iterator<Item = &'a Record> {
        let of = self.0.iter().filter(move |((of, _), _)| of == kind);
        of.flat_map(|(_, writes)| writes.iter().copied())
    }

    /// The last write to each object up to a revision.
    pub(super) fn state(&self, until: u64) -> impl Iterator<Item = (&(String, Key), &'a Record)> {
        self.0.iter().filter_map(move |(name, writes)| {
            let end = writes.partition_point(|record| record.revision <= until);
            let last = writes.get(end.checked_sub(1)?)?;
            Some((name, *last))
        })
    }
}

/// What a record is about.
pub(super) fn key_of(record: &Record) -> Key {
    let namespace = Some(record.key.namespace.as_ref()).filter(|held| !held.is_empty());
    Key::new(namespace, record.key.name.as_ref())
}

fn kind_of(record: &Record) -> String {
    let entry = record.after.as_ref().or(record.before.as_ref());
    let object = entry.map(|entry| entry.value()).unwrap_or_default();
    text(&object, "/kind").to_owned()
}

/// Whether a record leaves an object that is in a list.
pub(super) fn is_in(record: &Record, namespace: Option<&str>, selector: &LabelSelector) -> bool {
    let place = namespace.is_none_or(|namespace| *record.key.namespace == *namespace);
    place
        && record
            .after
            .as_ref()
            .is_some_and(|entry| selects(entry, selector))
}

/// Whether a record leaves or takes an object that is, or was, in a list.
pub(super) fn concerns(record: &Record, namespace: Option<&str>, selector: &LabelSelector) -> bool {
    let place = namespace.is_none_or(|namespace| *record.key.namespace == *namespace);
    let mut sides = [&record.before, &record.after].into_iter().flatten();
    place && sides.any(|entry| selects(entry, selector))
}

fn selects(entry: &Entry, selector: &LabelSelector) -> bool {
    match &entry.labels {
        Some(labels) => selector.selects(labels),
        None => selector.selects(&Labels::new()),
    }
}

/// A text in an object; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object
        .pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
