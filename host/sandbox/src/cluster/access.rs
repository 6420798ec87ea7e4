//! How the access of a plugin to the cluster is made.

use std::sync::Arc;

use super::{CapturedWrites, ClusterAccess, Replaces, WriteMode};
use crate::{CustomMetrics, Hints, HostCalls, Plugin, Rates};
use windlass_base::flowcontrol::Throttled;
use windlass_kube::api::Discovery;
use windlass_kube::events::Recorder;
use windlass_policy::grants::{Grants, Used};
use windlass_policy::rights::PluginApi;
use windlass_view::View;

/// What the accesses of all plugins have in common.
pub struct AccessMeans {
    /// To the API server.
    pub api: PluginApi,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// Where Events go.
    pub events: Recorder,
}

impl ClusterAccess {
    /// The access of `plugin`, with counters of its own.
    pub fn of(
        plugin: &Plugin,
        grants: Grants,
        view: Arc<View>,
        means: AccessMeans,
        writes: WriteMode,
    ) -> Self {
        let AccessMeans {
            api,
            discovery,
            events,
        } = means;
        Self {
            plugin: plugin.name.clone(),
            api,
            discovery,
            grants,
            used: Used::default(),
            calls: HostCalls::default(),
            custom_metrics: CustomMetrics::default(),
            hints: Hints::on(plugin.account()),
            rates: Rates::default(),
            throttled: Throttled::default(),
            http: None,
            replaces: Replaces::default(),
            reporter: None,
            view,
            events,
            account: plugin.account().clone(),
            writes,
            captured: CapturedWrites::default(),
        }
    }
}
