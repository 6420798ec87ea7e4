//! The components that killed the compiler: one that did it twice is not compiled again, for some time or for good.
//!
//! - A component that crashes the compiler, or takes more CPU time or writes more code than any may, is to blame itself:
//!   it is not compiled again.
//! - One that takes more memory or time than the machine has is perhaps not to blame: a neighbor may have taken both.
//!   It is compiled again after [`FIRST`], and after twice as long each time that it fails again, up to [`LONGEST`].
//! - What is known holds for this version of the host and its compiler, with the memory that it has: another one tries
//!   again.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use windlass_base::digest::Digest;

/// So many components are remembered.
const MOST: usize = 256;

/// A component may kill the compiler once: the machine may be to blame.
const TWICE: u32 = 2;

/// How long a component is not compiled that starved the compiler twice.
const FIRST: SignedDuration = SignedDuration::from_mins(10);

/// The longest time for which a component is not compiled that starved the compiler.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// So often the time doubles; after that it is more than [`LONGEST`].
const DOUBLINGS: u32 = 8;

/// A component that starved the compiler last so long ago starts over.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(48);

/// Who is to blame that the compiler was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The component alone.
    Component,
    /// The component, or something else that took memory or time on the machine.
    Machine,
}

/// A component that killed the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Killed {
    digest: String,
    /// How often it was to blame itself.
    #[serde(default)]
    crashed: u32,
    /// How often something else may have been to blame.
    #[serde(default)]
    starved: u32,
    /// When it did so last.
    pub last: String,
    /// What happened then.
    pub how: String,
    /// The host, the compiler and the memory that it happened with.
    with: String,
}

impl Killed {
    /// How often it killed the compiler.
    pub fn times(&self) -> u32 {
        self.crashed.saturating_add(self.starved)
    }

    /// When it is compiled again; `None` if it is not.
    pub fn until(&self) -> Option<Timestamp> {
        (self.crashed < TWICE).then(|| self.after(wait(self.times())))
    }

    /// Whether it may not be compiled `now`.
    fn holds(&self, now: Timestamp) -> bool {
        self.times() >= TWICE && self.until().is_none_or(|until| now < until)
    }

    /// So long after the last time. What cannot be read was long ago.
    fn after(&self, wait: SignedDuration) -> Timestamp {
        let last = self.last.parse().unwrap_or(Timestamp::UNIX_EPOCH);
        last.saturating_add(wait).unwrap_or(Timestamp::MAX)
    }
}

