//! Why a key runs: the first reasons, and how many there were.

use crate::view::Why;

/// So many reasons are kept for each key that waits.
pub(super) const REASONS: usize = 8;

/// Why a key runs.
#[derive(Clone, Debug, Default)]
pub struct Whys {
    /// The first reasons that there were.
    pub first: Vec<Why>,
    /// How many there were in all.
    pub count: usize,
}

impl Whys {
    /// There is this reason too.
    pub(super) fn note(&mut self, why: Why) {
        self.count += 1;
        if self.first.len() < REASONS && !self.first.contains(&why) {
            // Most have one: a vector that grows by itself begins with four.
            self.first.reserve_exact(1);
            self.first.push(why);
        }
    }
}
