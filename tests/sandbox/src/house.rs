//! A host without a cluster: engine, cluster access and Events as in production, but no informers.

use std::sync::Arc;

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::{Handle, Runtime};
use windlass_base::flowcontrol::Throttled;
use windlass_base::seams::{Clock, Rng, Seams, Spawn, Task, guest_threads};
use windlass_code_cache::CodeCache;
use windlass_kube::api::{Api, Discovery};
use windlass_kube::events::Recorder;
use windlass_kube::finalizers::{FinalizerPatch, settle_finalizer};
use windlass_kube::object::{Key, Object, finalizer_of};
use windlass_policy::grants::Grants;
use windlass_policy::manifest::Limits;
use windlass_policy::rights::PluginApi;
use windlass_sandbox::cluster::{AccessMeans, Call, ClusterAccess, Primary, WriteMode};
use windlass_sandbox::{
    Action, Called, Cancel, Compiler, LoadError, Plugin, Progress, Request, Sandboxes,
};
use windlass_view::View;

use crate::api_server::ApiServer;
use windlass_harness::guests;

/// The memory of all guests together.
pub const BUDGET: usize = 1 << 30;

/// A host whose API server is an [`ApiServer`].
pub struct House {
    /// The API server.
    pub api: ApiServer,
    /// What all its plugins share.
    pub sandboxes: Arc<Sandboxes>,
    /// The connection to the API server.
    pub cluster: Api,
    discovery: Arc<Discovery>,
    events: Recorder,
    seams: Seams,
    cache: CodeCache,
    _writer: Task,
    guests: Option<Runtime>,
}

/// A plugin in a [`House`], with its own [`ClusterAccess`], as its controller would hold it.
pub struct Tenant {
    /// The plugin.
    pub plugin: Plugin,
    /// Stops every call of the plugin: the host is shutting down.
    pub cancel: Cancel,
    cluster: Arc<ClusterAccess>,
    api: ApiServer,
}

impl House {
    /// A house with the clock of `api` and `threads` threads for guests. To be made on a host
    /// runtime of more than one thread.
    ///
    /// # Errors
    /// The machine cannot run it.
    pub fn on_threads(api: ApiServer, threads: usize) -> anyhow::Result<Self> {
        let guests = guest_threads(threads)?;
        let spawn = Spawn::on_threads(Handle::current(), guests.handle().clone());
        let mut house = Self::new(api, spawn, threads)?;
        house.guests = Some(guests);
        Ok(house)
    }

    /// A house with the clock of `api` on one thread.
    ///
    /// # Errors
    /// The machine cannot run it.
    pub fn inline(api: ApiServer) -> anyhow::Result<Self> {
        let spawn = Spawn::inline(Handle::current());
        Self::new(api, spawn, 1)
    }

    fn new(api: ApiServer, spawn: Spawn, threads: usize) -> anyhow::Result<Self> {
        let (clock, rng) = (api.clock(), Rng::seeded(1));
        let seams = Seams { clock, rng, spawn };
        let cluster = Api::new(api.client(), seams.clone());
        let (events, writer) = Recorder::start(cluster.clone(), &seams, "test");
        let sandboxes = Sandboxes::new(seams.clone(), threads, BUDGET, Compiler::Here);
        Ok(Self {
            sandboxes: sandboxes.map_err(|error| anyhow::anyhow!("{error:#}"))?,
            discovery: Arc::new(Discovery::new(cluster.clone(), clock)),
            cache: CodeCache::open(&guests::target().join("code"))?,
            api,
            cluster,
            events,
            seams,
            _writer: writer,
            guests: None,
        })
    }

    /// The house's clock.
    pub fn clock(&self) -> Clock {
        self.seams.clock
    }

    /// Compiles a component and asks it what it is.
    ///
    /// # Errors
    /// As the host.
    pub async fn load(
        &self,
        name: &str,
        component: Vec<u8>,
        config: &Value,
        limits: Limits,
    ) -> Result<Plugin, LoadError> {
        self.sandboxes
            .load(name, &component, &config.to_string(), limits, &self.cache)
            .await
    }

