//! A plugin's shares in the host's informers: which one answers for which object.

use std::sync::Arc;

use super::{View, WakeReason};
use windlass_kube::api::Resource;
use windlass_kube::informer::{InformerPhase, Subscription};
use windlass_kube::object::Key;
use windlass_policy::grants::Scope;

/// Where the plugin watches a resource, and its share in each informer that does.
#[derive(Clone)]
pub(super) struct WatchedResource {
    scope: Scope,
    informers: Vec<Arc<Subscription>>,
}

impl View {
    /// A view of what this one sees now. Nobody is woken by it.
    pub fn beside(&self) -> Self {
        let view = Self::unwatched(self.watch_spec.clone());
        let seen = self.watched.read();
        *view.watched.write() = seen.clone();
        drop(seen);
        view
    }

    /// From now on `informers` answer for `resource` in `scope`.
    pub fn watch(&self, resource: Resource, scope: Scope, informers: Vec<Arc<Subscription>>) {
        let watched = WatchedResource { scope, informers };
        let mut all = self.watched.write();
        let before = all.insert(resource, watched);
        drop(all);
        drop(before);
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting
            .into_iter()
            .for_each(|key| self.wake(key, WakeReason::Watched));
    }

    /// What the plugin watches whole kinds of, by group and plural, and as what it is watched by now.
    pub fn watches(&self) -> Vec<(&(String, String), Option<Resource>)> {
        let watched = self.watched.read();
        let as_watched = |(group, plural): &(String, String)| {
            let named = |held: &&Resource| held.group == *group && held.plural == *plural;
            watched.keys().filter(named).min().cloned()
        };
        let names = self.watch_spec.watches.iter();
        names.map(|name| (name, as_watched(name))).collect()
    }

    /// The key runs again when something more is watched.
    pub fn run_when_watched(&self, key: &Key) {
        self.waiting.lock().insert(key.clone());
    }

    /// The key has seen enough.
    pub fn forget_waiting(&self, key: &Key) {
        self.waiting.lock().remove(key);
    }

    /// From now on nobody answers for `resource`.
    pub fn unwatch(&self, resource: &Resource) {
        let mut all = self.watched.write();
        let before = all.remove(resource);
        drop(all);
        drop(before);
    }

    /// From now on `informers` show the primaries outside the selector.
    pub fn watch_with_finalizer(&self, informers: Vec<Arc<Subscription>>) {
        *self.with_finalizer.write() = informers;
    }

    /// How many objects the plugin sees.
    pub fn objects(&self) -> usize {
        let watched = self.watched.read();
        let informers: Vec<_> = watched.values().flat_map(|w| w.informers.clone()).collect();
        drop(watched);
        informers.iter().map(|informer| informer.objects()).sum()
    }

    /// How many primaries the plugin sees.
    pub fn primaries(&self) -> usize {
        let informers = self.informers(&self.watch_spec.primary);
        informers.iter().map(|informer| informer.objects()).sum()
    }

    /// The plugin's share in each informer, always in the same order.
    pub fn all_shares(&self) -> Vec<Arc<Subscription>> {
        let watched = self.watched.read();
        let mut all: Vec<_> = watched.values().flat_map(|w| w.informers.clone()).collect();
        drop(watched);
        all.extend(self.finalizer_informers());
        all.extend(self.unselected.informers());
        all.sort_by_cached_key(|share| {
            let watched = share.watched();
            let of_metadata = (watched.metadata_only, watched.finalizer.is_some());
            (
                watched.resource.clone(),
                watched.namespace.clone(),
                of_metadata,
            )
        });
        all
    }

    /// The informers of a resource. No lock of ours is held while one is asked.
    pub fn informers(&self, resource: &Resource) -> Vec<Arc<Subscription>> {
        let watched = self.watched.read();
        let watched = watched.get(resource);
        watched.map_or_else(Vec::new, |watched| watched.informers.clone())
    }

    pub(super) fn informer(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Option<Arc<Subscription>> {
        let watched = self.watched.read();
        let mut informers = watched.get(resource)?.informers.iter();
        informers
            .find(|informer| answers(informer, namespace))
            .cloned()
    }

    pub(super) fn finalizer_informers(&self) -> Vec<Arc<Subscription>> {
        self.with_finalizer.read().clone()
    }

    /// Whether the store answers for `namespace`, or everywhere: what it does not have is not there. Of a kind that is not
    /// served now, it knows nothing.
    pub(super) fn answers_for(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        self.covers(resource, namespace) && self.is_served(resource)
    }

    /// Whether no informer of `resource` has found that the kind is not served.
    pub fn is_served(&self, resource: &Resource) -> bool {
        let watched = self.watched.read();
        let mut informers = watched
            .get(resource)
            .into_iter()
            .flat_map(|it| &it.informers);
        informers.all(|informer| informer.phase() != InformerPhase::Absent)
    }

    /// Whether the informers look into all of `namespace`, or everywhere.
    pub(super) fn covers(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        let watched = self.watched.read();
        match (
            watched.get(resource).map(|watched| &watched.scope),
            namespace,
        ) {
            (Some(Scope::All), _) => true,
            (Some(Scope::Namespaces(names)), Some(namespace)) => {
                names.iter().any(|name| name == namespace)
            }
            (Some(Scope::Namespaces(_)), None) | (None, _) => false,
        }
    }
}

/// Whether an informer looks into `namespace`.
pub(super) fn answers(informer: &Subscription, namespace: Option<&str>) -> bool {
    let where_to = informer.watched().namespace.as_deref();
    where_to.is_none() || where_to == namespace
}
