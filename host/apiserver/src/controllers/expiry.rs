//! Events go an hour after their last write: the real server keeps them with a lease of etcd that ends then
//! (kubernetes `pkg/registry/core/event/storage`, `--event-ttl`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use super::client::{Agent, At, Client, core};
use super::feed::{Seen, Thing};
use crate::seams::Instant;
use crate::server::Server;

const AGENT: Agent = Agent {
    program: "kube-apiserver",
    user: "system:apiserver",
};
/// How long an Event is kept.
const LASTS: Duration = Duration::from_secs(3600);

/// When each Event goes.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    ends: BTreeMap<Thing, Instant>,
    order: BTreeSet<(Instant, Thing)>,
}

impl Expiry {
    /// Notes that an Event was written, or has gone.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        if !seen.is("", "events") {
            return;
        }
        let thing = &seen.thing;
        if let Some(end) = self.ends.remove(thing) {
            self.order.remove(&(end, thing.clone()));
        }
        if !seen.is_gone() {
            let end = server.seams().clock.instant() + LASTS;
            self.ends.insert(thing.clone(), end);
            self.order.insert((end, thing.clone()));
        }
    }

    /// Lets one Event go whose time has come; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        if self.due().is_none_or(|due| now < due) {
            return false;
        }
        let Some((_, thing)) = self.order.pop_first() else {
            return false;
        };
        self.ends.remove(&thing);
        let registry = server.registry();
        if let Some(events) = core(&registry, "events") {
            let client = Client {
                server,
                agent: AGENT,
            };
            // What cannot be deleted is gone, or goes once its finalizers do.
            let _ = client.delete(At::new(events, &thing.key), &json!({}));
        }
        true
    }

    /// When the next Event goes.
    pub(super) fn due(&self) -> Option<Instant> {
        self.order.first().map(|(end, _)| *end)
    }
}