    /// Gives a plugin its access to the cluster.
    ///
    /// # Errors
    /// Its primary kind is not served.
    pub async fn admit(&self, plugin: Plugin, grants: Grants) -> anyhow::Result<Tenant> {
        let description = &plugin.description;
        let watch = description.primaries.first().context("it has no kind")?;
        let (version, kind) = (&watch.api_version, &watch.kind);
        let primary = self.discovery.by_kind(version, kind).await?;
        let primary = primary.with_context(|| format!("{kind} of {version} is not served"))?;
        let view = View::unwatched(description.watch_spec(
            (&plugin.name, finalizer_of(&plugin.name)),
            watch,
            primary,
        ));
        let means = AccessMeans {
            api: PluginApi::as_host(self.cluster.clone()),
            discovery: self.discovery.clone(),
            events: self.events.clone(),
        };
        let cluster = ClusterAccess::of(&plugin, grants, Arc::new(view), means, WriteMode::Sent);
        Ok(Tenant {
            plugin,
            cancel: Cancel::default(),
            cluster: Arc::new(cluster),
            api: self.api.clone(),
        })
    }
}

/// A runtime may not be dropped where others wait for it.
impl Drop for House {
    fn drop(&mut self) {
        if let Some(guests) = self.guests.take() {
            guests.shutdown_background();
        }
    }
}

impl Tenant {
    /// Calls `reconcile` for a primary of the cluster: `default`, `ada`.
    ///
    /// # Errors
    /// There is no such primary; what the plugin makes of it is in the answer.
    pub async fn reconcile(&self, namespace: &str, name: &str) -> anyhow::Result<Called<Action>> {
        let (request, call, _) = self.call(namespace, name).await?;
        Ok(self.plugin.reconcile(request, call, &self.cancel).await)
    }

    /// Calls `reconcile-going`.
    ///
    /// # Errors
    /// There is no such primary; what the plugin makes of it is in the answer.
    pub async fn reconcile_going(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Called<Action>> {
        let (request, call, _) = self.call(namespace, name).await?;
        let called = self.plugin.reconcile_going(request, call, &self.cancel);
        Ok(called.await)
    }

    /// Whether the plugin is called for what is being deleted.
    pub fn reconciles_going(&self) -> bool {
        self.plugin.reconciles_going()
    }

    /// Calls `finalize`, and takes the plugin's finalizer off if that is done.
    ///
    /// # Errors
    /// There is no such primary, or its finalizer cannot be taken off.
    pub async fn finalize(&self, namespace: &str, name: &str) -> anyhow::Result<Called<Progress>> {
        let (request, call, object) = self.call(namespace, name).await?;
        let primary = call.primary().resource.clone();
        let called = self.plugin.finalize(request, call, &self.cancel).await;
        if matches!(called.answer, Ok(Progress::Done)) {
            let finalizer = self.cluster.view.finalizer().to_owned();
            settle_finalizer(
                &self.cluster.api,
                &primary,
                &object.metadata,
                &finalizer,
                FinalizerPatch::Release,
            )
            .await?;
        }
        Ok(called)
    }

    /// What the plugin waited for, and what it lost.
    pub fn throttled(&self) -> &Throttled {
        &self.cluster.throttled
    }

    async fn call(&self, namespace: &str, name: &str) -> anyhow::Result<(Request, Call, Object)> {
        let mut watches = self.plugin.description.primaries.iter();
        let watch = watches.next().context("the plugin has no kind")?;
        let (version, kind) = (&watch.api_version, &watch.kind);
        let object = self.api.get(&format!("{kind}/{namespace}/{name}"))?;
        let object = Object::new(&object).context("the primary has no name")?;
        let resource = self.cluster.discovery.by_kind(version, kind).await?;
        let resource = resource.context("the primary's kind is not served any more")?;
        let primary = Primary {
            key: Key::new(Some(namespace), name),
            uid: object.metadata.uid.to_string(),
            resource: resource.clone(),
        };
        let request = Request {
            object: self.cluster.view.show(&resource, &object),
            attempt: 0,
        };
        Ok((request, Call::new(self.cluster.clone(), primary), object))
    }
}
