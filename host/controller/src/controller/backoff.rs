//! Delays that grow with each failure of a key: 5 ms · 2ⁿ, at most 1000 s, as client-go's.
//!
//! - Only failures of scheduled runs count, and a new [`Revision`] starts over: events that
//!   arrive for a failing object do not make its delay grow (kubernetes/kubernetes#132805).

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use super::queue::Cause;
use windlass_base::bugs::bug;
use windlass_kube::object::Metadata;

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1000);

/// The failures of each key since it last succeeded.
#[derive(Debug)]
pub(super) struct Backoff<K> {
    failures: HashMap<K, FailureCount>,
}

#[derive(Debug)]
struct FailureCount {
    count: u32,
    edition: Revision,
}

/// The generation of an object. A new one starts the backoff over. A request for a pass does not: anyone who may annotate the
/// object could have it run at any rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    generation: Option<i64>,
}

impl Revision {
    /// That of an object with this metadata.
    pub(super) fn of(object: &Metadata) -> Self {
        Self {
            generation: object.generation,
        }
    }
}

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self {
            failures: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Backoff<K> {
    /// How often `key` has failed in a row in this `edition`.
    pub(super) fn attempt(&self, key: &K, edition: Revision) -> u32 {
        let same = |failures: &&FailureCount| {
            bug!(NewGenerationsWaitOn, failures.edition == edition, true)
        };
        let failures = self.failures.get(key).filter(same);
        failures.map_or(0, |failures| failures.count)
    }

    /// Counts a failure, and says how long to wait before the next try. Only the first failure and
    /// those of retries make the delay grow.
    pub(super) fn failed(&mut self, key: &K, edition: Revision, cause: Cause) -> Duration {
        let attempt = self.attempt(key, edition);
        let count = match cause {
            Cause::Delay => attempt.saturating_add(1),
            Cause::Change => bug!(
                EventsCountAsFailures,
                attempt.max(1),
                attempt.saturating_add(1)
            ),
        };
        self.failures
            .insert(key.clone(), FailureCount { count, edition });
        delay(count.saturating_sub(1))
    }

    /// Forgets the failures of `key`.
    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }
}

/// The delay after `attempt` earlier failures.
fn delay(attempt: u32) -> Duration {
    let factor = 1_u32.checked_shl(attempt).unwrap_or(u32::MAX);
    FIRST.saturating_mul(factor).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an object at this generation.
    fn at(generation: i64) -> Revision {
        Revision {
            generation: Some(generation),
        }
    }

    #[test]
    fn delays_double_up_to_a_thousand_seconds() {
        let mut backoff = Backoff::default();
        let delays: Vec<u128> = (0..40)
            .map(|_| backoff.failed(&"a", at(1), Cause::Delay).as_millis())
            .collect();
        assert_eq!(delays[..4], [5, 10, 20, 40]);
        assert_eq!(delays[17], 655_360);
        assert!(
            delays[18..].iter().all(|delay| *delay == 1_000_000),
            "{delays:?}"
        );
    }

    #[test]
    fn events_do_not_make_the_delay_of_a_failing_key_grow() {
        let mut backoff = Backoff::default();
        let changes: Vec<u128> = (0..20)
            .map(|_| backoff.failed(&"a", at(1), Cause::Change).as_millis())
            .collect();
        assert_eq!(changes, [5; 20]);
        assert_eq!(backoff.failed(&"a", at(1), Cause::Delay).as_millis(), 10);
        assert_eq!(backoff.failed(&"a", at(1), Cause::Change).as_millis(), 10);
    }

    #[test]
    fn success_a_new_generation_and_a_request_start_over() {
        let mut backoff = Backoff::default();
        backoff.failed(&"a", at(1), Cause::Delay);
        backoff.failed(&"a", at(1), Cause::Delay);
        assert_eq!(backoff.attempt(&"a", at(1)), 2);
        assert_eq!(backoff.attempt(&"a", at(2)), 0);
        assert_eq!(backoff.failed(&"a", at(2), Cause::Delay).as_millis(), 5);
        assert_eq!(backoff.attempt(&"a", at(2)), 1);
        backoff.forget(&"a");
        assert_eq!(backoff.attempt(&"a", at(2)), 0);
    }
}
