//! How long a call waits for its host: for answers of the API server, for its turns to run, and for its share of the
//! requests that the API server answers.
//!
//! - Waits that overlap count once.
//! - The wait for a token of the plugin's own `apiQPS` does not count: the plugin sends more requests than it may.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use windlass_base::seams::Clock;

/// The waits of one call. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Waited {
    clock: Clock,
    state: Arc<Mutex<WaitedState>>,
}

#[derive(Debug)]
struct WaitedState {
    /// How long it had waited by `at`.
    total: Duration,
    at: Instant,
    /// When the waits that go on begin to count.
    open: Vec<Instant>,
}

impl WaitedState {
    /// How long the call has waited by `now`.
    fn total(&self, now: Instant) -> Duration {
        let first = self.open.iter().min();
        let since = first.map(|first| now.saturating_duration_since(self.at.max(*first)));
        self.total + since.unwrap_or_default()
    }

    fn reach(&mut self, now: Instant) {
        self.total = self.total(now);
        self.at = self.at.max(now);
    }
}

/// A wait. It ends when this is dropped.
#[derive(Debug)]
#[must_use = "the wait ends when this is dropped"]
pub(super) struct WaitGuard {
    waited: Waited,
    from: Instant,
}

impl Waited {
    /// Nothing so far.
    pub(super) fn new(clock: Clock) -> Self {
        let state = WaitedState {
            total: Duration::ZERO,
            at: clock.now(),
            open: Vec::new(),
        };
        Self {
            clock,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The call waits from now on.
    pub(super) fn begin(&self) -> WaitGuard {
        self.begin_at(self.clock.now())
    }

    /// The call waits, and that counts from `from` on, which may be still to come.
    pub(super) fn begin_at(&self, from: Instant) -> WaitGuard {
        let mut state = self.state.lock();
        state.reach(self.clock.now());
        state.open.push(from);
        drop(state);
        let waited = self.clone();
        WaitGuard { waited, from }
    }

    /// How long the call has waited, with the waits that go on now.
    pub(super) fn total(&self) -> Duration {
        self.state.lock().total(self.clock.now())
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let mut state = self.waited.state.lock();
        state.reach(self.waited.clock.now());
        let its = state.open.iter().position(|from| *from == self.from);
        if let Some(its) = its {
            state.open.swap_remove(its);
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

    #[tokio::test(start_paused = true)]
    async fn a_wait_counts_from_when_it_is_to_count() {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let second = |seconds| clock.sleep(Duration::from_secs(seconds));
        let waited = Waited::new(clock);
        let soon = clock.now() + Duration::from_secs(4);
        let late = waited.begin_at(soon);
        second(3).await;
        assert_eq!(waited.total(), Duration::ZERO);
        second(3).await;
        assert_eq!(waited.total().as_secs(), 2, "it goes on");
        let never = waited.begin_at(clock.now() + Duration::from_secs(60));
        drop(late);
        second(5).await;
        drop(never);
        assert_eq!(waited.total().as_secs(), 2);
        // Beside one that counts from the beginning.
        let now = waited.begin();
        let late = waited.begin_at(clock.now() + Duration::from_secs(4));
        second(3).await;
        drop(now);
        second(3).await;
        drop(late);
        assert_eq!(waited.total().as_secs(), 7);
    }
}