/// How long a component is not compiled that has killed the compiler so often.
fn wait(times: u32) -> SignedDuration {
    let doublings = times.saturating_sub(TWICE).min(DOUBLINGS);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

/// All of them, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Kills(Vec<Killed>);

impl Kills {
    /// `digest` has killed the compiler `now`, in this way, under these conditions.
    pub(super) fn add(
        &mut self,
        with: &str,
        digest: Digest,
        (how, blame): (&str, Blame),
        now: Timestamp,
    ) {
        let hex = digest.hex();
        let before = self
            .0
            .iter()
            .position(|killed| killed.digest == hex)
            .map(|place| self.0.remove(place));
        let before = before.filter(|before| before.with == with);
        let mut killed = Killed {
            digest: hex,
            crashed: before.as_ref().map_or(0, |before| before.crashed),
            starved: before
                .filter(|before| now < before.after(FORGOTTEN))
                .map_or(0, |before| before.starved),
            last: format!("{now:.0}"),
            how: how.to_owned(),
            with: with.to_owned(),
        };
        let count = match blame {
            Blame::Component => &mut killed.crashed,
            Blame::Machine => &mut killed.starved,
        };
        *count = count.saturating_add(1);
        self.0.push(killed);
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// What is known of `digest`, if it is not to be compiled `now` under these conditions.
    pub(super) fn refused(&self, with: &str, digest: &Digest, now: Timestamp) -> Option<Killed> {
        let hex = digest.hex();
        let mut all = self.0.iter();
        let killed = all.find(|killed| killed.digest == hex)?;
        (killed.with == with && killed.holds(now)).then(|| killed.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::digest::digest;

    const CRASH: (&str, Blame) = ("crashes the compiler", Blame::Component);
    const STARVES: (&str, Blame) = ("takes too long", Blame::Machine);

    /// So many minutes after the start.
    fn minute(minutes: i64) -> Timestamp {
        let start: Timestamp = "2026-11-25T09:30:00Z".parse().unwrap();
        start + SignedDuration::from_mins(minutes)
    }

    /// Until which minute a component is refused in the end; `Some(None)` is for good.
    fn refused(kills: &[(i64, (&str, Blame))]) -> Option<Option<i64>> {
        let mut all = Kills::default();
        let mut last = minute(0);
        for (at, kill) in kills {
            last = minute(*at);
            all.add("x", digest(b"bomb"), *kill, last);
        }
        let refused = all.refused("x", &digest(b"bomb"), last)?;
        let until = refused.until();
        if let Some(until) = until {
            let before = until - SignedDuration::from_secs(1);
            assert!(all.refused("x", &digest(b"bomb"), before).is_some());
            assert_eq!(all.refused("x", &digest(b"bomb"), until), None);
        } else {
            let later = minute(1_000_000);
            assert!(all.refused("x", &digest(b"bomb"), later).is_some());
        }
        Some(until.map(|until| until.duration_since(minute(0)).as_mins()))
    }

    #[test]
    fn who_crashes_the_compiler_stays_out_and_who_starves_it_is_tried_again() {
        let (hour, day) = (60, 24 * 60);
        // When the component killed the compiler, in minutes, and how; until when it is refused.
        type Row<'a> = (&'a [(i64, (&'a str, Blame))], Option<Option<i64>>);
        let rows: [Row<'_>; 10] = [
            (&[], None),
            (&[(0, CRASH)], None),
            (&[(0, CRASH), (hour, CRASH)], Some(None)),
            (&[(0, CRASH), (100 * day, CRASH)], Some(None)),
            (&[(0, STARVES)], None),
            (&[(0, STARVES), (5, STARVES)], Some(Some(15))),
            (&[(0, STARVES), (5, STARVES), (15, STARVES)], Some(Some(35))),
            // Both once: the machine may be to blame for one.
            (&[(0, CRASH), (5, STARVES)], Some(Some(15))),
            (&[(0, CRASH), (5, STARVES), (15, CRASH)], Some(None)),
            // It starts over when it was compiled in between, or not asked for.
            (&[(0, STARVES), (5, STARVES), (3 * day, STARVES)], None),
        ];
        for (kills, want) in rows {
            assert_eq!(refused(kills), want, "{kills:?}");
        }
    }

    /// A component that always starves the compiler is tried whenever it may be: seldom, and never for the last time.
    #[test]
    fn the_waits_double_up_to_a_day() {
        let (mut kills, mut waits, mut now) = (Kills::default(), Vec::new(), minute(0));
        for _ in 0..12 {
            kills.add("x", digest(b"bomb"), STARVES, now);
            let refused = kills.refused("x", &digest(b"bomb"), now);
            let until = refused.map_or(now, |killed| killed.until().unwrap());
            waits.push(until.duration_since(now).as_mins());
            now = until;
        }
        let want = [0, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440];
        assert_eq!(waits, want);
    }

    #[test]
    fn what_is_known_holds_under_the_same_conditions() {
        let now = minute(0);
        let mut kills = Kills::default();
        let (bomb, other) = (digest(b"bomb"), digest(b"other"));
        let refused = |kills: &Kills, with: &str, digest| {
            kills
                .refused(with, digest, now)
                .map(|killed| killed.times())
        };
        kills.add("old", bomb, CRASH, now);
        assert_eq!(refused(&kills, "old", &bomb), None, "once is no reason");
        kills.add("old", other, CRASH, now);
        kills.add("old", bomb, CRASH, now);
        assert_eq!(refused(&kills, "old", &bomb), Some(2));
        assert_eq!(refused(&kills, "old", &other), None);
        assert_eq!(
            refused(&kills, "new", &bomb),
            None,
            "a new host tries again"
        );
        kills.add("new", bomb, CRASH, now);
        assert_eq!(refused(&kills, "new", &bomb), None, "and counts from 1");
        kills.add("new", bomb, CRASH, now);
        assert_eq!(refused(&kills, "new", &bomb), Some(2));
    }

    #[test]
    fn the_newest_are_remembered() {
        let now = minute(0);
        let mut kills = Kills::default();
        for number in 0..=MOST {
            let digest = digest(number.to_string().as_bytes());
            kills.add("x", digest, CRASH, now);
            kills.add("x", digest, CRASH, now);
        }
        assert_eq!(kills.0.len(), MOST);
        assert_eq!(kills.refused("x", &digest(b"0"), now), None);
        assert!(kills.refused("x", &digest(b"1"), now).is_some());
    }
}
