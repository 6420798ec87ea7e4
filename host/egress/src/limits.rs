//! How many requests a plugin may send: in one call, and over time.
//!
//! - Both are plain values. The host counts a request before it is sent, and hands in the time.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, Failure};

/// The requests that one call may send.
pub const PER_CALL: u32 = 20;
/// The requests that a plugin may send each second.
pub const PER_SECOND: f64 = 10.0;
/// The requests that a plugin may send at once.
pub const BURST: f64 = 20.0;
/// What is missing of a token through rounding alone.
const ROUNDING: f64 = 1e-6;

/// What one call has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBudget {
    left: u32,
}

impl Default for CallBudget {
    fn default() -> Self {
        Self { left: PER_CALL }
    }
}

impl CallBudget {
    /// Counts one request.
    ///
    /// # Errors
    /// The call has sent all that it may.
    pub fn take(&mut self) -> Result<(), Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            let text = format!("one call sends at most {PER_CALL} requests");
            return Err(Failure::unsent(Error::Other(text.clone()), text));
        };
        self.left = left;
        Ok(())
    }

    /// The requests that it may still send.
    pub fn left(&self) -> u32 {
        self.left
    }
}

/// A plugin's requests over time: a token bucket of 10 a second that holds 20.
#[derive(Clone, Copy, Debug)]
pub struct RequestBucket {
    tokens: f64,
    at: Instant,
}

impl RequestBucket {
    /// A full bucket.
    pub fn full(now: Instant) -> Self {
        Self {
            tokens: BURST,
            at: now,
        }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// There is none: how long until there is.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * PER_SECOND).min(BURST);
        self.at = self.at.max(now);
        if self.tokens + ROUNDING >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / PER_SECOND))
    }

    /// The failure of a request that cannot wait for its token.
    pub fn exhausted() -> Failure {
        let text = format!("the plugin sends more than {PER_SECOND} requests a second");
        Failure::unsent(Error::Other(text.clone()), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_sends_twenty_requests_and_no_more() {
        let mut budget = CallBudget::default();
        for _ in 0..PER_CALL {
            assert_eq!(budget.take(), Ok(()));
        }
        let failure = budget.take().unwrap_err();
        assert_eq!(failure.error.label(), "other");
        assert_eq!(budget.left(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_sends_its_burst_and_then_ten_a_second() {
        let start = tests_now();
        let mut bucket = RequestBucket::full(start);
        // (milliseconds since the start, requests that can be sent then)
        let rows = [(0, 20), (99, 0), (100, 1), (1100, 10), (60_000, 20), (0, 0)];
        for (millis, want) in rows {
            let now = start + Duration::from_millis(millis);
            let sent = (0..1000).filter(|_| bucket.take(now).is_ok()).count();
            assert_eq!(sent, want, "after {millis} ms");
        }
        let wait = bucket.take(start + Duration::from_secs(60)).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
    }

    #[expect(clippy::disallowed_methods, reason = "a test is its own clock")]
    fn tests_now() -> Instant {
        Instant::now()
    }
}
