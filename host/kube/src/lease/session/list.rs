//! One list for the Leases of all plugins, and the sessions of all hosts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{PAUSE, PluginLeases, Session};
use crate::api::{Accept, ApiError, Request};
use crate::lease::collection;
use crate::lease::record::{LABEL, LeaderElectionRecord, PLUGIN, SESSION};

impl Session {
    /// The Leases of all plugins; nothing if the host may not list them. Takes in the sessions of others.
    pub(super) async fn list(&self) -> Result<Option<PluginLeases>, ApiError> {
        let clock = self.0.seams.clock;
        let again = self.0.state.lock().refused;
        if again.is_some_and(|again| clock.now() < again) {
            return Ok(None);
        }
        // Without a resourceVersion the answer is at least as new as the request.
        let selector = LABEL.replace('/', "%2F");
        let uri = format!("{}?labelSelector={selector}", collection(&self.0.namespace));
        let list = match self.0.api.send(Request::list(uri, Accept::Whole)).await {
            Ok(list) => list,
            Err(error) if error.code() == Some(403) => {
                self.0.state.lock().refused = Some(clock.now() + PAUSE);
                if again.is_none() {
                    tracing::warn!("cannot list Leases, reading them one by one: {error}");
                }
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let items = list.get("items").and_then(Value::as_array);
        let records = items.into_iter().flatten().map(LeaderElectionRecord::of);
        let named = records.map(|record| (record.name.clone(), record));
        let (sessions, leases): (BTreeMap<_, _>, BTreeMap<_, _>) =
            named.partition(|(_, record)| record.is_for(SESSION));
        let mut state = self.0.state.lock();
        state.refused = None;
        let shortest = self.0.times.lease_duration;
        // What is seen counts from the answer on: a renewal may have been sent while it was on its way.
        state.sessions.sees_all(&sessions, clock.now(), shortest);
        let is_of_plugin = |(_, record): &(_, LeaderElectionRecord)| record.is_for(PLUGIN);
        Ok(Some(leases.into_iter().filter(is_of_plugin).collect()))
    }
}
