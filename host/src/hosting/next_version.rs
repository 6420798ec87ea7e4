//! What is to take the place of the version of a plugin that runs, or stands by.

use std::sync::Arc;

use super::Host;
use super::plugin::{Accepted, news};
use super::rollout::{Fit, Here, Rollout, rollout};
use super::version::Version;
use windlass_controller::controller::{ControllerParts, Prepared};
use windlass_controller::metrics::PluginStage;
use windlass_kube::api::Gate;
use windlass_policy::manifest::{self, ObjectAnnotations};
use windlass_policy::rights::PluginApi;
use windlass_sandbox::cluster::Replaces;
use windlass_sandbox::{HttpAccess, Plugin, ServedPrimary};

/// What takes the place of what is here.
pub(super) enum NextVersion {
    /// A version that wants what one wants that is here: its code is all that changes.
    Swap(Arc<Version>),
    /// A version whose lists are in.
    Next(Arc<Version>, Box<Prepared>),
    /// None: what is here may not run any more.
    Nothing,
}

/// The versions of a plugin that are here.
#[derive(Clone)]
pub(super) struct Versions {
    /// The one that makes passes.
    pub(super) running: Option<Arc<Version>>,
    /// The one that begins when it may.
    pub(super) next: Option<Arc<Version>>,
    /// The kinds that the newest of them reconciles, as they were served.
    pub(super) primaries: Vec<ServedPrimary>,
}

impl Versions {
    /// How `newest` fits them.
    pub(super) fn here(&self, newest: Option<&Arc<Version>>) -> Here {
        let fit = |here: &Option<Arc<Version>>| match (here, newest) {
            (None, _) => Fit::Absent,
            (Some(here), Some(newest)) if Arc::ptr_eq(here, newest) => Fit::Same,
            (Some(here), Some(newest)) if here.takes_over(newest) => Fit::TakesOver,
            (Some(_), _) => Fit::Differs,
        };
        Here {
            running: fit(&self.running),
            next: fit(&self.next),
        }
    }
}

/// Waits until the newest version that was admitted is none of those that are here, or reconciles other kinds than they do,
/// and prepares it. A version whose lists never come in may have a successor that is better.
pub(super) async fn next_version(
    host: &Host,
    gate: &Gate,
    accepted: &mut Accepted,
    versions: &Versions,
) -> NextVersion {
    loop {
        let newest = accepted.borrow_and_update().clone();
        let here = versions.here(newest.as_ref());
        let Some(newest) = newest else {
            if !here.is_empty() {
                return NextVersion::Nothing;
            }
            news(accepted).await;
            continue;
        };
        match rollout(here) {
            Rollout::Wait => tokio::select! {
                biased;
                () = news(accepted) => continue,
                () = host.other_kinds(&newest, &versions.primaries) => {
                    let plugin = &*newest.plugin.name;
                    tracing::info!(plugin, "the kinds that `*` stands for are others now");
                }
            },
            Rollout::SwapRunning | Rollout::SwapNext => return NextVersion::Swap(newest),
            Rollout::Prepare => {}
        }
        if here.is_empty() {
            host.metrics
                .of(&newest.plugin.name)
                .reached(PluginStage::Syncing);
        }
        let prepared = Box::pin(prepare(host, gate, &newest));
        tokio::select! {
            biased;
            prepared = prepared => return NextVersion::Next(newest, Box::new(prepared)),
            () = news(accepted) => {}
        }
    }
}

/// Waits for the definitions and the kinds of `version`, and for the first list of everything that it watches. Never ends if the version may
/// not watch one of its kinds.
async fn prepare(host: &Host, gate: &Gate, version: &Version) -> Prepared {
    Box::pin(host.defined(version, gate)).await;
    match host.primaries(version).await {
        Ok(primaries) => {
            host.may_watch(version, &primaries).await;
            let document = &version.candidate.document;
            let api = host.api_for(document).gated(gate.clone());
            let parts = ControllerParts {
                tally: version.tally.clone(),
                ..parts(host, api, version.plugin.clone(), document)
            };
            let parts = Box::pin(host.observing(parts, version)).await;
            Prepared::watch(parts, primaries).await
        }
        Err(problem) => {
            let plugin = &*version.plugin.name;
            tracing::error!(plugin, "{problem}");
            host.waits(plugin, &problem);
            std::future::pending().await
        }
    }
}

/// What a controller of `plugin` is made of, that sends its requests by `api`.
pub(super) fn parts(
    host: &Host,
    api: PluginApi,
    plugin: Arc<Plugin>,
    document: &manifest::PluginDocument,
) -> ControllerParts {
    let meters = host.metrics.of(&plugin.name);
    let account = api.service_account();
    let account = account.map(|account| host.api.acting_as(account));
    let access = |means| HttpAccess::new(means, document.http.clone(), meters.http.clone());
    ControllerParts {
        finalizer: document.finalizer(),
        replaces: Replaces::of(&document.replaces),
        reporter: document.reporting_controller.as_deref().map(Arc::from),
        ignores_annotations: document.object_annotations == ObjectAnnotations::Ignore,
        grants: document.grants.clone(),
        http: host.http.as_ref().map(|means| Arc::new(access(means))),
        api,
        discovery: host.discovery.clone(),
        informers: host.informers.clone(),
        events: host.events.acting(account),
        observing: None,
        resync: document.resync,
        records: host.records.of(&plugin.name),
        meters,
        handles: host.handles.clone(),
        failures: host.failures.clone(),
        seams: host.seams.clone(),
        tally: Arc::default(),
        plugin,
    }
}
