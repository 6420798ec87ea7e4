//! A token bucket.

use std::time::Duration;

use tokio::time::Instant;

/// What is missing of a token through rounding alone.
const ROUNDING: f64 = 1e-6;

/// A limit over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Tokens that are added each second.
    pub per_second: f64,
    /// Tokens that a full bucket holds: what can be taken at once.
    pub burst: f64,
}

/// A bucket of tokens. Its rate is named with each use, since a new version of a plugin can have another one.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub fn full(rate: Rate, now: Instant) -> Self {
        Self {
            tokens: rate.burst,
            at: now,
        }
    }

    /// Adds what has come by `now`.
    pub fn refill(&mut self, rate: Rate, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * rate.per_second).min(rate.burst);
        self.at = self.at.max(now);
    }

    /// Takes `cost` tokens, if they are there by `now`.
    pub fn take(&mut self, rate: Rate, cost: f64, now: Instant) -> bool {
        self.refill(rate, now);
        let granted = self.has(cost);
        if granted {
            self.tokens -= cost;
        }
        granted
    }

    /// When it was used last.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Whether `cost` tokens are there.
    pub(super) fn has(&self, cost: f64) -> bool {
        self.tokens + ROUNDING >= cost
    }

    /// Whether no more tokens fit in.
    pub fn is_full(&self, rate: Rate) -> bool {
        self.tokens + ROUNDING >= rate.burst
    }

    /// Takes `cost` tokens, whether they are there or not. A negative `cost` puts tokens back.
    pub(super) fn charge(&mut self, rate: Rate, cost: f64) {
        self.tokens = (self.tokens - cost).clamp(-rate.burst, rate.burst);
    }

    /// How long until `cost` tokens are there.
    pub fn wait(&self, rate: Rate, cost: f64) -> Duration {
        let missing = (cost - self.tokens).max(0.0);
        Duration::try_from_secs_f64(missing / rate.per_second).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Clock;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let rate = Rate {
            per_second: 10.0,
            burst: 20.0,
        };
        let start = Clock::system().now();
        let mut bucket = TokenBucket::full(rate, start);
        let all = |bucket: &mut TokenBucket, millis| {
            let now = start + Duration::from_millis(millis);
            (0..1000).filter(|_| bucket.take(rate, 1.0, now)).count()
        };
        // (milliseconds since the start, tokens that can be taken then)
        let rows = [(0, 20), (99, 0), (100, 1), (1100, 10), (60_000, 20)];
        for (millis, want) in rows {
            assert_eq!(all(&mut bucket, millis), want, "after {millis} ms");
        }
        assert_eq!(bucket.wait(rate, 3.0), Duration::from_millis(300));
        assert_eq!(
            all(&mut bucket, 0),
            0,
            "a clock that goes back adds nothing"
        );
    }

    #[test]
    fn a_new_rate_holds_at_once() {
        let start = Clock::system().now();
        let rate = |per_second, burst| Rate { per_second, burst };
        let mut bucket = TokenBucket::full(rate(1.0, 100.0), start);
        assert!(!bucket.take(rate(1.0, 5.0), 6.0, start));
        assert!(bucket.take(rate(1.0, 5.0), 5.0, start));
        assert!(bucket.take(rate(50.0, 50.0), 50.0, start + Duration::from_secs(1)));
    }
}
