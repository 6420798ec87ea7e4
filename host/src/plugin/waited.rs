//! How long a call waits for its host: for answers of the API server, and for its turns to run.
//!
//! - Waits that overlap count once.
//! - The wait for a token of the plugin's own `apiQPS` does not count: the plugin sends more requests than it may.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::seams::Clock;

/// The waits of one call. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Waited {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What the waits that are over took.
    over: Duration,
    /// How many waits go on now.
    open: usize,
    /// When the first of those began.
    since: Option<Instant>,
}

/// A wait. It ends when this is dropped.
#[derive(Debug)]
#[must_use = "the wait ends when this is dropped"]
pub(super) struct Waiting(Waited);

impl Waited {
    /// Nothing so far.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Arc::default(),
        }
    }

    /// The call waits from now on.
    pub(super) fn begin(&self) -> Waiting {
        let now = self.clock.now();
        let mut state = self.state();
        state.open += 1;
        state.since.get_or_insert(now);
        drop(state);
        Waiting(self.clone())
    }

    /// How long the call has waited, with the waits that go on now.
    pub(super) fn total(&self) -> Duration {
        let now = self.clock.now();
        let state = self.state();
        let open = state
            .since
            .map(|since| now.saturating_duration_since(since));
        state.over + open.unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let now = self.0.clock.now();
        let mut state = self.0.state();
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.over += now.saturating_duration_since(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_add_up_and_those_that_overlap_count_once() {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let second = |seconds| clock.sleep(Duration::from_secs(seconds));
        let waited = Waited::new(clock);
        second(1).await;
        assert_eq!(waited.total(), Duration::ZERO);
        let first = waited.begin();
        second(2).await;
        assert_eq!(waited.total().as_secs(), 2, "it goes on");
        let other = waited.begin();
        second(4).await;
        drop(first);
        second(8).await;
        drop(other);
        second(16).await;
        assert_eq!(waited.total().as_secs(), 14);
        drop(waited.begin());
        let again = waited.begin();
        second(32).await;
        drop(again);
        assert_eq!(waited.total().as_secs(), 46);
    }
}
