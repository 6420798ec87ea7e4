//! The components that killed the compiler: one that did it twice is not compiled again.
//!
//! - What is known holds for this version of the host and its compiler, with the memory that it has: another one tries
//!   again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::source::Digest;

/// So many components are remembered.
const MOST: usize = 256;

/// A component may kill the compiler once: the machine may be to blame.
const TWICE: u32 = 2;

/// A component that killed the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Killed {
    digest: String,
    /// How often.
    pub times: u32,
    /// When it did so last.
    pub last: String,
    /// What happened then.
    pub how: String,
    /// The host, the compiler and the memory that it happened with.
    with: String,
}

/// All of them, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Kills(Vec<Killed>);

impl Kills {
    /// `digest` has killed the compiler `now`, in this way, under these conditions.
    pub(super) fn add(&mut self, with: &str, digest: Digest, how: &str, now: Timestamp) {
        let hex = digest.hex();
        let before = self.0.iter().position(|killed| killed.digest == hex);
        let before = before.map(|place| self.0.remove(place));
        let times = before.filter(|it| it.with == with).map_or(0, |it| it.times);
        self.0.push(Killed {
            digest: hex,
            times: times.saturating_add(1),
            last: format!("{now:.0}"),
            how: how.to_owned(),
            with: with.to_owned(),
        });
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// What is known of `digest`, if it is not to be compiled again under these conditions.
    pub(super) fn refused(&self, with: &str, digest: &Digest) -> Option<Killed> {
        let hex = digest.hex();
        let mut all = self.0.iter();
        let killed = all.find(|killed| killed.digest == hex)?;
        (killed.times >= TWICE && killed.with == with).then(|| killed.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::digest;

    #[test]
    fn who_kills_the_compiler_twice_is_not_compiled_again_under_the_same_conditions() {
        let now = "2026-11-25T09:30:00Z".parse().unwrap();
        let mut kills = Kills::default();
        let (bomb, other) = (digest(b"bomb"), digest(b"other"));
        let refused = |kills: &Kills, with: &str, digest| {
            kills.refused(with, digest).map(|killed| killed.times)
        };
        kills.add("old", bomb, "takes too long", now);
        assert_eq!(refused(&kills, "old", &bomb), None, "once is no reason");
        kills.add("old", other, "takes too long", now);
        kills.add("old", bomb, "takes too long", now);
        assert_eq!(refused(&kills, "old", &bomb), Some(2));
        assert_eq!(refused(&kills, "old", &other), None);
        assert_eq!(
            refused(&kills, "new", &bomb),
            None,
            "a new host tries again"
        );
        kills.add("new", bomb, "takes too long", now);
        assert_eq!(refused(&kills, "new", &bomb), None, "and counts from 1");
        kills.add("new", bomb, "takes too long", now);
        assert_eq!(refused(&kills, "new", &bomb), Some(2));
    }

    #[test]
    fn the_newest_are_remembered() {
        let now = "2026-11-25T09:30:00Z".parse().unwrap();
        let mut kills = Kills::default();
        for number in 0..=MOST {
            let digest = digest(number.to_string().as_bytes());
            kills.add("x", digest, "takes too long", now);
            kills.add("x", digest, "takes too long", now);
        }
        assert_eq!(kills.0.len(), MOST);
        assert_eq!(kills.refused("x", &digest(b"0")), None);
        assert!(kills.refused("x", &digest(b"1")).is_some());
    }
}
