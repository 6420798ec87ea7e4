//! Whether a version that took the place of a good one is good itself: pure, as far as it can be. The table is the test.
//!
//! - For its first minutes a new version is on trial: the version before it is kept, and takes its place again if it
//!   fails for many more objects than before. An object counts once, however often it is tried again.
//! - Passes over no more than the first objects begin before these have been judged: a version that always fails does so for so
//!   many objects. One that failed may be tried again meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::plugin::news;
use super::version::Version;
use windlass_base::seams::watch;
use windlass_controller::controller::Share;

/// How long a version is on trial.
pub(super) const TRIAL: Duration = Duration::from_secs(300);

/// With fewer passes than that nothing is said of a version, nor with fewer objects, if there are so many; and passes over
/// so many objects begin before they are judged.
pub(super) const FIRST_PASSES: usize = 10;

/// A version is worse if its share of failed objects is so many percent points above the share before.
const POINTS: u64 = 20;

/// What counts as the share of a version that has made no pass here.
const UNKNOWN: Share = Share {
    objects: 2,
    failed: 1,
};

/// What is said of a version that is on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet: its first passes have not ended.
    Waits,
    /// It goes on, and is watched.
    GoesOn,
    /// The trial has ended well.
    Good,
    /// The version before it takes its place again.
    RollBack,
}

/// The passes of a version on trial, and the objects of its plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// How its passes ended, by object.
    pub(super) share: Share,
    /// How many passes have ended.
    pub(super) passes: u64,
    /// How many objects the plugin has.
    pub(super) objects: u64,
}

/// Judges a version of which `new` is known after it ran for `age`, and `old` of the one before it.
pub(super) fn verdict(new: Record, old: Share, age: Duration) -> Verdict {
    let old = if old.objects == 0 { UNKNOWN } else { old };
    let first = FIRST_PASSES as u64;
    let Record {
        share,
        passes,
        objects,
    } = new;
    let has_passes = passes >= first;
    // Some objects get no pass, such as those that are paused: the end of the trial does not wait for them.
    let has_objects = share.objects >= objects.min(first) || age >= TRIAL;
    // failed / objects - old / objects >= POINTS / 100, without a division.
    let product = |share: u64, of: u64| 100 * u128::from(share) * u128::from(of);
    let least = u128::from(POINTS) * u128::from(share.objects) * u128::from(old.objects);
    let is_worse = product(share.failed, old.objects) >= product(old.failed, share.objects) + least;
    match (has_passes && has_objects, is_worse) {
        (true, true) => Verdict::RollBack,
        _ if age >= TRIAL => Verdict::Good,
        (true, false) => Verdict::GoesOn,
        (false, _) => Verdict::Waits,
    }
}

/// A version on trial.
#[derive(Clone)]
pub(super) struct OnTrial {
    /// The version.
    pub(super) version: Arc<Version>,
    /// The last good one, which it replaces.
    pub(super) before: Arc<Version>,
    /// What was said of it last.
    pub(super) verdict: Verdict,
    /// Since when it is asked for.
    pub(super) since: Instant,
}

/// The version of one plugin that is on trial. Who admits versions and who runs them share it; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Trials(Arc<watch::Sender<Option<OnTrial>>>);

impl Trials {
    /// `version` is on trial as soon as it runs, in the place of `before`.
    pub(super) fn begin(&self, version: Arc<Version>, before: Arc<Version>, since: Instant) {
        self.0.send_replace(Some(OnTrial {
            version,
            before,
            verdict: Verdict::Waits,
            since,
        }));
    }

    /// No version is on trial any more.
    pub(super) fn end(&self) {
        self.0.send_replace(None);
    }

    /// The trial of `version`, if it is on trial and not judged.
    pub(super) fn of(&self, version: &Arc<Version>) -> Option<OnTrial> {
        let held = self.0.borrow().clone();
        held.filter(|it| Arc::ptr_eq(&it.version, version) && it.verdict == Verdict::Waits)
    }

    /// `version` is judged so.
    pub(super) fn judge(&self, version: &Arc<Version>, verdict: Verdict) {
        self.0.send_if_modified(|held| match held {
            Some(held) if Arc::ptr_eq(&held.version, version) => {
                held.verdict = verdict;
                true
            }
            Some(_) | None => false,
        });
    }

