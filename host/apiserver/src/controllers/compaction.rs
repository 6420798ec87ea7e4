//! Forgets what happened long ago, as the real server has etcd compacted (apiserver
//! `pkg/storage/etcd3/compact.go`): every five minutes, what was old five minutes before.

use std::time::Duration;

use crate::seams::Instant;
use crate::server::Server;

/// What happened within this time is kept, and within twice this time it is forgotten.
const INTERVAL: Duration = Duration::from_secs(300);

/// The next compaction; none while there is nothing to forget.
#[derive(Debug, Default)]
pub(super) struct Compaction(Option<Next>);

#[derive(Debug)]
struct Next {
    /// What happened up to this revision is forgotten.
    revision: u64,
    due: Instant,
}

impl Compaction {
    /// Forgets what is old enough.
    pub(super) fn work(&mut self, server: &Server) {
        let (store, now) = (server.store(), server.seams().clock.instant());
        match &self.0 {
            Some(next) if now < next.due => return,
            Some(next) => store.compact_until(next.revision),
            None => {}
        }
        self.0 = (store.size().event_bytes > 0).then(|| Next {
            revision: store.revision(),
            due: now + INTERVAL,
        });
    }

    /// When there is something to forget.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.as_ref().map(|next| next.due)
    }
}
