//! Objects of the primary's kind that the selector leaves out, but that the plugin reads, writes or owns.
//!
//! - Reads of them go to the API server. An informer of the metadata of the whole kind says when one changes.
//! - That informer starts with the first such read or write: most plugins never need it.
//! - A key that reads one before the informer has its first list runs again after that list.
//! - What the selector selects is heard from the other informer, also when it comes or leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::own_writes::SeenVersions;
use super::shares::answers;
use super::{View, WakeReason, wake_reason};
use windlass_base::seams::watch;
use windlass_kube::api::Resource;
use windlass_kube::informer::{Change, Notification, Origin, Subscription};
use windlass_kube::object::Key;
use windlass_kube::selector::LabelSelector;

/// What a view knows of them.
#[derive(Debug, Default)]
pub(super) struct Unselected {
    /// Whether the plugin has read or written one.
    wanted: watch::Sender<bool>,
    state: Mutex<UnselectedState>,
}

#[derive(Default)]
struct UnselectedState {
    /// Once they have their first list.
    informers: Option<Vec<Arc<Subscription>>>,
    /// Keys that have read one before that.
    waiting: BTreeSet<Key>,
}

impl std::fmt::Debug for UnselectedState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = self.informers.is_some();
        write!(out, "listed: {listed}, waiting: {:?}", self.waiting)
    }
}

impl Unselected {
    pub(super) fn informers(&self) -> Vec<Arc<Subscription>> {
        self.state.lock().informers.clone().unwrap_or_default()
    }
}

impl View {
    /// Becomes `true` when objects of the primary's kind outside the selector are to be watched too.
    pub fn wants_unselected(&self) -> watch::Receiver<bool> {
        self.unselected.wanted.subscribe()
    }

    /// From now on `informers`, which have their first list, tell of the primary's kind outside the selector.
    pub fn watch_unselected(&self, informers: Vec<Arc<Subscription>>) {
        let mut state = self.unselected.state.lock();
        state.informers = Some(informers);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting
            .into_iter()
            .for_each(|key| self.wake(key, WakeReason::Watched));
    }

    /// The key `by` reads or writes objects of the primary's kind that the selected ones may not include.
    pub(super) fn want_unselected(&self, by: &Key) {
        let mut state = self.unselected.state.lock();
        if state.informers.is_none() {
            state.waiting.insert(by.clone());
        }
        drop(state);
        self.unselected
            .wanted
            .send_if_modified(|wanted| !std::mem::replace(wanted, true));
    }

    /// Whether `kind` of `group` is the primary's, of which the plugin reconciles a selection and may watch all.
    pub(super) fn has_unselected(&self, group: &str, kind: &str) -> bool {
        let primary = &self.watch_spec.primary;
        self.watch_spec.watches_unselected && primary.group == group && primary.kind == kind
    }

    /// The informer of the whole kind has news. Called under the lock of its store.
    pub fn on_unselected_notification(&self, news: Notification<'_>) {
        let Notification::Changed(change, origin) = news else {
            return;
        };
        let Some(object) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        let key = &object.metadata.key;
        let primary = &self.watch_spec.primary;
        // Before the first list is in, everyone who has read one waits for that.
        if self.unselected.state.lock().informers.is_none() || self.get(primary, key).is_some() {
            return;
        }
        let version = object.metadata.version();
        let seen = match origin {
            Origin::List => SeenVersions::Sum(version),
            Origin::Watch | Origin::Answer if change.new.is_none() => SeenVersions::Gone,
            Origin::Watch | Origin::Answer => SeenVersions::One(version),
        };
        let name = (primary.clone(), key.clone());
        let why = wake_reason::changed(primary, change);
        let is_there = change.new.is_some();
        let mut own = self.own.lock();
        for woken in self.woken_by_unselected(change) {
            let waits = if is_there {
                own.withhold(&name, seen, &woken)
            } else {
                own.defer(&name, seen, &woken)
            };
            if !waits {
                self.wake(woken, why.clone());
            }
        }
        if is_there {
            own.on_shown(&name, version)
        } else {
            own.forget(&name)
        }
    }

    fn woken_by_unselected(&self, change: &Change) -> BTreeSet<Key> {
        let (old, new) = (change.old.as_ref(), change.new.as_ref());
        let sides = [old, new].into_iter().flatten();
        let owners = sides.flat_map(|object| self.wakes.owners(&object.metadata));
        let readers = self.readers(&self.watch_spec.primary, old, new);
        let keys = owners.chain(readers);
        keys.chain(self.authors_of(change)).collect()
    }

    /// An object is gone: the keys that this concerns run, but for the one that has deleted it.
    pub(super) fn wake_for_unselected(&self, change: &Change, by: Option<&Key>) {
        let why = wake_reason::changed(&self.watch_spec.primary, change);
        let keys = self.woken_by_unselected(change).into_iter();
        let others = keys.filter(|key| Some(key) != by);
        others.for_each(|key| self.wake(key, why.clone()));
    }

    /// The keys of the objects of `resource` that are called `name`, as far as some store shows them: of the primary's
    /// kind also those outside the selector.
    pub fn keys_called(&self, resource: &Resource, name: &str) -> BTreeSet<Key> {
        let mut informers = self.informers(resource);
        if *resource == self.watch_spec.primary {
            informers.extend(self.finalizer_informers());
            informers.extend(self.unselected.informers());
        }
        let everything = LabelSelector::default();
        let lists = informers.iter();
        let objects = lists.flat_map(|informer| informer.list(None, &everything));
        let keys = objects.map(|object| object.metadata.key.clone());
        keys.filter(|key| *key.name == *name).collect()
    }

    /// The informer of the whole kind that tells of this object, if there is one.
    pub(super) fn unselected_informer(
        &self,
        resource: &Resource,
        key: &Key,
    ) -> Option<Arc<Subscription>> {
        let is_primary = *resource == self.watch_spec.primary;
        let informers = self.unselected.informers().into_iter();
        let mut informers = informers.filter(|_| is_primary);
        informers.find(|informer| answers(informer, key.namespace.as_deref()))
    }
}
