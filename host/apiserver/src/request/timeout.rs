//! The query's `timeout`: how long the server may take. Nothing here takes long, so that it is only judged
//! (apiserver `pkg/endpoints/filters/request_deadline.go`).

use super::query::Query;
use crate::status::Refusal;

/// The units of Go's durations.
const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];

/// Judges the timeout.
///
/// # Errors
/// 400 for what is not a duration.
pub fn check(query: &Query) -> Result<(), Refusal> {
    let said = query.text("timeout").unwrap_or_default();
    if said.is_empty() {
        return Ok(());
    }
    duration(said).map_err(|why| {
        Refusal::bad_request(format!(
            "invalid timeout specified in the request URL - time: {why}"
        ))
    })
}

/// Whether a text is a duration, in the words of Go's `time.ParseDuration`.
fn duration(said: &str) -> Result<(), String> {
    let invalid = || format!("invalid duration {said:?}");
    let mut rest = said.strip_prefix(['+', '-']).unwrap_or(said);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        // More does not fit into Go's nanoseconds, whatever the unit.
        if !whole.is_empty() && whole.parse::<i64>().is_err() {
            return Err(invalid());
        }
        let end = after.find(|letter: char| letter == '.' || letter.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(format!("missing unit in duration {said:?}"));
        }
        if !UNITS.contains(&unit) {
            return Err(format!("unknown unit {unit:?} in duration {said:?}"));
        }
        rest = after;
    }
    Ok(())
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_duration_as_go_writes_it() {
        for good in [
            "", "0", "5s", "1h30m", "-1.5s", "+.5s", "1.s", "100ms", "0s",
        ] {
            let query = Query::parse(&format!("timeout={}", good.replace('+', "%2B")));
            assert!(check(&query).is_ok(), "{good}");
        }
        let cases = [
            ("invalid", "invalid duration \"invalid\""),
            ("5", "missing unit in duration \"5\""),
            ("5x", "unknown unit \"x\" in duration \"5x\""),
            ("5s5", "missing unit in duration \"5s5\""),
            (".s", "invalid duration \".s\""),
            ("-", "invalid duration \"-\""),
            (
                "99999999999999999999s",
                "invalid duration \"99999999999999999999s\"",
            ),
        ];
        for (said, want) in cases {
            let refused = check(&Query::parse(&format!("timeout={said}"))).unwrap_err();
            let want = format!("invalid timeout specified in the request URL - time: {want}");
            assert_eq!((refused.code.as_u16(), refused.message), (400, want));
        }
    }
}
