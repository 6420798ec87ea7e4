//! What is known of Leases that others hold: whether a holder may be alive, by local time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::record::LeaderElectionRecord;

/// The one that was first, before it is known who that was.
const FIRST: &str = "another host, which was first";

/// How long a session may stand still until it is deleted, at least.
const STALE: Duration = Duration::from_secs(3600);

/// A plugin's Lease as it was last seen, and since when.
#[derive(Debug, Default)]
pub struct ObservedLease {
    seen: Option<ObservedRecord>,
    /// Since when it is not there.
    absent: Option<Instant>,
}

#[derive(Debug)]
struct ObservedRecord {
    record: LeaderElectionRecord,
    since: Instant,
    /// How long it lasts from then on.
    lasts: Duration,
}

impl ObservedLease {
    /// What was seen last.
    pub(super) fn record(&self) -> Option<&LeaderElectionRecord> {
        self.seen.as_ref().map(|seen| &seen.record)
    }

    /// Whether nobody holds what is seen `now`, and is held without a session; of a holder that does not change it for
    /// its duration, at least `shortest`, nothing more will come.
    pub(super) fn is_free(
        &mut self,
        record: &LeaderElectionRecord,
        now: Instant,
        shortest: Duration,
    ) -> bool {
        self.absent = None;
        if record.holder.is_empty() {
            self.seen = None;
            return true;
        }
        match &self.seen {
            Some(seen) if seen.record.is_as(record) => now - seen.since >= seen.lasts,
            _ => {
                self.seen = Some(ObservedRecord {
                    record: record.clone(),
                    since: now,
                    lasts: record.duration.max(shortest),
                });
                false
            }
        }
    }

    /// It is held `now`, by a session that `lasts` so long.
    pub(super) fn is_held(&mut self, record: &LeaderElectionRecord, now: Instant, lasts: Duration) {
        self.absent = None;
        self.seen = Some(ObservedRecord {
            record: record.clone(),
            since: now,
            lasts,
        });
    }

    /// Somebody else was there first `now`, for at least that long: alive. Answers what to call it.
    pub(super) fn was_beaten(&mut self, now: Instant, lasts: Duration) -> String {
        let record = LeaderElectionRecord {
            holder: FIRST.to_owned(),
            ..LeaderElectionRecord::of(&Value::Null)
        };
        self.is_held(&record, now, lasts);
        FIRST.to_owned()
    }

    /// Who else held what is not there `now`, and may not know yet that somebody has deleted it.
    pub(super) fn alive(&mut self, now: Instant, but: &str) -> Option<String> {
        let seen = self.seen.as_ref()?;
        let since = *self.absent.get_or_insert(now);
        let alive = seen.record.holder != but && now - since < seen.lasts;
        alive.then(|| seen.record.holder.clone())
    }
}

/// The sessions of hosts, as they were last seen.
#[derive(Debug, Default)]
pub(super) struct ObservedSessions(BTreeMap<String, ObservedSession>);

/// A session as it was last seen.
#[derive(Debug)]
struct ObservedSession {
    /// Nothing if it is not there.
    record: Option<LeaderElectionRecord>,
    /// When it was first seen so.
    since: Instant,
    /// How long it lasts from then on.
    lasts: Duration,
    /// When it was last looked at.
    looked: Instant,
    /// Whether it was seen to move.
    moved: bool,
}

/// Whether the host of a session may be alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may.
    Alive,
    /// Nothing more will come of it, and it can be renewed no more.
    Ended,
    /// It has not been renewed in time, but could be: it has to be ended.
    Expired(Box<LeaderElectionRecord>),
    /// It was not there for as long as it lasts.
    Absent,
}

impl ObservedSessions {
    /// All sessions that there are `now`, which last `shortest` at least.
    pub(super) fn sees_all(
        &mut self,
        sessions: &BTreeMap<String, LeaderElectionRecord>,
        now: Instant,
        shortest: Duration,
    ) {
        let known: Vec<String> = self.0.keys().cloned().collect();
        let gone = known.iter().filter(|name| !sessions.contains_key(*name));
        for name in gone {
            self.sees(name, None, now, shortest);
        }
        for (name, record) in sessions {
            self.sees(name, Some(record), now, shortest);
        }
        self.0
            .retain(|_, seen| seen.record.is_some() || now - seen.since < seen.stale());
    }

    /// A session as it is `now`.
    pub(super) fn sees(
        &mut self,
        name: &str,
        record: Option<&LeaderElectionRecord>,
        now: Instant,
        shortest: Duration,
    ) {
        let lasts = |record: &LeaderElectionRecord| record.duration.max(shortest);
        let Some(seen) = self.0.get_mut(name) else {
            let seen = ObservedSession {
                record: record.cloned(),
                since: now,
                lasts: record.map_or(shortest, lasts),
                looked: now,
                moved: false,
            };
            self.0.insert(name.to_owned(), seen);
            return;
        };
        let moves = match (&seen.record, record) {
            (Some(before), Some(record)) => record.has_moved(before),
            // An ended one has not been renewed before it went.
            (Some(before), None) => !before.holder.is_empty(),
            (None, Some(_)) => true,
            (None, None) => false,
        };
        if moves {
            seen.since = now;
            seen.moved = record.is_some();
        }
        if let Some(record) = record {
            seen.lasts = lasts(record);
        }
        seen.record = record.cloned();
        seen.looked = now;
    }

