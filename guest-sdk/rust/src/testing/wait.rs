//! Durations as fixtures write them: `10s`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Reads `500ms`, `10s`, `5m` or `1h`.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text)
        .ok_or_else(|| serde::de::Error::custom(format!("{text} is not a duration such as 10s")))
}

fn parse(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text.get(..unit)?.parse().ok()?;
    match text.get(unit..)? {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("10s"), Some(Duration::from_secs(10)));
        assert_eq!(parse("2h"), Some(Duration::from_secs(7200)));
        for text in ["", "s", "10", "10 s", "-1s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
