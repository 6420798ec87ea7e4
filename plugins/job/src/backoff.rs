//! How long a failed pod is not replaced: a delay that doubles with each failure since the last success.
//!
//! It follows from the finished pods, so it survives a restart. Pods that were deleted are gone: a hint remembers how many
//! of them had failed. Source: "Pod backoff failure policy" in the documentation of Jobs.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::config::Backoff;

/// Failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Failures {
    /// How many there were.
    pub(crate) count: usize,
    /// When the last one was.
    pub(crate) last: Option<Timestamp>,
}

/// A pod that has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finish {
    /// When.
    pub(crate) at: Timestamp,
    /// Whether it succeeded. A success at the same time as a failure ends the row of failures.
    pub(crate) success: bool,
    /// Whether no pass has counted it yet.
    pub(crate) is_new: bool,
}

impl Failures {
    /// The failures since the last success, of pods that are there, and of those that earlier passes have counted.
    pub(crate) fn since_success(mut finished: Vec<Finish>, counted: Self) -> Self {
        finished.sort_unstable();
        let counted = counted.unless_success(&finished);
        let failed: Vec<_> = finished
            .iter()
            .rev()
            .take_while(|one| !one.success)
            .collect();
        let new = failed.iter().filter(|one| one.is_new).count();
        Self {
            count: failed.len().max(counted.count + new),
            last: failed.first().map(|one| one.at).max(counted.last),
        }
    }

    /// These failures, and `new` ones that a pass has counted.
    pub(crate) fn and(self, new: usize, finished: &[Finish]) -> Self {
        let counted = self.unless_success(finished);
        let failed = finished.iter().filter(|one| !one.success && one.is_new);
        Self {
            count: counted.count + new,
            last: counted.last.max(failed.map(|one| one.at).max()),
        }
    }

    /// None, if a pod has succeeded after them.
    fn unless_success(self, finished: &[Finish]) -> Self {
        let success = finished
            .iter()
            .filter(|one| one.success)
            .map(|one| one.at)
            .max();
        if success.is_some() && success >= self.last {
            Self::default()
        } else {
            self
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

    fn finish(second: i64, success: bool, is_new: bool) -> Finish {
        Finish {
            at: at(second),
            success,
            is_new,
        }
    }

    #[test]
    fn failures_count_since_the_last_success() {
        let [failed, new] = [
            |second| finish(second, false, false),
            |second| finish(second, false, true),
        ];
        let success = |second| finish(second, true, true);
        let counted = |count, second| Failures {
            count,
            last: Some(at(second)),
        };
        let none = Failures::default();
        for (finished, before, count, last) in [
            (vec![], none, 0, None),
            (vec![new(1), failed(3)], none, 2, Some(3)),
            (vec![failed(3), success(2), new(1)], none, 1, Some(3)),
            (vec![failed(1), success(2)], none, 0, None),
            (vec![success(2), new(2)], none, 0, None),
            // Pods that are gone were counted before.
            (vec![], counted(3, 5), 3, Some(5)),
            (vec![failed(5), new(7)], counted(3, 5), 4, Some(7)),
            (vec![success(6), new(7)], counted(3, 5), 1, Some(7)),
            (vec![success(4), new(7)], counted(3, 5), 4, Some(7)),
        ] {
            let found = Failures::since_success(finished.clone(), before);
            let last = last.map(at);
            assert_eq!(found, Failures { count, last }, "{finished:?} {before:?}");
        }
    }

    #[test]
    fn what_a_pass_counts_is_remembered_until_a_success() {
        let before = Failures {
            count: 3,
            last: Some(at(5)),
        };
        for (finished, new, count, last) in [
            (vec![], 0, 3, Some(5)),
            (
                vec![finish(7, false, true), finish(9, false, false)],
                1,
                4,
                Some(7),
            ),
            (
                vec![finish(6, true, true), finish(7, false, true)],
                1,
                1,
                Some(7),
            ),
        ] {
            let last = last.map(at);
            assert_eq!(
                before.and(new, &finished),
                Failures { count, last },
                "{finished:?}"
            );
        }
    }
}
