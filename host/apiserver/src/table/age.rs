//! Times as people read them: `5m30s`.

use jiff::Timestamp;
use serde_json::Value;

/// What stands for the age of no time.
pub(super) const UNKNOWN: &str = "<unknown>";
/// The beginning of the year 1, which is not a time to Go.
const ZERO: i64 = -62_135_596_800;

/// How long it is from `then` to `now`, in words as Kubernetes has them (`duration.HumanDuration`).
pub fn human(then: Timestamp, now: Timestamp) -> String {
    lasting(now.duration_since(then).as_secs())
}

/// So many seconds in those words.
pub(super) fn lasting(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let with = |whole: i64, unit: &str, rest: i64, rest_unit: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{rest_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => with(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => with(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => with(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => with(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

/// The age of a time in an object: `<unknown>` if there is none.
pub(super) fn since(time: Option<&Value>, now: Timestamp) -> String {
    let text = time.and_then(Value::as_str).unwrap_or_default();
    let then = text.parse().ok();
    then.map_or_else(
        || UNKNOWN.to_owned(),
        |then| human_duration_since(then, now),
    )
}

/// The age of a time, unless it is Go's zero time.
pub(super) fn human_duration_since(then: Timestamp, now: Timestamp) -> String {
    match then.as_second() {
        ZERO => UNKNOWN.to_owned(),
        _ => human(then, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubernetes_has_them() {
        for (seconds, want) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            let now = Timestamp::from_second(1_000_000_000).unwrap();
            let then = Timestamp::from_second(1_000_000_000 - seconds).unwrap();
            assert_eq!(human(then, now), want, "{seconds}");
        }
        assert_eq!(since(None, Timestamp::UNIX_EPOCH), "<unknown>");
    }
}
