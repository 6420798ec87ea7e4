//! Which components are quarantined, given the crashes that they were at work in.
//!
//! A component is at fault, or it was only busy when another one crashed the host. Nobody can tell by one crash, so:
//!
//! - In flight in two crashes within [`WINDOW`]: it is quarantined. All of them are, if that is true of several.
//! - One that is quarantined alone comes back after [`FIRST`], and after twice as long each further time.
//! - Several are let out one after the other, [`PROBATION`] apart. If the host crashes while one of them is on
//!   probation and at work, that one is to blame: it is quarantined alone, and the others are free at once.
//! - A component that is not to blame comes back by itself. One that is to blame crashes the host once for each
//!   quarantine, and each lasts twice as long as the one before it: no host crashes forever.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::Crash;
use windlass_base::digest::Digest;

/// Two crashes that are no further apart accuse who was at work in both.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// How long a component must do nothing wrong after it was let out.
pub const PROBATION: SignedDuration = SignedDuration::from_mins(2);

/// How long a component is quarantined that is accused alone, for the first time.
pub(super) const FIRST: SignedDuration = SignedDuration::from_hours(1);

/// So often the time doubles.
const DOUBLINGS: u32 = 9;

/// When a component may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// When the crash was that led to it.
    pub since: Timestamp,
    /// From when on it may run, on probation.
    pub until: Timestamp,
    /// How many others are accused of the same.
    pub others: usize,
}

impl Sentence {
    /// Whether the component may not run `now`.
    pub fn holds(&self, now: Timestamp) -> bool {
        now < self.until
    }

    fn is_probation(&self, now: Timestamp) -> bool {
        let end = self.until.saturating_add(PROBATION);
        !self.holds(now) && now < end.unwrap_or(Timestamp::MAX)
    }
}

/// What is known of a component.
#[derive(Debug, Default)]
struct Case {
    /// The last crash that it was in flight in, and was not sentenced for.
    last: Option<Timestamp>,
    /// How often it was accused alone.
    strikes: u32,
    sentence: Option<Sentence>,
}

impl Case {
    fn is_quarantined(&self, now: Timestamp) -> bool {
        self.sentence.is_some_and(|sentence| sentence.holds(now))
    }

    fn is_on_probation(&self, now: Timestamp) -> bool {
        self.sentence
            .is_some_and(|sentence| sentence.is_probation(now))
    }
}

/// Judges the `crashes`, the oldest first.
pub(super) fn judge(crashes: &[Crash]) -> BTreeMap<Digest, Sentence> {
    let mut cases = BTreeMap::new();
    for crash in crashes {
        hear(&mut cases, crash);
    }
    let sentences = cases.into_iter();
    sentences
        .filter_map(|(digest, case)| Some((digest, case.sentence?)))
        .collect()
}

fn hear(cases: &mut BTreeMap<Digest, Case>, crash: &Crash) {
    let at = crash.at;
    for suspect in &crash.suspects {
        cases.entry(*suspect).or_default();
    }
    let accused = |is_it: &dyn Fn(&Case) -> bool| -> BTreeSet<Digest> {
        let suspects = crash.suspects.iter().copied();
        suspects
            .filter(|suspect| cases.get(suspect).is_some_and(is_it))
            .collect()
    };
    let tried = accused(&|case| case.is_on_probation(at));
    let again = accused(&|case| {
        let again = case
            .last
            .is_some_and(|last| at.duration_since(last) <= WINDOW);
        again && !case.is_quarantined(at)
    });
    let mut only = tried.iter().filter(|_| tried.len() == 1);
    let group = only.find_map(|digest| Some(cases.get(digest)?.sentence?.since));
    if let Some(group) = group {
        acquit(cases, group, at);
    }
    let guilty = if tried.is_empty() { again } else { tried };
    sentence(cases, &guilty, at);
    for suspect in crash.suspects.difference(&guilty) {
        if let Some(case) = cases.get_mut(suspect)
            && !case.is_quarantined(at)
        {
            case.last = Some(at);
        }
    }
}

/// Lets those go who were accused with one that is to blame.
fn acquit(cases: &mut BTreeMap<Digest, Case>, since: Timestamp, now: Timestamp) {
    for case in cases.values_mut() {
        let same = case
            .sentence
            .is_some_and(|sentence| sentence.since == since);
        if same && case.is_quarantined(now) {
            (case.sentence, case.last) = (None, None);
        }
    }
}

