//! The durations of `@every`: Go's, such as `1h30m` and `1.5h`.

use jiff::SignedDuration;

use super::BadSchedule;

/// Units, and how many nanoseconds they have.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration. It is cut to whole seconds, and is at least one second.
pub(super) fn parse(text: &str) -> Result<SignedDuration, BadSchedule> {
    let nanos = nanos(text).ok_or_else(|| {
        BadSchedule(format!(
            "@every needs a duration such as 90s or 1h30m, and not {text:?}"
        ))
    })?;
    Ok(SignedDuration::from_secs((nanos / 1_000_000_000).max(1)))
}

/// The duration in nanoseconds, if it is one that Go can hold.
fn nanos(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest {
        "" => return None,
        "0" => return Some(0),
        _ => {}
    }
    let mut sum: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (part, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(number(whole)?.checked_mul(*unit)?)?;
        // More than 18 digits are less than a nanosecond.
        let part = part.get(..18).unwrap_or(part);
        let places = u32::try_from(part.len()).ok()?;
        sum = sum.checked_add(number(part)?.checked_mul(*unit)? / 10_i128.checked_pow(places)?)?;
        rest = after;
    }
    i64::try_from(sum.checked_mul(sign)?).ok()
}

/// The digits at the beginning, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The number; no digits are 0.
fn number(digits: &str) -> Option<i128> {
    match digits {
        "" => Some(0),
        digits => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let cases = [
            ("90s", Some(90)),
            ("1h30m", Some(5400)),
            ("1.5h", Some(5400)),
            (".5m", Some(30)),
            ("1h0.25m30s", Some(3645)),
            ("2m1500ms", Some(121)),
            ("+5s", Some(5)),
            // A second is the shortest.
            ("0", Some(1)),
            ("1ms", Some(1)),
            ("1µs", Some(1)),
            ("-1h", Some(1)),
            // What is less than a second is cut.
            ("1.999s", Some(1)),
            ("2562047h", Some(9_223_369_200)),
            ("2562048h", None),
            ("", None),
            ("-", None),
            ("5", None),
            ("1h30", None),
            ("h", None),
            (".h", None),
            ("1d", None),
            ("1 h", None),
            ("tomorrow", None),
        ];
        for (text, want) in cases {
            let read = parse(text).ok().map(|read| read.as_secs());
            assert_eq!(read, want, "{text:?}");
        }
    }
}
