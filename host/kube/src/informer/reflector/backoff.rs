//! How long a reflector waits after failures, and what it says of them.

use std::time::Duration;

use tokio::time::Instant;

use windlass_base::text::LogOnce;

const FIRST: Duration = Duration::from_millis(800);
const LONGEST: Duration = Duration::from_secs(30);
/// Without a failure for so long, the next one is the first.
const HEALTH: Duration = Duration::from_secs(120);
/// The same failure is said again after this long.
const SAID: Duration = Duration::from_secs(600);

/// The delays of one reflector.
#[derive(Debug, Default)]
pub(super) struct ReflectorBackoff {
    last: Option<(Instant, Duration)>,
    said: LogOnce<String>,
    said_at: Option<Instant>,
}

impl ReflectorBackoff {
    /// The delay after a failure at `now`.
    pub(super) fn failed(&mut self, now: Instant) -> Duration {
        let again = |(at, delay): (Instant, Duration)| {
            (now.saturating_duration_since(at) < HEALTH).then(|| (delay * 2).min(LONGEST))
        };
        let delay = self.last.and_then(again).unwrap_or(FIRST);
        self.last = Some((now, delay));
        delay
    }

    /// Whether `text` is to be said at `now`.
    pub(super) fn says(&mut self, text: &str, now: Instant) -> bool {
        let is_old = |at| now.saturating_duration_since(at) >= SAID;
        if self.said_at.is_some_and(is_old) {
            self.said.clear();
        }
        let is_new = self.said.is_new(text.to_owned());
        if is_new {
            self.said_at = Some(now);
        }
        is_new
    }

    /// All is well: the next failure is news.
    pub(super) fn well(&mut self) {
        self.said.clear();
    }

    /// A watch has shown something: the next failure is the first. A list alone proves nothing, and is dear.
    pub(super) fn works(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::seams::Clock;

    #[tokio::test(start_paused = true)]
    async fn delays_double_up_to_thirty_seconds_and_begin_anew_after_an_event_or_two_good_minutes()
    {
        let clock = Clock::system();
        let mut backoff = ReflectorBackoff::default();
        let mut delays = Vec::new();
        for _ in 0..8 {
            let delay = backoff.failed(clock.now());
            delays.push(delay.as_millis());
            clock.sleep(delay * 2).await;
        }
        assert_eq!(delays, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        clock.sleep(HEALTH).await;
        assert_eq!(backoff.failed(clock.now()), FIRST);
        assert_eq!(backoff.failed(clock.now()), FIRST * 2);
        backoff.works();
        assert_eq!(backoff.failed(clock.now()), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_is_not_said_all_the_time() {
        let clock = Clock::system();
        let mut backoff = ReflectorBackoff::default();
        assert!(backoff.says("a", clock.now()));
        assert!(!backoff.says("a", clock.now()));
        assert!(backoff.says("b", clock.now()));
        clock.sleep(SAID).await;
        assert!(backoff.says("b", clock.now()));
        backoff.well();
        assert!(backoff.says("b", clock.now()));
    }
}
