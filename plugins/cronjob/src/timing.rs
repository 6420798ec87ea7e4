//! When a Job is due.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use windlass_kit::cron::Schedule;

use crate::object::Spec;

/// More missed times than this are a warning.
const MANY: usize = 100;

/// The schedule of a CronJob.
pub(crate) struct Timing {
    schedule: Schedule,
    /// The zone that the schedule is about.
    zone: TimeZone,
    /// The zone of `spec.timeZone`, or else UTC.
    pub(crate) shown: TimeZone,
    /// Whether the schedule itself names a zone, which is not officially supported.
    pub(crate) has_prefix: bool,
}

/// Why there is no schedule: the reason of an Event and a sentence.
pub(crate) type Refused = (&'static str, String);

/// What is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The Job to start now.
    pub(crate) start: Start,
    /// Whether too many times were missed.
    pub(crate) too_many: bool,
    /// When the next one is due.
    pub(crate) next: Option<Timestamp>,
}

/// The Job to start now, by its time of the schedule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Nothing,
    At(Timestamp),
    /// The deadline of the last time has passed.
    TooLate(Timestamp),
}

impl Timing {
    /// Reads the schedule and the time zone.
    pub(crate) fn new(spec: &Spec) -> Result<Self, Refused> {
        let named = spec.time_zone.as_deref();
        let shown = match named {
            None | Some("") => TimeZone::UTC,
            Some(zone) => TimeZone::get(zone).map_err(|error| {
                (
                    "UnknownTimeZone",
                    format!("invalid timeZone: {zone:?}: {error}"),
                )
            })?,
        };
        let text = &*spec.schedule;
        let bad = |why: String| {
            (
                "UnparseableSchedule",
                format!("unparseable schedule: {text:?} : {why}"),
            )
        };
        let prefixed = ["CRON_TZ=", "TZ="]
            .iter()
            .find_map(|name| text.strip_prefix(name));
        let (zone, fields) = match prefixed {
            None => (shown.clone(), text),
            Some(rest) => {
                let (zone, fields) = rest.split_once(' ').unwrap_or((rest, ""));
                let zone = TimeZone::get(zone).map_err(|error| bad(error.to_string()))?;
                // `spec.timeZone` goes before.
                (named.map_or(zone, |_| shown.clone()), fields)
            }
        };
        Ok(Self {
            schedule: Schedule::parse(fields).map_err(|error| bad(error.to_string()))?,
            zone,
            shown,
            has_prefix: prefixed.is_some(),
        })
    }

