//! When Jobs are due: a cron expression in a time zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A schedule that has a next time.
pub(crate) struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

/// Why there is no schedule, as a reason of a condition and a sentence.
pub(crate) type Refused = (&'static str, String);

impl Schedule {
    /// Reads five fields of cron, and the name of a time zone.
    pub(crate) fn new(cron: &str, zone: &str) -> Result<Self, Refused> {
        // Jobs are named by the minute.
        let parser = CronParser::builder().seconds(Seconds::Disallowed);
        let parsed = parser.year(Year::Disallowed).build().parse(cron);
        let bad = |error| ("BadSchedule", format!("spec.schedule {cron:?}: {error}"));
        Ok(Self {
            cron: parsed.map_err(bad)?,
            zone: TimeZone::get(zone)
                .map_err(|error| ("BadTimeZone", format!("spec.timeZone: {error}")))?,
        })
    }

    /// The last time that is not after `now`. None if there never was one.
    pub(crate) fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let now = now.to_zoned(self.zone.clone());
        let last = self.cron.find_previous_occurrence(&now, true).ok()?;
        Some(last.timestamp())
    }

    /// The first time after `now`. None if there never is one, such as for February 30.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let now = now.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&now, false).ok()?;
        Some(next.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let cases = [
            // Every day at three, in winter and in summer.
            (
                "0 3 * * *",
                "Europe/Berlin",
                "2026-01-10T12:00:00Z",
                "2026-01-10T02:00:00Z",
                "2026-01-11T02:00:00Z",
            ),
            (
                "0 3 * * *",
                "Europe/Berlin",
                "2026-07-10T12:00:00Z",
                "2026-07-10T01:00:00Z",
                "2026-07-11T01:00:00Z",
            ),
            // At the very time, and a moment before it.
            (
                "0 3 * * *",
                "UTC",
                "2026-01-10T03:00:00Z",
                "2026-01-10T03:00:00Z",
                "2026-01-11T03:00:00Z",
            ),
            (
                "0 3 * * *",
                "UTC",
                "2026-01-10T02:59:59.999Z",
                "2026-01-09T03:00:00Z",
                "2026-01-10T03:00:00Z",
            ),
            // 02:30 does not exist on March 29, and exists twice on October 25.
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-03-29T00:00:00Z",
                "2026-03-28T01:30:00Z",
                "2026-03-29T01:00:00Z",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-25T00:45:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z",
            ),
            // Names, and a shift of half an hour.
            (
                "@weekly",
                "Asia/Kolkata",
                "2026-11-25T00:00:00Z",
                "2026-11-21T18:30:00Z",
                "2026-11-28T18:30:00Z",
            ),
            (
                "0 9 * * MON-FRI",
                "America/New_York",
                "2026-11-27T20:00:00Z",
                "2026-11-27T14:00:00Z",
                "2026-11-30T14:00:00Z",
            ),
        ];
        for (cron, zone, now, last, next) in cases {
            let schedule = Schedule::new(cron, zone).unwrap();
            let at = format!("{cron} in {zone} at {now}");
            assert_eq!(schedule.last(time(now)), Some(time(last)), "last of {at}");
            assert_eq!(schedule.next(time(now)), Some(time(next)), "next of {at}");
        }
    }

    #[test]
    fn what_is_not_a_schedule_is_refused() {
        let cases = [
            ("", "UTC", "BadSchedule"),
            ("tomorrow", "UTC", "BadSchedule"),
            ("61 * * * *", "UTC", "BadSchedule"),
            ("* * * * * *", "UTC", "BadSchedule"),
            ("0 3 * * *", "Europe/Atlantis", "BadTimeZone"),
        ];
        for (cron, zone, want) in cases {
            let refused = Schedule::new(cron, zone).err().map(|(reason, _)| reason);
            assert_eq!(refused, Some(want), "{cron} in {zone}");
        }
    }

    #[test]
    fn february_30_never_comes() {
        let never = Schedule::new("0 0 30 2 *", "UTC").unwrap();
        assert_eq!(never.next(time("2026-11-25T00:00:00Z")), None);
        assert_eq!(never.last(time("2026-11-25T00:00:00Z")), None);
    }
}
