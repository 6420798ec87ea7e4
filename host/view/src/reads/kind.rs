//! The reads of objects of one kind, indexed by what a change of an object can concern.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::Read;
use windlass_kube::object::{Key, Metadata};
use windlass_kube::selector::LabelSelector;

/// The reads of objects of one kind.
#[derive(Debug, Default)]
pub(super) struct KindReads {
    /// Who read an object.
    pub(super) objects: HashMap<Key, HashMap<Key, ReadRuns>>,
    pub(super) lists: HashMap<Bucket, HashMap<Key, Vec<(LabelSelector, ReadRuns)>>>,
    /// Who read the children of an owner, or what has no controller.
    pub(super) children: HashMap<OwnerBucket, HashMap<Key, ReadRuns>>,
}

/// A namespace, or all of them, and an owner's UID, or none for what has no controller.
pub(super) type OwnerBucket = (Option<Arc<str>>, Option<Arc<str>>);

/// Lists that a change is looked up for together: their namespace, and a label that they ask for.
pub(super) type Bucket = (Option<Arc<str>>, Option<(String, String)>);

/// Which runs of a key made a read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadRuns {
    /// The last one that ended well.
    pub(super) settled: bool,
    /// The one that is under way, or has failed.
    pub(super) latest: bool,
}

impl KindReads {
    /// The latest run has made a read; `false` if it had already.
    pub(super) fn insert(&mut self, reader: &Key, read: &Read) -> bool {
        let runs = match read {
            Read::Object(object) => {
                let readers = self.objects.entry(object.clone()).or_default();
                readers.entry(reader.clone()).or_default()
            }
            Read::List(namespace, selector) => {
                let bucket = bucket(namespace.as_deref(), selector);
                let lists = self.lists.entry(bucket).or_default();
                let lists = lists.entry(reader.clone()).or_default();
                let held = lists.iter().position(|(held, _)| held == selector);
                let held = held.unwrap_or(lists.len());
                if held == lists.len() {
                    lists.push((selector.clone(), ReadRuns::default()));
                }
                let Some((_, runs)) = lists.get_mut(held) else {
                    return false;
                };
                runs
            }
            Read::Children(namespace, owner) => {
                let bucket = owner_bucket(namespace.as_deref(), owner.as_deref());
                let readers = self.children.entry(bucket).or_default();
                readers.entry(reader.clone()).or_default()
            }
        };
        !std::mem::replace(&mut runs.latest, true)
    }

    pub(super) fn mark(&mut self, reader: &Key, read: &Read, mark: impl FnOnce(&mut ReadRuns)) {
        match read {
            Read::Object(object) => mark_in(&mut self.objects, object, reader, mark),
            Read::Children(namespace, owner) => {
                let bucket = owner_bucket(namespace.as_deref(), owner.as_deref());
                mark_in(&mut self.children, &bucket, reader, mark);
            }
            Read::List(namespace, selector) => {
                let bucket = bucket(namespace.as_deref(), selector);
                let Some(readers) = self.lists.get_mut(&bucket) else {
                    return;
                };
                if let Some(lists) = readers.get_mut(reader) {
                    let mut all = lists.iter_mut();
                    if let Some((_, runs)) = all.find(|(held, _)| held == selector) {
                        mark(runs);
                    }
                    lists.retain(|(_, runs)| !is_over(runs));
                    if lists.is_empty() {
                        readers.remove(reader);
                    }
                }
                if readers.is_empty() {
                    self.lists.remove(&bucket);
                }
            }
        }
    }
}

/// Whether no run that counts made the read.
fn is_over(runs: &ReadRuns) -> bool {
    !runs.settled && !runs.latest
}

/// Says again which runs of `reader` made the read that `name` is of.
fn mark_in<N: Eq + Hash>(
    reads: &mut HashMap<N, HashMap<Key, ReadRuns>>,
    name: &N,
    reader: &Key,
    mark: impl FnOnce(&mut ReadRuns),
) {
    let Some(readers) = reads.get_mut(name) else {
        return;
    };
    let runs = readers.get_mut(reader);
    if runs.is_none_or(|runs| {
        mark(runs);
        is_over(runs)
    }) {
        readers.remove(reader);
    }
    if readers.is_empty() {
        reads.remove(name);
    }
}

/// The reads of children that an object can be in.
pub(super) fn owner_buckets(object: &Metadata) -> impl Iterator<Item = OwnerBucket> {
    let owners = object
        .owners
        .iter()
        .map(|owner| Some(Arc::from(&*owner.uid)));
    let is_orphan = !object.owners.iter().any(|owner| owner.controller);
    let all = owners.chain(is_orphan.then_some(None));
    let namespaces = [None, object.key.namespace.clone()];
    all.flat_map(move |owner| {
        let each = namespaces.clone().into_iter();
        each.map(move |namespace| (namespace, owner.clone()))
    })
}

fn owner_bucket(namespace: Option<&str>, owner: Option<&str>) -> OwnerBucket {
    (namespace.map(Arc::from), owner.map(Arc::from))
}

fn bucket(namespace: Option<&str>, selector: &LabelSelector) -> Bucket {
    let label = selector.equality();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    (namespace.map(Arc::from), label.map(owned))
}
