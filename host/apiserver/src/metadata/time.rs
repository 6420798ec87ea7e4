//! Times as Go reads and writes them: RFC 3339, in UTC, without fractions of seconds or with six digits of
//! them.

use jiff::Timestamp;

use crate::meta;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";
const FRACTION: &str = ".000000";

/// What a layout's part is made of.
#[derive(Clone, Copy)]
enum LayoutPart {
    /// So many digits, with the range and the name that Go complains about.
    Digits(usize, i64, i64, &'static str),
    /// This very text.
    Exact,
}

const PARTS: [(&str, LayoutPart); 11] = [
    ("2006", LayoutPart::Digits(4, 0, 9999, "year")),
    ("-", LayoutPart::Exact),
    ("01", LayoutPart::Digits(2, 1, 12, "month")),
    ("-", LayoutPart::Exact),
    ("02", LayoutPart::Digits(2, 1, 31, "day")),
    ("T", LayoutPart::Exact),
    ("15", LayoutPart::Digits(2, 0, 23, "hour")),
    (":", LayoutPart::Exact),
    ("04", LayoutPart::Digits(2, 0, 59, "minute")),
    (":", LayoutPart::Exact),
    ("05", LayoutPart::Digits(2, 0, 59, "second")),
];

/// The time as the real server would write it.
///
/// # Errors
/// If it is not a time, in Go's words.
pub(crate) fn normal(text: &str) -> Result<String, String> {
    read(text, SECONDS).map(meta::time)
}

/// The same for times that have six digits of a second's fraction.
///
/// # Errors
/// If it is not such a time, in Go's words.
pub(crate) fn normal_micro(text: &str) -> Result<String, String> {
    let time = read(text, MICROS)?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

fn read(text: &str, whole: &str) -> Result<Timestamp, String> {
    let unlike = |rest: &str, part: &str| {
        format!("parsing time \"{text}\" as \"{whole}\": cannot parse \"{rest}\" as \"{part}\"")
    };
    let mut rest = text;
    let mut out_of_range = None;
    for (layout, part) in PARTS {
        rest = match part {
            LayoutPart::Exact => rest.strip_prefix(layout),
            LayoutPart::Digits(count, least, most, name) => {
                let (digits, after) = rest.split_at_checked(count).unwrap_or((rest, ""));
                let is_number = digits.len() == count && digits.bytes().all(|b| b.is_ascii_digit());
                let number = digits.parse().ok().filter(|_| is_number);
                if number.is_some_and(|number: i64| number < least || number > most) {
                    out_of_range.get_or_insert(name);
                }
                number.map(|_| after)
            }
        }
        .ok_or_else(|| unlike(rest, layout))?;
        if let Some(name) = out_of_range {
            return Err(format!("parsing time \"{text}\": {name} out of range"));
        }
    }
    rest = match whole {
        MICROS => six_digits(rest).ok_or_else(|| unlike(rest, FRACTION))?,
        _ => fraction(rest),
    };
    let after = zone(rest).ok_or_else(|| unlike(rest, "Z07:00"))?;
    if !after.is_empty() {
        return Err(format!("parsing time \"{text}\": extra text: \"{after}\""));
    }
    text.parse()
        .map_err(|_| format!("parsing time \"{text}\": day out of range"))
}

/// What comes after a fraction of six digits.
fn six_digits(rest: &str) -> Option<&str> {
    let (digits, after) = rest.split_at_checked(FRACTION.len())?;
    let digits = digits.strip_prefix(['.', ','])?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(after)
}

fn fraction(rest: &str) -> &str {
    match rest.strip_prefix(['.', ',']) {
        Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => {
            after.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => rest,
    }
}

fn zone(rest: &str) -> Option<&str> {
    if let Some(after) = rest.strip_prefix('Z') {
        return Some(after);
    }
    let offset = rest.get(..6)?;
    let shape = offset.bytes().enumerate().all(|(at, byte)| match at {
        0 => byte == b'+' || byte == b'-',
        3 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    rest.get(6..).filter(|_| shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_by_go() {
        for (text, want) in [
            ("2020-01-01T00:00:00.5+02:00", Ok("2019-12-31T22:00:00Z")),
            ("2020-01-01T00:00:00Z", Ok("2020-01-01T00:00:00Z")),
            ("x", Err("unlike \"x\" as \"2006\"")),
            ("", Err("unlike \"\" as \"2006\"")),
            ("2020-01-01", Err("unlike \"\" as \"T\"")),
            (
                "2020-01-01 00:00:00Z",
                Err("unlike \" 00:00:00Z\" as \"T\""),
            ),
            ("2020-01-01T00:00:00", Err("unlike \"\" as \"Z07:00\"")),
            ("2020-01-01T00:00:00Zx", Err("extra text: \"x\"")),
            ("2020-13-01T00:00:00Z", Err("month out of range")),
            ("2020-02-30T00:00:00Z", Err("day out of range")),
            ("2020-01-01T25:00:00Z", Err("hour out of range")),
            ("2020-01-01T00:60:00Z", Err("minute out of range")),
        ] {
            let want = want
                .map(str::to_owned)
                .map_err(|why| match why.strip_prefix("unlike ") {
                    Some(part) => {
                        format!("parsing time \"{text}\" as \"{SECONDS}\": cannot parse {part}")
                    }
                    None => format!("parsing time \"{text}\": {why}"),
                });
            assert_eq!(normal(text), want);
        }
    }
    #[test]
    fn times_with_fractions_have_all_six_digits() {
        let fine = normal_micro("2020-01-01T00:00:00.000001+02:00");
        assert_eq!(fine.as_deref(), Ok("2019-12-31T22:00:00.000001Z"));
        for (text, rest, part) in [
            ("2020-01-01T00:00:00Z", "Z", ".000000"),
            ("2020-01-01T00:00:00.5Z", ".5Z", ".000000"),
            ("2020-01-01T00:00:00.0000001Z", "1Z", "Z07:00"),
        ] {
            let why = format!(
                "parsing time \"{text}\" as \"{MICROS}\": cannot parse \"{rest}\" as \"{part}\""
            );
            assert_eq!(normal_micro(text), Err(why));
        }
    }
}
