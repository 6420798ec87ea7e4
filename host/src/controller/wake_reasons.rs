//! Why a key runs: the first reasons, and how many there were.

use crate::view::WakeReason;

/// So many reasons are kept for each key that waits.
pub(super) const REASONS: usize = 8;

/// Why a key runs.
#[derive(Clone, Debug, Default)]
pub struct WakeReasons {
    /// The first reasons that there were.
    pub first: Vec<WakeReason>,
    /// How many there were in all.
    pub count: usize,
}

impl WakeReasons {
    /// There is this reason too. That somebody asked for it comes first.
    pub(super) fn note(&mut self, why: WakeReason) {
        self.count += 1;
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

    /// Whether somebody asked for it.
    pub(super) fn are_asked_for(&self) -> bool {
        self.first.first() == Some(&WakeReason::Asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Key;

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