    /// Whether the version on trial has failed it.
    pub(super) fn is_failed(&self) -> bool {
        let held = self.0.borrow();
        held.as_ref()
            .is_some_and(|held| held.verdict == Verdict::RollBack)
    }

    /// Ends the trial that is judged, if one is.
    pub(super) fn take_judged(&self) -> Option<OnTrial> {
        let held = self.0.borrow().clone();
        let judged = held.filter(|held| held.verdict != Verdict::Waits)?;
        self.end();
        Some(judged)
    }

    /// Waits until a version is judged in one of these ways.
    pub(super) async fn ends(&self, verdicts: &[Verdict]) {
        let mut held = self.0.subscribe();
        let is_over = |held: &Option<OnTrial>| {
            let verdict = held.as_ref().map(|held| held.verdict);
            verdict.is_some_and(|verdict| verdicts.contains(&verdict))
        };
        while !is_over(&held.borrow_and_update()) {
            news(&mut held).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_rolled_back_if_it_fails_much_more_often_than_the_one_before() {
        use Verdict::{GoesOn, Good, RollBack, Waits};
        let share = |(failed, objects)| Share { objects, failed };
        // (failed and all objects of the new version, and of the old one; what is said while it is on trial, and after)
        let rows = [
            ((0, 0), (0, 100), Waits, Good),
            ((9, 9), (0, 100), Waits, Good),
            ((10, 10), (0, 100), RollBack, RollBack),
            ((0, 10), (0, 100), GoesOn, Good),
            ((1, 10), (0, 100), GoesOn, Good),
            ((2, 10), (0, 100), RollBack, RollBack),
            ((199, 1000), (0, 100), GoesOn, Good),
            ((200, 1000), (0, 100), RollBack, RollBack),
            // Twenty points above, and not twenty percent.
            ((6, 10), (41, 100), GoesOn, Good),
            ((6, 10), (40, 100), RollBack, RollBack),
            ((10, 10), (81, 100), GoesOn, Good),
            ((10, 10), (80, 100), RollBack, RollBack),
            ((5, 10), (100, 100), GoesOn, Good),
            ((2, 10), (0, 1), RollBack, RollBack),
            // Nothing is known of the old one.
            ((6, 10), (0, 0), GoesOn, Good),
            ((7, 10), (0, 0), RollBack, RollBack),
            ((1 << 40, 1 << 40), (0, 1 << 40), RollBack, RollBack),
        ];
        for (new, old, young, aged) in rows {
            for (age, want) in [
                (Duration::ZERO, young),
                (TRIAL - Duration::from_nanos(1), young),
                (TRIAL, aged),
            ] {
                let record = Record {
                    share: share(new),
                    passes: new.1,
                    objects: new.1,
                };
                let said = verdict(record, share(old), age);
                assert_eq!(said, want, "{new:?} {old:?} {age:?}");
            }
        }
    }

    #[test]
    fn an_object_that_is_tried_again_counts_once() {
        use Verdict::{GoesOn, Good, RollBack, Waits};
        let old = Share {
            objects: 60,
            failed: 0,
        };
        // (failed objects, objects with a pass, passes, objects; what is said while it is on trial, and after)
        let rows = [
            // One object of many traps, and is tried 30 times.
            ((1, 5, 34, 60), Waits, RollBack),
            ((1, 10, 40, 60), GoesOn, Good),
            ((2, 10, 40, 60), RollBack, RollBack),
            // Few objects: all have had a pass, and there were enough.
            ((1, 1, 9, 1), Waits, Good),
            ((1, 1, 10, 1), RollBack, RollBack),
            ((1, 2, 10, 2), RollBack, RollBack),
            ((1, 1, 10, 2), Waits, RollBack),
            ((0, 1, 10, 2), Waits, Good),
        ];
        for ((failed, seen, passes, objects), young, aged) in rows {
            let record = Record {
                share: Share {
                    objects: seen,
                    failed,
                },
                passes,
                objects,
            };
            for (age, want) in [(Duration::ZERO, young), (TRIAL, aged)] {
                assert_eq!(verdict(record, old, age), want, "{record:?} {age:?}");
            }
        }
    }
}
