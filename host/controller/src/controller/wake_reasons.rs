//! Why a key runs: the first reasons, and how many there were.

use windlass_kube::object::Key;
use windlass_view::WakeReason;

/// So many reasons are kept for each key that waits.
pub(super) const REASONS: usize = 8;

/// Why a key runs.
#[derive(Clone, Debug, Default)]
pub struct WakeReasons {
    /// The first reasons that there were.
    pub first: Vec<WakeReason>,
    /// How many there were in all.
    pub count: usize,
    /// Whether its own object is new, has a new generation, or is to be deleted.
    pub(super) is_edited: bool,
}

impl WakeReasons {
    /// There is this reason too. That somebody asked for it comes first.
    pub(super) fn note(&mut self, why: WakeReason) {
        self.count += 1;
        self.is_edited |= matches!(why, WakeReason::Edited(..));
        if self.first.contains(&why) {
            return;
        }
        let is_asked = why == WakeReason::Asked;
        if is_asked {
            self.first.truncate(REASONS - 1);
        }
        if self.first.len() < REASONS {
            // Most have one: a vector that grows by itself begins with four.
            self.first.reserve_exact(1);
            let at = if is_asked { 0 } else { self.first.len() };
            self.first.insert(at, why);
        }
    }

    /// Whether something happened that the plugin did not bring about itself: more than that its time has come, that it
    /// failed, or that `written`, an object of this kind and name, has changed.
    pub(super) fn are_outside(&self, written: (&str, &Key)) -> bool {
        let is_outside = |why: &WakeReason| match why {
            WakeReason::Changed(kind, key) | WakeReason::Overtaken(kind, key) => {
                (kind.as_str(), key) != written
            }
            WakeReason::Edited(..)
            | WakeReason::Served
            | WakeReason::Listed
            | WakeReason::Swapped
            | WakeReason::Resync
            | WakeReason::Asked => true,
            WakeReason::Watched
            | WakeReason::Settled
            | WakeReason::Requeued
            | WakeReason::Failed
            | WakeReason::SlowedDown => false,
        };
        self.first.len() >= REASONS || self.first.iter().any(is_outside)
    }

    /// Whether somebody asked for it.
    pub(super) fn are_asked_for(&self) -> bool {
        self.first.first() == Some(&WakeReason::Asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_what_is_written_is_not_a_cause_outside() {
        let key = |name: &str| Key::new(None, name);
        let changed = |name: &str| WakeReason::Changed("Pod".into(), key(name));
        let rows = [
            (vec![WakeReason::Requeued], false),
            (vec![WakeReason::Failed, changed("mine")], false),
            (
                vec![WakeReason::Overtaken("Pod".into(), key("mine"))],
                false,
            ),
            (vec![changed("mine"), changed("other")], true),
            (vec![WakeReason::Resync], true),
            ((0..20).map(|n| changed(&n.to_string())).collect(), true),
        ];
        for (reasons, want) in rows {
            let mut all = WakeReasons::default();
            reasons.into_iter().for_each(|why| all.note(why));
            let mine = key("mine");
            assert_eq!(all.are_outside(("Pod", &mine)), want, "{all:?}");
            assert!(!WakeReasons::default().are_outside(("Pod", &mine)));
        }
    }

    #[test]
    fn the_first_reasons_are_kept_and_that_somebody_asked_comes_before_all_others() {
        let changed = |number: usize| {
            let key = Key::new(None, &number.to_string());
            WakeReason::Changed("Secret".into(), key)
        };
        let mut reasons = WakeReasons::default();
        (0..20).for_each(|number| reasons.note(changed(number)));
        let first: Vec<_> = (0..REASONS).map(changed).collect();
        assert_eq!((&reasons.first, reasons.count), (&first, 20));
        assert!(!reasons.are_asked_for());
        for _ in 0..2 {
            reasons.note(WakeReason::Asked);
        }
        let asked = [&[WakeReason::Asked][..], &first[..REASONS - 1]].concat();
        assert_eq!((&reasons.first, reasons.count), (&asked, 22));
        assert!(reasons.are_asked_for());
    }
}
