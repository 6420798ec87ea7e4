//! Everything that is watched for one primary kind of a plugin: that kind, and each kind that the plugin needs to watch.

mod lists;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::{join, join_all};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::kinds::KindsWatch;
use super::sources::SourcesWatch;
use lists::PrimaryLists;
use windlass_base::memory::Account;
use windlass_base::seams::{Clock, Seams, Spawn, Task, watch};
use windlass_kube::api::{Discovery, Lookup, Resource, Unserved};
use windlass_kube::informer::{
    EventHandler, InformerKey, InformerPhase, Informers, Notification, Subscription,
};
use windlass_kube::object::Fields;
use windlass_policy::grants::{Grants, Scope, joined_field_selectors};
use windlass_policy::rights::PluginApi;
use windlass_sandbox::{Plugin, PrimaryWatch};
use windlass_view::View;

/// How often it is asked whether an absent kind is served by now.
const ABSENT: Duration = Duration::from_secs(5);

/// What the watches of a plugin are made from.
pub(super) struct WatchDependencies<'a> {
    pub(super) informers: &'a Informers,
    pub(super) discovery: &'a Arc<Discovery>,
    /// To the API server, as the plugin.
    pub(super) api: &'a PluginApi,
    pub(super) seams: &'a Seams,
}

/// The watches for one primary kind of a plugin. Dropping them ends those that nobody else needs.
pub(super) struct Watches {
    _needs: Vec<Task>,
    first_lists: Vec<watch::Receiver<bool>>,
    /// One of the primary's, if the plugin names the kind.
    primary: Option<Arc<Subscription>>,
    lists: PrimaryLists,
    /// Waits for lists that are late.
    late: Mutex<Option<Task>>,
    spawn: Spawn,
    discovery: Arc<Discovery>,
    clock: Clock,
}

impl Watches {
    /// Watches the primary, and returns once it is listed. Begins to watch each need with the verb
    /// `watch`.
    pub(super) async fn start(
        plugin: &Plugin,
        grants: &Grants,
        (watch, primary): (&PrimaryWatch, &Resource),
        means: WatchDependencies<'_>,
        view: &Arc<View>,
    ) -> Self {
        let scope = grants.watch_scope(&primary.group, &primary.plural, None);
        let is_every = watch.is_every_kind();
        let mut watches = Self {
            _needs: Vec::new(),
            first_lists: Vec::new(),
            primary: None,
            lists: PrimaryLists {
                resource: primary.clone(),
                scope: scope.clone(),
                is_every,
                of_primary: Vec::new(),
                with_finalizer: Vec::new(),
            },
            late: Mutex::default(),
            spawn: means.seams.spawn.clone(),
            discovery: means.discovery.clone(),
            clock: means.seams.clock,
        };
        watches.watch_needs(plugin, primary, (grants, &scope), &means, view);
        let watched = InformerKey {
            label_selector: watch.label_selector.clone(),
            field_selector: watch.field_selector.clone(),
            metadata_only: is_every && view.reads_of(primary) == Fields::of_metadata(),
            ..InformerKey::all_of(primary.clone())
        };
        // Also for a plugin that finalizes no more: what an earlier version left is taken off.
        let with_finalizer = watch.selects().then(|| InformerKey {
            finalizer: Some(view.finalizer().to_owned()),
            ..InformerKey::all_of(primary.clone())
        });
        let reads = (&watched, view.reads_of(primary));
        let account = plugin.account();
        let handler = |watched| ViewHandler {
            view: Arc::downgrade(view),
            watched,
        };
        let of_view = handler(ForView::Resource(primary.clone()));
        watches.lists.of_primary =
            subscribe(means.informers, reads, (grants, &scope), &of_view, account);
        watches.lists.with_finalizer = with_finalizer.map_or_else(Vec::new, |watched| {
            let watched = (&watched, Fields::default());
            let of_view = handler(ForView::WithFinalizer);
            subscribe(
                means.informers,
                watched,
                (grants, &scope),
                &of_view,
                account,
            )
        });
        let first = watches.lists.of_primary.first();
        watches.primary = first.filter(|_| !is_every).cloned();
        let listed = watches.lists.synced();
        let in_time = watches.lists.in_time(watches.clock, listed).await;
        watches.watch_unselected(primary, (grants, &scope), &means, view, account);
        watches.watch_kinds(grants, &means, view);
        watches.watch_sources(&means, view);
        if in_time {
            watches.lists.show(view);
        } else {
            watches.come_later(view, None);
        }
        watches
    }