    /// Whether the host of a session may be alive `now`.
    pub(super) fn verdict(&self, name: &str, now: Instant) -> Verdict {
        let Some(seen) = self.0.get(name) else {
            return Verdict::Alive;
        };
        match &seen.record {
            _ if now - seen.since < seen.lasts => Verdict::Alive,
            None => Verdict::Absent,
            Some(record) if record.holder.is_empty() => Verdict::Ended,
            Some(record) => Verdict::Expired(Box::new(record.clone())),
        }
    }

    /// Whether it is there and has a holder, who may be alive `now`.
    pub(super) fn is_alive(&self, name: &str, now: Instant) -> bool {
        let seen = self.0.get(name).and_then(|seen| seen.record.as_ref());
        let has_holder = seen.is_some_and(|record| !record.holder.is_empty());
        has_holder && self.verdict(name, now) == Verdict::Alive
    }

    /// Whether it was looked at within `window` before `now`.
    pub(super) fn is_fresh(&self, name: &str, now: Instant, window: Duration) -> bool {
        let seen = self.0.get(name);
        seen.is_some_and(|seen| now - seen.looked <= window)
    }

    /// Whether it was seen to move.
    pub(super) fn has_moved(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|seen| seen.moved)
    }

    /// How long it lasts, if that is known.
    pub(super) fn lasts(&self, name: &str) -> Option<Duration> {
        self.0.get(name).map(|seen| seen.lasts)
    }

    /// One that stands still for so long that nobody can need it.
    pub(super) fn stale(&self, now: Instant) -> Option<&LeaderElectionRecord> {
        let mut all = self.0.values();
        all.find_map(|seen| {
            seen.record
                .as_ref()
                .filter(|_| now - seen.since >= seen.stale())
        })
    }
}

impl ObservedSession {
    fn stale(&self) -> Duration {
        STALE.max(2 * self.lasts)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const LASTS: Duration = Duration::from_secs(15);

    fn session(holder: &str, renewed: &str) -> Option<LeaderElectionRecord> {
        Some(LeaderElectionRecord {
            name: "s".to_owned(),
            holder: holder.to_owned(),
            renewed: renewed.to_owned(),
            ..LeaderElectionRecord::of(&Value::Null)
        })
    }

    #[test]
    fn a_session_is_over_when_it_has_not_moved_for_as_long_as_it_lasts() {
        let (live, ended) = (session("a", "1"), session("", "1"));
        let expired = || Verdict::Expired(Box::new(session("a", "1").unwrap()));
        // What is seen at which second, and the verdict 15 seconds after the first look.
        let rows = [
            (vec![(0, live.clone())], expired()),
            (
                vec![(0, live.clone()), (2, session("a", "2"))],
                Verdict::Alive,
            ),
            (vec![(0, live.clone()), (14, ended.clone())], Verdict::Ended),
            (vec![(0, live.clone()), (14, None)], Verdict::Alive),
            (vec![(0, None)], Verdict::Absent),
            (vec![(0, None), (2, live.clone())], Verdict::Alive),
            (
                vec![(0, live.clone()), (2, ended.clone()), (14, None)],
                Verdict::Absent,
            ),
            (vec![(0, live), (2, session("", "2"))], Verdict::Alive),
            (vec![(0, ended)], Verdict::Ended),
        ];
        for (looks, want) in rows {
            let mut sessions = ObservedSessions::default();
            let start = Instant::now();
            for (at, record) in &looks {
                sessions.sees("s", record.as_ref(), start + *at * SECOND, LASTS);
            }
            assert_eq!(sessions.verdict("s", start + LASTS), want, "{looks:?}");
            let early = sessions.verdict("s", start + LASTS - SECOND / 10);
            assert_eq!(early, Verdict::Alive, "{looks:?}");
        }
    }

    #[test]
    fn a_session_that_stands_still_for_an_hour_is_stale() {
        let mut sessions = ObservedSessions::default();
        let start = Instant::now();
        let all = [("s".to_owned(), session("", "1").unwrap())].into();
        sessions.sees_all(&all, start, LASTS);
        assert_eq!(sessions.stale(start + STALE - SECOND), None);
        assert!(sessions.stale(start + STALE).is_some());
        sessions.sees_all(&BTreeMap::new(), start + STALE, LASTS);
        assert_eq!(sessions.stale(start + STALE), None);
        assert!(sessions.0.is_empty(), "nothing of it is kept");
    }
}