    /// What is due now, if everything until `since` is done. `deadline`: how many seconds later than its time a Job may start.
    pub(crate) fn due(&self, since: Timestamp, now: Timestamp, deadline: Option<i64>) -> Due {
        let last = self.schedule.last(since, now, &self.zone);
        let earliest = deadline.and_then(|seconds| {
            let before = now.checked_sub(SignedDuration::from_secs(seconds));
            before.ok()
        });
        let start = match (last, earliest) {
            (None, _) => Start::Nothing,
            (Some(time), Some(earliest)) if time < earliest => Start::TooLate(time),
            (Some(time), _) => Start::At(time),
        };
        let from = earliest.map_or(since, |earliest| since.max(earliest));
        Due {
            start,
            too_many: self.schedule.has_more_than(MANY, from, now, &self.zone),
            next: self.schedule.next(last.unwrap_or(since), &self.zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(schedule: &str, zone: Option<&str>) -> Spec {
        let spec = json!({ "schedule": schedule, "timeZone": zone, "jobTemplate": {} });
        serde_json::from_value(spec).unwrap()
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_due_follows_from_the_last_time_and_the_deadline() {
        let nothing = |next| (Start::Nothing, false, next);
        let at = |start, next| (Start::At(time(start)), false, next);
        let cases = [
            // Before the first time, at it, and after it.
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T10:59:59Z",
                None,
                nothing("2026-11-21T11:00:00Z"),
            ),
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T11:00:00Z",
                None,
                at("2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z"),
            ),
            (
                "0 * * * *",
                "2026-11-21T10:30:00Z",
                "2026-11-21T11:30:00Z",
                None,
                at("2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z"),
            ),
            // Of several times that were missed, the last one counts.
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T15:20:00Z",
                None,
                at("2026-11-21T15:00:00Z", "2026-11-21T16:00:00Z"),
            ),
            // Within the deadline, and after it.
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T15:20:00Z",
                Some(1200),
                at("2026-11-21T15:00:00Z", "2026-11-21T16:00:00Z"),
            ),
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T15:20:01Z",
                Some(1200),
                (
                    Start::TooLate(time("2026-11-21T15:00:00Z")),
                    false,
                    "2026-11-21T16:00:00Z",
                ),
            ),
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T15:20:00Z",
                Some(i64::MAX),
                at("2026-11-21T15:00:00Z", "2026-11-21T16:00:00Z"),
            ),
            // The clock has gone back.
            (
                "0 * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T08:30:00Z",
                None,
                nothing("2026-11-21T11:00:00Z"),
            ),
            // A hundred times are not too many, and a deadline forgives more.
            (
                "* * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T11:40:30Z",
                None,
                at("2026-11-21T11:40:00Z", "2026-11-21T11:41:00Z"),
            ),
            (
                "* * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T11:41:30Z",
                None,
                (
                    Start::At(time("2026-11-21T11:41:00Z")),
                    true,
                    "2026-11-21T11:42:00Z",
                ),
            ),
            (
                "* * * * *",
                "2026-11-21T10:00:00Z",
                "2026-11-21T11:41:30Z",
                Some(200),
                at("2026-11-21T11:41:00Z", "2026-11-21T11:42:00Z"),
            ),
            // From the last one on.
            (
                "@every 90m",
                "2026-11-21T10:00:07Z",
                "2026-11-21T13:30:00Z",
                None,
                at("2026-11-21T13:00:07Z", "2026-11-21T14:30:07Z"),
            ),
        ];
        for (schedule, since, now, deadline, (start, too_many, next)) in cases {
            let timing =
                Timing::new(&spec(schedule, None)).unwrap_or_else(|(_, why)| panic!("{why}"));
            let due = timing.due(time(since), time(now), deadline);
            let want = Due {
                start,
                too_many,
                next: Some(time(next)),
            };
            assert_eq!(
                due, want,
                "{schedule} since {since} at {now}, within {deadline:?}"
            );
        }
    }

    #[test]
    fn the_zone_is_that_of_the_spec_or_of_the_schedule() {
        let cases = [
            ("0 3 * * *", None, "2026-01-11T03:00:00Z"),
            ("0 3 * * *", Some("Europe/Berlin"), "2026-01-11T02:00:00Z"),
            ("TZ=Asia/Tokyo 0 3 * * *", None, "2026-01-10T18:00:00Z"),
            ("CRON_TZ=Asia/Tokyo 0 3 * * *", None, "2026-01-10T18:00:00Z"),
            (
                "TZ=Asia/Tokyo 0 3 * * *",
                Some("Europe/Berlin"),
                "2026-01-11T02:00:00Z",
            ),
        ];
        let noon = time("2026-01-10T12:00:00Z");
        for (schedule, zone, want) in cases {
            let timing =
                Timing::new(&spec(schedule, zone)).unwrap_or_else(|(_, why)| panic!("{why}"));
            assert_eq!(
                timing.due(noon, noon, None).next,
                Some(time(want)),
                "{schedule} in {zone:?}"
            );
            assert_eq!(timing.has_prefix, schedule.contains("TZ="));
        }
    }

    #[test]
    fn what_is_not_a_schedule_is_refused() {
        let cases = [
            (
                "tomorrow",
                None,
                "UnparseableSchedule",
                "unparseable schedule: \"tomorrow\" : a schedule has 5 fields",
            ),
            (
                "TZ=Mars 0 3 * * *",
                None,
                "UnparseableSchedule",
                "unparseable schedule: \"TZ=Mars 0 3 * * *\" : ",
            ),
            (
                "TZ=UTC",
                None,
                "UnparseableSchedule",
                "unparseable schedule: \"TZ=UTC\" : a schedule has 5 fields",
            ),
            (
                "0 3 * * *",
                Some("Europe/Atlantis"),
                "UnknownTimeZone",
                "invalid timeZone: \"Europe/Atlantis\": ",
            ),
        ];
        for (schedule, zone, reason, message) in cases {
            let Err(refused) = Timing::new(&spec(schedule, zone)) else {
                panic!("{schedule} in {zone:?}");
            };
            assert_eq!(refused.0, reason);
            assert!(refused.1.starts_with(message), "{}", refused.1);
        }
    }
}
