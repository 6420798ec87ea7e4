//! How long a failed pod is not replaced: a delay that doubles with each failure since the last success.
//!
//! It follows from the finished pods alone, so it survives a restart. Source: "Pod backoff failure policy" in the
//! documentation of Jobs.

use jiff::{SignedDuration, Timestamp};

use crate::config::Backoff;

/// Failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    /// How many there were.
    pub(crate) count: usize,
    /// When the last one was.
    pub(crate) last: Option<Timestamp>,
}

impl Failures {
    /// The failures since the last success, of pods that finished at these times. True is a success.
    pub(crate) fn since_success(finished: impl IntoIterator<Item = (Timestamp, bool)>) -> Self {
        let mut finished: Vec<_> = finished.into_iter().collect();
        // A success at the same time ends the row of failures.
        finished.sort_unstable();
        let failed: Vec<_> = finished
            .iter()
            .rev()
            .take_while(|(_, success)| !success)
            .collect();
        Self {
            count: failed.len(),
            last: failed.first().map(|(at, _)| *at),
        }
    }
}

impl Backoff {
    /// From when the next pod may be created. None is at once.
    pub(crate) fn until(&self, failures: Failures) -> Option<Timestamp> {
        let last = failures.last?;
        last.checked_add(self.delay(failures.count)).ok()
    }

    fn delay(&self, failures: usize) -> SignedDuration {
        let Some(doublings) = failures.checked_sub(1) else {
            return SignedDuration::ZERO;
        };
        let factor = i32::try_from(doublings)
            .ok()
            .and_then(|doublings| 2_i32.checked_pow(u32::try_from(doublings).ok()?));
        let delay = factor.and_then(|factor| self.base.checked_mul(factor));
        delay.map_or(self.limit, |delay| delay.min(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_delay_doubles_up_to_the_limit() {
        let backoff = Backoff::default();
        for (count, seconds) in [
            (0, 0),
            (1, 10),
            (2, 20),
            (3, 40),
            (7, 600),
            (8, 600),
            (99, 600),
        ] {
            let last = Some(at(1000));
            let until = backoff.until(Failures { count, last });
            assert_eq!(until, Some(at(1000 + seconds)), "{count}");
        }
        assert_eq!(backoff.until(Failures::default()), None);
    }

    #[test]
    fn failures_count_since_the_last_success() {
        for (finished, count, last) in [
            (vec![], 0, None),
            (vec![(at(1), false), (at(3), false)], 2, Some(at(3))),
            (
                vec![(at(3), false), (at(2), true), (at(1), false)],
                1,
                Some(at(3)),
            ),
            (vec![(at(1), false), (at(2), true)], 0, None),
            (vec![(at(2), true), (at(2), false)], 0, None),
        ] {
            let found = Failures::since_success(finished.clone());
            assert_eq!(found, Failures { count, last }, "{finished:?}");
        }
    }
}
