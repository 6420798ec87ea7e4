//! What is known of one key, for anyone who asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;

use super::backoff::Revision;
use super::object_state::{CacheState, Children, Hold, ObjectState, QueuePosition};
use super::record::{PrimaryKey, Records};
use super::work::{QueueKey, WorkQueue};
use super::worker::Worker;
use crate::metrics::PluginMetrics;
use windlass_kube::api::{Resource, ServiceAccount};
use windlass_kube::object::{Fields, Key, Metadata, Object, manager_for, manager_of};
use windlass_policy::grants::{Grants, Unused};
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Description, PrimaryWatch};
use windlass_view::{View, WakeReason};

/// So many passes over one object are shown.
const PASSES: usize = 20;

/// So many primaries are some of them, and so many are looked at to find them.
const SOME: usize = 100;
const LOOKED: usize = 1_000;

/// So many children of one object are named.
const CHILDREN: usize = 5;

/// What a controller does for one of its primary kinds, as far as one may look into it.
pub struct ControllerHandle {
    pub(super) primary: Arc<Resource>,
    /// Which of the plugin's kinds that is: a place in its reconcilers.
    pub(super) kind: u16,
    /// What the plugin says of it: a place in its description.
    pub(super) watch: usize,
    pub(super) plugin: Arc<str>,
    pub(super) view: Arc<View>,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) worker: Arc<Worker>,
    pub(super) records: Records,
    pub(super) meters: Arc<PluginMetrics>,
    pub(super) grants: Grants,
}

impl ControllerHandle {
    /// The kind that the plugin reconciles.
    pub fn primary(&self) -> &Resource {
        &self.primary
    }

    /// What the plugin says of itself.
    pub fn description(&self) -> Description {
        self.worker.description()
    }

    /// What the plugin says of the kind.
    fn watch(&self) -> Option<PrimaryWatch> {
        let primaries = self.description().primaries;
        primaries.into_iter().nth(self.watch)
    }

    fn queue_key(&self, key: &Key) -> QueueKey {
        QueueKey {
            kind: self.kind,
            key: key.clone(),
        }
    }

    fn primary_key(&self, key: &Key) -> PrimaryKey {
        PrimaryKey {
            resource: self.primary.clone(),
            key: key.clone(),
        }
    }

    /// What the plugin of these `handles` is granted and has never used, since the host began.
    pub fn unused(handles: &[Arc<Self>]) -> Vec<Unused> {
        for handle in handles {
            handle.note_watches();
        }
        let first = handles.first();
        first.map_or_else(Vec::new, |first| first.meters.used.unused(&first.grants))
    }

    /// Notes what the host itself uses for the kind.
    fn note_watches(&self) {
        let used = &self.meters.used;
        for resource in self.watched() {
            used.watches(&resource.group, &resource.plural);
        }
        let Resource { group, plural, .. } = &*self.primary;
        used.watches(group, plural);
        if self.watch().is_some_and(|watch| watch.is_finalized()) {
            used.add("patch", group, plural);
        }
    }

    /// What the plugin is granted.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Who the plugin acts as, if not as the host.
    pub fn service_account(&self) -> Option<&ServiceAccount> {
        let reconciler = self.worker.reconcilers().first()?;
        reconciler.cluster().api.service_account()
    }

    /// A view of what the plugin sees. Nobody is woken by it.
    pub fn beside(&self) -> View {
        self.view.beside()
    }

    /// Some of the primaries that are not being deleted: so many of each namespace at most, of the first of them.
    pub fn some(&self, of_namespace: usize) -> Vec<Object> {
        let (found, looked) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let look = |object: &Object| {
            let mut found = found.lock();
            let namespace = &object.metadata.key.namespace;
            let alike = found.iter();
            let alike = alike.filter(|it: &&Object| it.metadata.key.namespace == *namespace);
            if !object.metadata.deleting && alike.count() < of_namespace {
                found.push(object.clone());
            }
            found.len() >= SOME || looked.fetch_add(1, Ordering::Relaxed) >= LOOKED
        };
        for informer in self.view.informers(&self.primary) {
            informer.find(look);
        }
        found.into_inner()
    }

    /// How much the plugin may use.
    pub fn limits(&self) -> Limits {
        self.worker.limits()
    }

    /// What is known of `key`. Takes each lock for a moment, one after the other.
    pub fn state(&self, key: &Key) -> ObjectState {
        let watch = self.watch();
        let cache = self.cache(key);
        let edition = match &cache {
            CacheState::There(held) | CacheState::WithFinalizer(held) => Revision::of(held),
            CacheState::NotWatched | CacheState::Absent => Revision::default(),
        };
        let queued = self.queue_key(key);
        let (place, paused) = self.queue.place(&queued);
        ObjectState {
            stage: self.meters.stage(),
            holder: None,
            cache,
            place,
            paused,
            throttled: self.meters.throttled.waits(),
            failures: self.worker.failures(&queued, edition),
            passes: self.records.of(&self.primary_key(key), PASSES),
            finalizer: self.view.finalizer().to_owned(),
            spec_change_only: watch.as_ref().is_some_and(|watch| watch.spec_change_only),
            declares_fields: watch
                .as_ref()
                .is_some_and(|watch| watch.fields != Fields::default()),
            finalizes_on_leave: watch.as_ref().is_some_and(|it| it.finalizes_on_leave),
            label_selector: watch.as_ref().and_then(|it| it.label_selector.clone()),
            field_selector: watch.and_then(|watch| watch.field_selector),
            children: Children::default(),
        }
    }

