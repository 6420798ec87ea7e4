//! What is to take the place of the version of a plugin that runs, or stands by.

use std::sync::Arc;

use super::Host;
use super::plugin::{Accepted, news};
use super::version::Version;
use crate::api::{Api, Gate};
use crate::controller::{ControllerParts, Prepared};
use crate::manifest;
use crate::metrics::PluginStage;
use crate::plugin::Plugin;
use crate::seams::{Either, first};

/// What comes.
pub(super) enum NextVersion {
    /// A version that wants what one wants that is here: its code is all that changes.
    Swap(Arc<Version>),
    /// A version whose lists are in.
    Next(Arc<Version>, Box<Prepared>),
    /// None: what is here may not run any more.
    Nothing,
}

/// Waits until the newest version that was accepted is none of those that are `here`, and prepares it. A
/// version whose lists never come in may have a successor that is better.
pub(super) async fn coming(
    host: &Host,
    gate: &Gate,
    accepted: &mut Accepted,
    here: &[Arc<Version>],
) -> NextVersion {
    loop {
        let newest = accepted.borrow_and_update().clone();
        if newest.is_none() && !here.is_empty() {
            return NextVersion::Nothing;
        }
        let is_here = |newest: &Arc<Version>| here.iter().any(|one| Arc::ptr_eq(one, newest));
        let Some(newest) = newest.filter(|newest| !is_here(newest)) else {
            news(accepted).await;
            continue;
        };
        if here.iter().any(|one| one.takes_over(&newest)) {
            return NextVersion::Swap(newest);
        }
        if here.is_empty() {
            host.metrics
                .of(&newest.plugin.name)
                .reached(PluginStage::Syncing);
        }
        let prepared = Box::pin(prepare(host, gate, &newest));
        if let Either::Left(prepared) = first(prepared, news(accepted)).await {
            return NextVersion::Next(newest, Box::new(prepared));
        }
    }
}

/// Waits for the kind of `version`, and for the first list of everything that it watches. For ever, if it may
/// not watch its kind.
async fn prepare(host: &Host, gate: &Gate, version: &Version) -> Prepared {
    match host.primary(version).await {
        Ok(primary) => {
            let document = &version.candidate.document;
            let api = host.api.gated(gate.clone());
            let parts = parts(host, api, version.plugin.clone(), document);
            Prepared::watch(parts, primary).await
        }
        Err(problem) => {
            tracing::error!(plugin = &*version.plugin.name, "{problem}");
            std::future::pending().await
        }
    }
}

/// What a controller of `plugin` is made of, that sends its requests by `api`.
pub(super) fn parts(
    host: &Host,
    api: Api,
    plugin: Arc<Plugin>,
    document: &manifest::Plugin,
) -> ControllerParts {
    ControllerParts {
        grants: document.grants.clone(),
        api,
        discovery: host.discovery.clone(),
        informers: host.informers.clone(),
        events: host.events.clone(),
        resync: document.resync,
        records: host.records.of(&plugin.name),
        meters: host.metrics.of(&plugin.name),
        insights: host.insights.clone(),
        failures: host.failures.clone(),
        seams: host.seams.clone(),
        plugin,
    }
}
