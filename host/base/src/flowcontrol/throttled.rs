//! How often, and for how long, a plugin had to wait for its share, and what it lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

use crate::seams::Clock;

/// Upper bounds in seconds (client-go, `rest_client_rate_limiter_duration_seconds`).
const DURATION: [f64; 12] = [
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0,
];

/// A counter of seconds.
pub type Seconds = Counter<f64, AtomicU64>;

/// What a plugin waited for, and what it lost. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Throttled(Arc<ThrottledInner>);

#[derive(Debug)]
struct ThrottledInner {
    requests: Histogram,
    /// In milliseconds, what of that is for the history.
    request_millis: AtomicU64,
    waiting: AtomicUsize,
    slots: Seconds,
    log_lines: Counter,
    events: Counter,
    failed_events: Counter,
}

impl Default for ThrottledInner {
    fn default() -> Self {
        Self {
            requests: Histogram::new(DURATION),
            request_millis: AtomicU64::default(),
            waiting: AtomicUsize::default(),
            slots: Seconds::default(),
            log_lines: Counter::default(),
            events: Counter::default(),
            failed_events: Counter::default(),
        }
    }
}

/// A request that waits for its token. Dropping it ends the wait, also if the call ends first.
#[derive(Debug)]
pub struct Waits {
    of: Throttled,
    began: Instant,
    clock: Clock,
}

impl Throttled {
    /// A request waits from now on.
    pub fn waits_for_request(&self, clock: Clock) -> Waits {
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        Waits {
            of: self.clone(),
            began: clock.now(),
            clock,
        }
    }

    /// A call waited so long for its slot.
    pub fn waited_for_slot(&self, waited: Duration) {
        self.0.slots.inc_by(waited.as_secs_f64());
    }

    /// A log line was dropped.
    pub fn dropped_line(&self) {
        self.0.log_lines.inc();
    }

    /// An Event was dropped.
    pub fn dropped_event(&self) {
        self.0.events.inc();
    }

    /// An Event was sent, and the API server did not take it.
    pub fn failed_event(&self) {
        self.0.failed_events.inc();
    }

    /// Whether a request waits now.
    pub fn waits(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) > 0
    }

    /// How long requests have waited, in milliseconds.
    pub fn request_millis(&self) -> u64 {
        self.0.request_millis.load(Ordering::Relaxed)
    }

    /// How long each request has waited.
    pub fn requests(&self) -> &Histogram {
        &self.0.requests
    }

    /// How long each call has waited for a slot of the sandbox.
    pub fn slots(&self) -> &Seconds {
        &self.0.slots
    }

    /// Log lines that were dropped.
    pub fn log_lines(&self) -> u64 {
        self.0.log_lines.get()
    }

    /// Events that were dropped.
    pub fn events(&self) -> u64 {
        self.0.events.get()
    }

    /// Events that the API server did not take.
    pub fn failed_events(&self) -> u64 {
        self.0.failed_events.get()
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let waited = self.clock.now() - self.began;
        let shared = &self.of.0;
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
        shared.requests.observe(waited.as_secs_f64());
        let millis = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        shared.request_millis.fetch_add(millis, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_counts_however_it_ends() {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let throttled = Throttled::default();
        let waits = throttled.waits_for_request(clock);
        assert!(throttled.waits());
        clock.sleep(Duration::from_secs(3)).await;
        drop(waits);
        assert!(!throttled.waits());
        assert_eq!(throttled.request_millis(), 3000);
    }
}