fn sentence(cases: &mut BTreeMap<Digest, Case>, guilty: &BTreeSet<Digest>, since: Timestamp) {
    let others = guilty.len().saturating_sub(1);
    for (place, digest) in (1_i32..).zip(guilty) {
        let Some(case) = cases.get_mut(digest) else {
            continue;
        };
        let lasts = match others {
            0 => {
                case.strikes = case.strikes.saturating_add(1);
                FIRST * (1 << (case.strikes - 1).min(DOUBLINGS))
            }
            _ => PROBATION * place,
        };
        case.last = None;
        case.sentence = Some(Sentence {
            since,
            until: since.saturating_add(lasts).unwrap_or(Timestamp::MAX),
            others,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names whose digests are in the same order.
    fn named(name: &str) -> Digest {
        let byte = name.as_bytes()[0];
        Digest::of_hex(&format!("{byte:02x}").repeat(32)).unwrap()
    }

    fn minutes(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    /// Crashes as `(minute, names)`; answers the minutes until which each is quarantined.
    fn judged(crashes: &[(i64, &str)]) -> Vec<(String, i64)> {
        let crashes: Vec<Crash> = crashes
            .iter()
            .enumerate()
            .map(|(number, (minute, names))| Crash {
                run: number.to_string(),
                at: minutes(*minute),
                suspects: names.split_whitespace().map(named).collect(),
            })
            .collect();
        let sentences = judge(&crashes);
        let names = ["a", "b", "c", "d"];
        let until = |name: &&str| Some(sentences.get(&named(name))?.until.as_second() / 60);
        let all = names.iter();
        all.filter_map(|name| Some(((*name).to_owned(), until(name)?)))
            .collect()
    }

    /// What happens, the crashes, and until when who is quarantined.
    type Row<'a> = (&'a str, &'a [(i64, &'a str)], &'a [(&'a str, i64)]);

    #[test]
    fn who_was_at_work_in_two_crashes_is_quarantined() {
        let cases: &[Row] = &[
            ("no crash", &[], &[]),
            ("one crash is no reason", &[(0, "a b")], &[]),
            ("two are", &[(0, "a"), (10, "a")], &[("a", 70)]),
            ("too far apart", &[(0, "a"), (11, "a")], &[]),
            (
                "the second and the third",
                &[(0, "a"), (11, "a"), (12, "a")],
                &[("a", 72)],
            ),
            (
                "who was at work in both",
                &[(0, "a b"), (1, "a c")],
                &[("a", 61)],
            ),
            ("nobody was in both", &[(0, "a b"), (1, "c d")], &[]),
            ("nobody was at work", &[(0, ""), (1, ""), (2, "")], &[]),
            (
                "two replicas, at the same time",
                &[(5, "a"), (5, "a")],
                &[("a", 65)],
            ),
            (
                "all are, and come back one by one",
                &[(0, "a b c"), (1, "a b c")],
                &[("a", 3), ("b", 5), ("c", 7)],
            ),
            (
                "the one on probation is to blame",
                &[(0, "a b c"), (1, "a b c"), (6, "b")],
                &[("a", 3), ("b", 66)],
            ),
            (
                "and not who is busy beside it",
                &[(0, "a b c"), (1, "a b c"), (6, "a b")],
                &[("a", 3), ("b", 66)],
            ),
            (
                "the first one is to blame",
                &[(0, "a b"), (1, "a b"), (3, "a")],
                &[("a", 63)],
            ),
            (
                "after probation it takes two again",
                &[(0, "a b"), (1, "a b"), (8, "a b")],
                &[("a", 3), ("b", 5)],
            ),
            (
                "and they are quarantined again",
                &[(0, "a b"), (1, "a b"), (8, "a b"), (9, "a b")],
                &[("a", 11), ("b", 13)],
            ),
            (
                "each time for twice as long",
                &[(0, "a"), (1, "a"), (61, "a")],
                &[("a", 181)],
            ),
            (
                "and again",
                &[(0, "a"), (1, "a"), (61, "a"), (182, "a b")],
                &[("a", 422)],
            ),
            (
                "what crashes while it is quarantined does not count",
                &[(0, "a"), (1, "a"), (2, "a"), (3, "a")],
                &[("a", 61)],
            ),
        ];
        for (what, crashes, want) in cases {
            let want: Vec<_> = want
                .iter()
                .map(|(name, until)| ((*name).to_owned(), *until))
                .collect();
            assert_eq!(judged(crashes), want, "{what}");
        }
    }

    /// The guilty one crashes the host a few seconds after it may run; the innocent one is always at work.
    #[test]
    fn a_host_does_not_crash_for_ever_and_the_innocent_come_back() {
        for (guilty, innocent) in [("a", "b"), ("b", "a")] {
            let (guilty, innocent) = (named(guilty), named(innocent));
            let mut crashes: Vec<Crash> = Vec::new();
            let (mut idle, end) = (0, 7 * 24 * 60);
            for minute in 0..end {
                let (now, sentences) = (minutes(minute), judge(&crashes));
                let runs = |digest: Digest| !sentences.get(&digest).is_some_and(|it| it.holds(now));
                idle += i64::from(!runs(innocent));
                if runs(guilty) {
                    crashes.push(Crash {
                        run: minute.to_string(),
                        at: now,
                        suspects: [guilty, innocent]
                            .into_iter()
                            .filter(|it| runs(*it))
                            .collect(),
                    });
                }
            }
            // Two, one on probation, and then after 1, 2, 4, 8, 16, 32 and 64 hours.
            assert!(crashes.len() <= 10, "{} crashes in a week", crashes.len());
            assert!(idle <= 5, "the innocent one stood still for {idle} minutes");
        }
    }
}
