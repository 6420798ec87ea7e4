//! When something is due that has a schedule of cron.
//!
//! - A schedule has five fields, or is one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` and `@every DURATION`.
//! - Fields are about the clock on the wall in a time zone. A time that the clock leaves out in spring does not come on that
//!   day. A time that the clock shows twice in autumn comes twice.
//! - A schedule with a day of the month and a weekday comes on both, unless one of the fields is `*` or `?`.
//! - `@every` counts from the time before, and knows no clock on the wall.
//!
//! Source: "Schedule syntax" in Kubernetes' documentation of CronJob, and the documentation of Go's package robfig/cron.

mod every;
mod fields;

use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, civil};

use fields::Fields;

/// How many years a schedule is searched for its next time. February 29 comes within them, February 30 never.
const YEARS: i16 = 5;

/// How far back the last time is searched, the nearest first: an hour, a day, a month, a year, and all.
const BACK: [SignedDuration; 5] = [
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(32 * 24),
    SignedDuration::from_hours(366 * 24),
    SignedDuration::from_hours(i64::MAX / 3600),
];

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// At these times of the clock on the wall.
    Wall(Fields),
    /// Again and again after this time.
    Every(SignedDuration),
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchedule(String);

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSchedule {}

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// The text is not a schedule.
    pub fn parse(text: &str) -> Result<Self, BadSchedule> {
        let fields = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => match text.strip_prefix("@every ") {
                Some(every) => return every::parse(every).map(|wait| Self(Kind::Every(wait))),
                None => text,
            },
        };
        Fields::parse(fields).map(|fields| Self(Kind::Wall(fields)))
    }

    /// The first time after this one. None if there is none within the next five years.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.0 {
            Kind::Every(wait) => whole_second(after)?.checked_add(*wait).ok(),
            Kind::Wall(fields) => next_on_wall(fields, after, zone),
        }
    }

    /// The last time after `since` that is not after `until`.
    pub fn last(&self, since: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Kind::Every(wait) = &self.0 {
            let count = count_of(*wait, since, until)?;
            let wait = SignedDuration::from_secs(wait.as_secs().checked_mul(count)?);
            return whole_second(since)?.checked_add(wait).ok();
        }
        BACK.iter().find_map(|back| {
            let from = until
                .checked_sub(*back)
                .unwrap_or(Timestamp::MIN)
                .max(since);
            self.times(from, until, zone).last()
        })
    }

    /// Whether there are more than `count` times after `since` that are not after `until`.
    pub fn has_more_than(
        &self,
        count: usize,
        since: Timestamp,
        until: Timestamp,
        zone: &TimeZone,
    ) -> bool {
        if let Kind::Every(wait) = &self.0 {
            let all = count_of(*wait, since, until).unwrap_or(0);
            return usize::try_from(all).unwrap_or(usize::MAX) > count;
        }
        self.times(since, until, zone).nth(count).is_some()
    }

    /// The times after `since` that are not after `until`.
    fn times(
        &self,
        since: Timestamp,
        until: Timestamp,
        zone: &TimeZone,
    ) -> impl Iterator<Item = Timestamp> {
        let next = move |after: &Timestamp| self.next(*after, zone).filter(|at| *at <= until);
        std::iter::successors(next(&since), next)
    }
}

/// The time without what is less than a second.
fn whole_second(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(time.as_second()).ok()
}

/// How often `wait` has passed; None if not even once.
fn count_of(wait: SignedDuration, since: Timestamp, until: Timestamp) -> Option<i64> {
    let passed = until.as_second().checked_sub(since.as_second())?;
    let count = passed.checked_div(wait.as_secs())?;
    (count > 0).then_some(count)
}

/// The first time after `after` at which the clock on the wall shows what the fields want.
///
/// It goes from minute to minute, and leaves out the rest of an hour, a day or a month that the fields do not want. It never
/// leaves out a change of the clock: after it, it looks again.
fn next_on_wall(fields: &Fields, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let minute = SignedDuration::from_mins(1);
    let mut at = whole_minute(after)?.checked_add(minute).ok()?;
    let last_year = zone.to_datetime(at).year().checked_add(YEARS)?;
    loop {
        let wall = zone.to_datetime(at);
        if wall.year() > last_year {
            return None;
        }
        let Some(later) = fields.not_before(wall)? else {
            return Some(at);
        };
        let later = zone.to_ambiguous_timestamp(later).compatible().ok()?;
        let soon = at.checked_add(minute).ok()?;
        at = match zone.following(at).next() {
            Some(change) if change.timestamp() < later => {
                whole_minute(change.timestamp())?.max(soon)
            }
            _ => later.max(soon),
        };
    }
}

/// The time without what is less than a minute.
fn whole_minute(time: Timestamp) -> Option<Timestamp> {
    let second = time.as_second();
    Timestamp::from_second(second - second.rem_euclid(60)).ok()
}

impl Fields {
    /// The next time on the wall that is worth a look. `Some(None)`: it is this one. None: there is none.
    fn not_before(&self, wall: civil::DateTime) -> Option<Option<civil::DateTime>> {
        let date = wall.date();
        let later = if !self.has_month(date) {
            let next = date.first_of_month().checked_add(1.month()).ok()?;
            next.at(0, 0, 0, 0)
        } else if !self.has_day(date) {
            date.tomorrow().ok()?.at(0, 0, 0, 0)
        } else if !self.has_hour(wall.hour()) {
            let hour = date.at(wall.hour(), 0, 0, 0);
            hour.checked_add(1.hour()).ok()?
        } else if !self.has_minute(wall.minute()) {
            wall.checked_add(1.minute()).ok()?
        } else {
            return Some(None);
        };
        Some(Some(later))
    }
}

#[cfg(test)]
mod tests;