    /// What the object with this UID owns of what the plugin watches and has written: other plugins may look after
    /// other objects of the kind, and watch the same kinds.
    pub fn children(&self, namespace: Option<&str>, uid: &str) -> Children {
        let watched = self.watched();
        let managers = [manager_of(&self.plugin), manager_for(&self.plugin, uid)];
        let is_ours = |child: &Object| managers.iter().any(|it| child.is_written_by(it));
        let named = watched.iter().flat_map(|resource| {
            let owned = self.view.owned_by(resource, namespace, uid).into_iter();
            let ours = owned.filter(is_ours);
            ours.map(|child| format!("{} {}", resource.kind, child.metadata.key))
        });
        let mut first: Vec<String> = named.collect();
        first.sort();
        let count = first.len();
        first.truncate(CHILDREN);
        Children { first, count }
    }

    /// How long until `key` runs again by itself, if it waits for its time.
    pub fn next(&self, key: &Key) -> Option<Duration> {
        match self.queue.place(&self.queue_key(key)).0 {
            QueuePosition::Delayed(delayed) => Some(delayed.left),
            QueuePosition::Nowhere
            | QueuePosition::Waiting { .. }
            | QueuePosition::Running { .. } => None,
        }
    }

    /// The objects that are to run again already, and that `hold` holds back.
    pub fn held(&self, hold: Hold) -> Vec<PrimaryKey> {
        let keys = self.queue.held(self.kind, hold).into_iter();
        keys.map(|key| self.primary_key(&key)).collect()
    }

    /// Waits until everything that the plugin watches has been seen as the server has it now.
    pub async fn barrier(&self) {
        let shares = self.view.all_shares();
        join_all(shares.iter().map(|share| share.barrier())).await;
    }

    /// Runs every key of the kind again: somebody wants to see it.
    pub fn run_all(&self) {
        self.view.rerun_all(&WakeReason::Asked);
    }

    /// What the plugin watches.
    pub fn watched(&self) -> Vec<Resource> {
        let watches = self.view.watches().into_iter();
        watches.filter_map(|(_, resource)| resource).collect()
    }

    /// An object of what it watches, as its store shows it.
    pub fn get(&self, resource: &Resource, key: &Key) -> Option<Object> {
        self.view.get(resource, key)
    }

    /// Where there are objects of that name among what it watches, also outside its selector. If there is none, where it
    /// has reconciled one.
    pub fn namespaces_of(&self, resource: &Resource, name: &str) -> Vec<String> {
        let mut keys = self.view.keys_called(resource, name);
        // Without the plugin's finalizer, only the passes know of an object that has left the selector.
        if keys.is_empty() && *resource == *self.primary {
            let passes = self.records.all().into_iter().filter(|pass| {
                let primary = &pass.primary;
                primary.resource == self.primary && *primary.key.name == *name
            });
            keys.extend(passes.map(|pass| pass.primary.key.clone()));
        }
        let namespaces = keys.iter().filter_map(|key| key.namespace.as_deref());
        namespaces.map(str::to_owned).collect()
    }

    fn cache(&self, key: &Key) -> CacheState {
        let counts = |mut held: Arc<Metadata>| {
            let paused = self.view.is_paused(&held);
            if held.paused != paused {
                Arc::make_mut(&mut held).paused = paused;
            }
            held
        };
        if let Some(held) = self.view.get(&self.primary, key) {
            return CacheState::There(counts(held.metadata));
        }
        match self.view.with_finalizer(key) {
            Some(unselected) => CacheState::WithFinalizer(counts(unselected.metadata)),
            None if self
                .view
                .looks_into(&self.primary, key.namespace.as_deref()) =>
            {
                CacheState::Absent
            }
            None => CacheState::NotWatched,
        }
    }
}

/// The controllers of a host, by plugin: for each of its primary kinds, in the order in which it names them. Clones are
/// the same.
#[derive(Clone, Default)]
pub struct ControllerHandles(Arc<Mutex<BTreeMap<String, Vec<Weak<ControllerHandle>>>>>);

impl ControllerHandles {
    /// From now on this is the controller of `plugin`.
    pub(super) fn set<'a>(
        &self,
        plugin: &str,
        handles: impl Iterator<Item = &'a Arc<ControllerHandle>>,
    ) {
        let handles = handles.map(Arc::downgrade).collect();
        self.0.lock().insert(plugin.to_owned(), handles);
    }

    /// The controller of `plugin`, for each of its primary kinds; nothing if it has none.
    pub fn of(&self, plugin: &str) -> Vec<Arc<ControllerHandle>> {
        let handles = self.0.lock();
        let of_plugin = handles.get(plugin).into_iter().flatten();
        of_plugin.filter_map(Weak::upgrade).collect()
    }

    /// The plugin has ended.
    pub fn forget(&self, plugin: &str) {
        self.0.lock().remove(plugin);
    }
}
