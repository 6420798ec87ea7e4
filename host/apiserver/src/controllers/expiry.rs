//! Events go an hour after their last write: the real server keeps them with a lease of etcd that ends then
//! (kubernetes `pkg/registry/core/event/storage`, `--event-ttl`). No finalizer and no policy stands against that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::feed::{Seen, Thing};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::Write;

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
        let store = server.store();
        if let Some(held) = store.get(&thing.place, &thing.key) {
            let (revision, last) = (held.revision, Write::Delete(held.value()));
            // An Event that was written since goes later.
            let _ = store.write(&thing.place, thing.key, Some(revision), last);
        }
        true
    }

    /// When the next Event goes.
    pub(super) fn due(&self) -> Option<Instant> {
        self.order.first().map(|(end, _)| *end)
    }
}
