//! How the access of a plugin to the cluster is made.

use std::sync::Arc;

use super::{CapturedWrites, ClusterAccess, Writes};
use crate::api::{Api, Discovery};
use crate::events::Recorder;
use crate::flowcontrol::Throttled;
use crate::grants::{Grants, Used};
use crate::plugin::{HostCalls, Measures, Plugin};
use crate::view::View;

/// What the accesses of all plugins have in common.
pub struct AccessMeans {
    /// To the API server.
    pub api: Api,
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
        writes: Writes,
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
            measures: Measures::default(),
            throttled: Throttled::default(),
            view,
            events,
            account: plugin.account().clone(),
            writes,
            sheet: CapturedWrites::default(),
        }
    }
}