    /// Begins to watch each kind that the plugin needs to watch, but the primary, which it watches in `scope`.
    fn watch_needs(
        &mut self,
        plugin: &Plugin,
        primary: &Resource,
        (grants, scope): (&Grants, &Scope),
        means: &WatchDependencies<'_>,
        view: &Arc<View>,
    ) {
        let needs = plugin.description.watched();
        for need in
            needs.filter(|need| need.group != primary.group || need.resource != primary.plural)
        {
            let (synced, first_list) = watch::channel(false);
            let need = Need {
                plugin: plugin.name.clone(),
                group: need.group.clone(),
                plural: need.resource.clone(),
                scope: grants.watch_scope(&need.group, &need.resource, Some(scope)),
                grants: grants.clone(),
                informers: means.informers.clone(),
                discovery: means.discovery.clone(),
                view: Arc::downgrade(view),
                account: plugin.account().clone(),
                synced,
            };
            self._needs.push(means.seams.spawn.task(need.run()));
            self.first_lists.push(first_list);
        }
    }

    /// Begins to wait until the plugin reads or writes a primary outside its selector.
    fn watch_unselected(
        &mut self,
        primary: &Resource,
        (grants, scope): (&Grants, &Scope),
        means: &WatchDependencies<'_>,
        view: &Arc<View>,
        account: &Account,
    ) {
        let unselected = UnselectedWatch {
            wanted: view.wants_unselected(),
            watched: InformerKey {
                metadata_only: true,
                ..InformerKey::all_of(primary.clone())
            },
            grants: grants.clone(),
            scope: scope.clone(),
            informers: means.informers.clone(),
            view: Arc::downgrade(view),
            account: account.clone(),
        };
        self._needs.push(means.seams.spawn.task(unselected.run()));
    }

    /// Begins to wait until the plugin asks what the cluster serves.
    fn watch_kinds(&mut self, grants: &Grants, means: &WatchDependencies<'_>, view: &Arc<View>) {
        let kinds = KindsWatch {
            wanted: view.wants_kinds(),
            discovery: means.discovery.clone(),
            grants: grants.clone(),
            view: Arc::downgrade(view),
            clock: means.seams.clock,
        };
        self._needs.push(means.seams.spawn.task(kinds.run()));
    }

    /// Begins to wait until the host puts a Secret or a ConfigMap into a request of the plugin.
    fn watch_sources(&mut self, means: &WatchDependencies<'_>, view: &Arc<View>) {
        let sources = SourcesWatch {
            wanted: view.wants_sources(),
            api: means.api.clone(),
            view: Arc::downgrade(view),
            clock: means.seams.clock,
        };
        self._needs.push(means.seams.spawn.task(sources.run()));
    }

    /// Waits until the primary kind is served as something else than before: with another scope, or under
    /// another plural.
    pub(super) async fn moved(&self) {
        let Some(informer) = &self.primary else {
            return std::future::pending().await;
        };
        let primary = &informer.watched().resource;
        loop {
            informer.reached(InformerPhase::Absent).await;
            let api_version = primary.api_version();
            let now = self.discovery.by_kind(&api_version, &primary.kind);
            match now.await {
                Ok(Some(now)) if now != *primary => return,
                Ok(_) | Err(_) => self.clock.sleep(ABSENT).await,
            }
        }
    }

    /// Waits until everything that is watched has been seen as the server had it at `wanted`: whatever another host had
    /// written by then. A kind that the plugin does not name, and that takes long, is not seen until it is so far.
    pub(super) async fn barrier(&self, view: &Arc<View>, wanted: Instant) {
        let shares = view.all_shares();
        let others = shares.iter().filter(|share| !self.lists.have(share));
        let others = join_all(others.map(|share| share.barrier_of(wanted)));
        let reached = self.lists.barrier(Some(wanted));
        let (_, in_time) = join(others, self.lists.in_time(self.clock, reached)).await;
        if !in_time {
            self.lists.hide(view);
            self.come_later(view, Some(wanted));
        }
    }

    /// Shows the primary kind when its lists are in, and as the server had it at `wanted`, or has it then.
    fn come_later(&self, view: &Arc<View>, wanted: Option<Instant>) {
        let resource = &self.lists.resource;
        tracing::warn!(
            "{resource} cannot be listed so far: the plugin goes on without them, and sees them later; leave them out of its grants if the host may not read them"
        );
        let late = self.lists.clone().come_later(Arc::downgrade(view), wanted);
        *self.late.lock() = Some(self.spawn.task(late));
    }

    /// Waits until every need has been listed once, or is not served.
    pub(super) async fn synced(&self) {
        for first_list in &self.first_lists {
            // The sender is gone only if its task is, and then nothing more will be listed.
            let _ = first_list.clone().wait_for(|synced| *synced).await;
        }
    }
}

/// Passes what an informer sees on to a plugin's view, as long as there is one.
#[derive(Clone)]
struct ViewHandler {
    view: Weak<View>,
    watched: ForView,
}

/// What an informer watches for a view.
#[derive(Clone)]
enum ForView {
    /// The objects that the plugin sees.
    Resource(Resource),
    /// The primaries that carry the plugin's finalizer.
    WithFinalizer,
    /// The primary's whole kind.
    Unselected,
}

