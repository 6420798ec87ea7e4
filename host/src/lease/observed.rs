//! What is known of a Lease that another holds: whether its holder may be alive.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::LeaderElectionRecord;

/// The one that was first, before it is known who that was.
const FIRST: &str = "another host, which was first";

/// A Lease as it was last seen to change, and when that was.
#[derive(Debug, Default)]
pub struct ObservedLease(Option<ObservedRecord>);

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
        self.0.as_ref().map(|seen| &seen.record)
    }

    /// Whether nobody holds what is seen `now`; of a holder that does not change it for its duration, at
    /// least `shortest`, nothing more will come.
    pub(super) fn is_free(
        &mut self,
        record: &LeaderElectionRecord,
        now: Instant,
        shortest: Duration,
    ) -> bool {
        if record.holder.is_empty() {
            self.0 = None;
            return true;
        }
        match &self.0 {
            Some(seen) if seen.record.is_as(record) => now - seen.since >= seen.lasts,
            _ => {
                self.0 = Some(ObservedRecord {
                    record: record.clone(),
                    since: now,
                    lasts: record.duration.max(shortest),
                });
                false
            }
        }
    }

    /// Somebody else was there first `now`, for at least that long: alive. Answers what to call it.
    pub(super) fn was_beaten(&mut self, now: Instant, lasts: Duration) -> String {
        let record = LeaderElectionRecord {
            holder: FIRST.to_owned(),
            ..LeaderElectionRecord::of(&Value::Null)
        };
        self.0 = Some(ObservedRecord {
            record,
            since: now,
            lasts,
        });
        FIRST.to_owned()
    }

    /// Who else held what is not there `now`, and may not know yet that somebody has deleted it.
    pub(super) fn alive(&self, now: Instant, but: &str) -> Option<String> {
        let ObservedRecord {
            record,
            since,
            lasts,
        } = self.0.as_ref()?;
        let alive = record.holder != but && now - *since < *lasts;
        alive.then(|| record.holder.clone())
    }
}
