//! Times as cel-go has them: in UTC, if nobody names a zone.

use chrono::{DateTime, Datelike, FixedOffset, Timelike};
use kube_cel::cel::{ExecutionError, Value as Cel};

use super::CelResult;

type Time = DateTime<FixedOffset>;

/// A part of a time in a zone; nothing if there is no such part.
pub(super) fn part(name: &str, time: &Time, zone: &str) -> Option<CelResult> {
    let part: fn(&Time) -> i64 = match name {
        "getFullYear" => |time| time.year().into(),
        "getMonth" => |time| time.month0().into(),
        "getDate" => |time| time.day().into(),
        "getDayOfMonth" => |time| time.day0().into(),
        "getDayOfYear" => |time| time.ordinal0().into(),
        "getDayOfWeek" => |time| time.weekday().num_days_from_sunday().into(),
        "getHours" => |time| time.hour().into(),
        "getMinutes" => |time| time.minute().into(),
        "getSeconds" => |time| time.second().into(),
        "getMilliseconds" => |time| time.timestamp_subsec_millis().into(),
        _ => return None,
    };
    Some(match offset(zone) {
        Some(offset) => Ok(Cel::Int(part(&time.with_timezone(&offset)))),
        None => Err(ExecutionError::function_error(
            name,
            format!("unknown time zone {zone}"),
        )),
    })
}

/// How far a zone is from UTC: `01:30` or `-01:00`. This server has no table of zones with names.
fn offset(zone: &str) -> Option<FixedOffset> {
    if zone.is_empty() || zone == "UTC" {
        return FixedOffset::east_opt(0);
    }
    let (hours, minutes) = zone.split_once(':')?;
    let seconds = minutes.parse::<i32>().ok()?.checked_mul(60)?;
    let hours = hours.parse::<i32>().ok()?.checked_mul(3600)?;
    let seconds = if zone.starts_with('-') {
        hours.checked_sub(seconds)?
    } else {
        hours.checked_add(seconds)?
    };
    FixedOffset::east_opt(seconds)
}

/// The time after so many seconds.
pub(super) fn at(seconds: i64) -> CelResult {
    let time =
        DateTime::from_timestamp(seconds, 0).filter(|time| (1..=9999).contains(&time.year()));
    let time = time.ok_or_else(|| ExecutionError::function_error("@", "timestamp overflow"));
    time.map(|time| Cel::Timestamp(time.fixed_offset()))
}

/// A time as Go shows it (`time.RFC3339Nano`).
pub(crate) fn format(time: &Time) -> String {
    let mut shown = time.format("%Y-%m-%dT%H:%M:%S").to_string();
    let nanos = format!(".{:09}", time.nanosecond());
    shown.push_str(nanos.trim_end_matches('0').trim_end_matches('.'));
    let zone = match time.offset().local_minus_utc() {
        0 => "Z".to_owned(),
        _ => time.format("%:z").to_string(),
    };
    shown.push_str(&zone);
    shown
}

/// A duration as cel-go shows it: `3600s`.
#[expect(clippy::cast_precision_loss, reason = "as in Go")]
pub(super) fn seconds(long: &chrono::Duration) -> String {
    let nanos = f64::from(long.subsec_nanos()) / 1e9;
    format!("{}s", long.num_seconds() as f64 + nanos)
}