impl EventHandler for ViewHandler {
    fn on_notification(&self, news: Notification<'_>) {
        let Some(view) = self.view.upgrade() else {
            return;
        };
        match &self.watched {
            ForView::Resource(resource) => view.on_notification(resource, news),
            ForView::WithFinalizer => view.on_finalizer_notification(news),
            ForView::Unselected => view.on_unselected_notification(news),
        }
    }
}

/// A share in one informer, or in one for each namespace. In all namespaces, the grants leave out what is the host's.
fn subscribe(
    informers: &Informers,
    (watched, fields): (&InformerKey, Fields),
    (grants, scope): (&Grants, &Scope),
    handler: &ViewHandler,
    account: &Account,
) -> Vec<Arc<Subscription>> {
    let places = match scope {
        Scope::All => vec![None],
        Scope::Namespaces(names) => names.iter().cloned().map(Some).collect(),
    };
    let left_out = grants.left_out(&watched.resource);
    let one = |namespace: Option<String>| {
        let left_out = left_out.as_deref().filter(|_| namespace.is_none());
        let selected = watched.field_selector.as_deref();
        let watched = InformerKey {
            namespace,
            field_selector: joined_field_selectors(selected, left_out),
            ..watched.clone()
        };
        Arc::new(informers.subscribe(watched, fields.clone(), Box::new(handler.clone()), account))
    };
    places.into_iter().map(one).collect()
}

/// The primary's kind outside the selector.
struct UnselectedWatch {
    /// Whether the plugin reads or writes any.
    wanted: watch::Receiver<bool>,
    watched: InformerKey,
    grants: Grants,
    scope: Scope,
    informers: Informers,
    view: Weak<View>,
    account: Account,
}

impl UnselectedWatch {
    /// Waits until the plugin reads or writes one, then watches the metadata of the whole kind.
    async fn run(mut self) {
        // The sender is gone only with the view, and then nobody is to be told.
        if self.wanted.wait_for(|wanted| *wanted).await.is_err() {
            return;
        }
        let handler = ViewHandler {
            view: self.view.clone(),
            watched: ForView::Unselected,
        };
        let watched = (&self.watched, Fields::default());
        let informers = subscribe(
            &self.informers,
            watched,
            (&self.grants, &self.scope),
            &handler,
            &self.account,
        );
        for informer in &informers {
            informer.synced().await;
        }
        if let Some(view) = self.view.upgrade() {
            view.watch_unselected(informers);
        }
    }
}

/// A kind that a plugin needs to watch.
struct Need {
    plugin: Arc<str>,
    group: String,
    plural: String,
    scope: Scope,
    grants: Grants,
    informers: Informers,
    discovery: Arc<Discovery>,
    view: Weak<View>,
    account: Account,
    synced: watch::Sender<bool>,
}

impl Need {
    /// Waits for the kind to be served, then watches it, as whatever it is served. Until then it counts
    /// as listed and empty.
    async fn run(self) {
        loop {
            let resource = self.served().await;
            if !resource.namespaced && self.scope != Scope::All {
                let (plugin, plural) = (&*self.plugin, &self.plural);
                tracing::error!(
                    plugin,
                    "{plural} are cluster-scoped: only a grant with `namespaces: all` lets the plugin watch them; until then its reads are denied"
                );
                self.synced.send_replace(true);
                return;
            }
            self.watch(&resource).await;
        }
    }

    /// Watches `resource` until it is served as something else.
    async fn watch(&self, resource: &Resource) {
        let watched = InformerKey::all_of(resource.clone());
        let handler = ViewHandler {
            view: self.view.clone(),
            watched: ForView::Resource(resource.clone()),
        };
        let Some(view) = self.view.upgrade() else {
            return std::future::pending().await;
        };
        let watched = (&watched, view.reads_of(resource));
        let account = &self.account;
        let place = (&self.grants, &self.scope);
        let informers = subscribe(&self.informers, watched, place, &handler, account);
        for informer in &informers {
            informer.synced().await;
        }
        let first = informers.first().cloned();
        view.watch(resource.clone(), self.scope.clone(), informers);
        drop(view);
        self.synced.send_replace(true);
        let Some(first) = first else {
            return std::future::pending().await;
        };
        loop {
            first.reached(InformerPhase::Absent).await;
            if self.served().await != *resource {
                break;
            }
            first.reached(InformerPhase::Synced).await;
        }
        if let Some(view) = self.view.upgrade() {
            view.unwatch(resource);
        }
    }

    async fn served(&self) -> Resource {
        let plugin = &*self.plugin;
        let (group, plural) = (&*self.group, &*self.plural);
        let tell = |unserved: Unserved| match unserved {
            Unserved::Absent(hint) => {
                tracing::warn!(
                    plugin,
                    "the cluster does not serve {plural} of group {group:?}{hint}; reads of it fail until it does"
                );
                self.synced.send_replace(true);
            }
            Unserved::Unknown(error) => tracing::warn!(plugin, "cannot look up {plural}: {error}"),
        };
        let lookup = Lookup::Plural { group, plural };
        self.discovery.until_served(lookup, ABSENT, tell).await
    }
}
