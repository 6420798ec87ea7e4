//! The connections of one plugin.
//!
//! - At most four are open. A request that needs a new one closes the one that has been idle longest.
//! - One that was idle for a while is not used any more: the other side may be about to close it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::connect::Route;
use super::connection::Connection;

/// The connections of a plugin.
const OPEN: usize = 4;
/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(30);

pub(super) struct Pool {
    state: Mutex<State>,
    slots: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    /// The one that was used last comes last.
    idle: Vec<(Connection, Instant)>,
    busy: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            slots: Arc::new(Semaphore::new(OPEN)),
        }
    }
}

/// The right of one request to have a connection.
pub(super) struct Slot<'p> {
    pool: &'p Pool,
    /// Given back after the connection is counted as closed. None only if the pool is no more.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Pool {
    /// Waits until a request may have a connection.
    pub(super) async fn slot(&self) -> Slot<'_> {
        let permit = Arc::clone(&self.slots).acquire_owned().await.ok();
        self.state.lock().busy += 1;
        Slot {
            pool: self,
            _permit: permit,
        }
    }

    pub(super) fn close_old(&self, now: Instant) {
        let old = self.state.lock().take_old(now);
        drop(old);
    }

    pub(super) fn close_all(&self) {
        let all = std::mem::take(&mut self.state.lock().idle);
        drop(all);
    }

    pub(super) fn idle(&self) -> usize {
        self.state.lock().idle.len()
    }
}

impl State {
    fn take_old(&mut self, now: Instant) -> Vec<(Connection, Instant)> {
        let is_old = |since: Instant| now.saturating_duration_since(since) >= IDLE;
        self.idle
            .extract_if(.., |(_, since)| is_old(*since))
            .collect()
    }
}

impl Slot<'_> {
    /// Takes the connection for one of `routes` that was used last.
    pub(super) fn take(&mut self, routes: &[Route], now: Instant) -> Option<Connection> {
        let (old, taken) = {
            let mut state = self.pool.state.lock();
            let old = state.take_old(now);
            let fits = |(connection, _): &(Connection, Instant)| routes.contains(&connection.route);
            let taken = state.idle.iter().rposition(fits);
            (old, taken.map(|index| state.idle.remove(index)))
        };
        drop(old);
        taken.map(|(connection, _)| connection)
    }

    /// Closes idle connections until there is room for a new one.
    pub(super) fn make_room(&mut self) {
        let closed: Vec<_> = {
            let mut state = self.pool.state.lock();
            let excess = (state.idle.len() + state.busy).saturating_sub(OPEN);
            let excess = excess.min(state.idle.len());
            state.idle.drain(..excess).collect()
        };
        drop(closed);
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&mut self, connection: Connection, now: Instant) {
        self.pool.state.lock().idle.push((connection, now));
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.pool.state.lock().busy -= 1;
    }
}
