//! What a pass remembers for the next one: a hint, which the host may forget.
//!
//! Changes of pods wait for a moment, so that one pass sees many of them. A new Job, a new spec and a time that has come do not
//! wait. Without the hint, nothing waits.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::backoff::Failures;

/// What is remembered of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Memo {
    /// Of which Job: another one may have its name.
    pub(crate) uid: String,
    /// The spec that the last pass has seen.
    pub(crate) generation: i64,
    /// Failures that passes have counted, since the last success.
    pub(crate) failures: Failures,
    /// When the last pass wanted to look again.
    pub(crate) wake: Option<Timestamp>,
    /// Until when changes wait.
    pub(crate) due: Option<Timestamp>,
}

impl Memo {
    /// Until when changes wait. None if the pass is made now.
    pub(crate) fn waits(
        &self,
        generation: i64,
        now: Timestamp,
        batch: SignedDuration,
    ) -> Option<Timestamp> {
        let is_known = self.generation == generation;
        let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if !is_known || has_come(self.wake) || has_come(self.due) || batch <= SignedDuration::ZERO {
            return None;
        }
        self.due.or_else(|| now.checked_add(batch).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_pods_wait_and_others_do_not() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let memo = |generation, wake: Option<i64>, due: Option<i64>| Memo {
            generation,
            wake: wake.map(at),
            due: due.map(at),
            ..Memo::default()
        };
        for (memo, batch, want) in [
            (memo(2, None, None), 1, Some(101)),
            (memo(2, None, Some(101)), 1, Some(101)),
            (memo(2, None, Some(100)), 1, None),
            (memo(2, Some(500), None), 1, Some(101)),
            (memo(2, Some(100), None), 1, None),
            (memo(1, None, None), 1, None),
            (memo(2, None, None), 0, None),
        ] {
            let found = memo.waits(2, at(100), SignedDuration::from_secs(batch));
            assert_eq!(found, want.map(at), "{memo:?} {batch}");
        }
    }
}
