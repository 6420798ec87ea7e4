//! Quantities and durations as Kubernetes writes them: `64Mi`, `1.5G`, `500ms`, `1h30m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) u64);

/// A time that is not negative, in Go's notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

const UNITS: [(&str, u64); 11] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("", 1),
];

/// Reads a quantity of bytes: digits, perhaps a decimal point, perhaps a unit.
fn bytes(text: &str) -> Option<u64> {
    let (number, factor) = UNITS.iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?;
        number
            .ends_with(|c: char| c.is_ascii_digit())
            .then_some((number, *factor))
    })?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.is_empty() || part.len() > 9 {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let number = format!("{whole}{part}").parse::<u128>().ok()?;
    u64::try_from(number.checked_mul(u128::from(factor))?.div_ceil(scale)).ok()
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || Error::custom(format!("{text:?} is not a quantity of bytes, such as 64Mi"));
        bytes(&text).map(Self).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let time = text
            .parse::<windlass_kube::api::GoDuration>()
            .ok()
            .filter(|time| !time.is_negative());
        let wrong = || {
            Error::custom(format!(
                "{text:?} is not a duration, such as 500ms or 1h30m"
            ))
        };
        time.map(|time| Self(time.into())).ok_or_else(wrong)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "x-kubernetes-int-or-string": true })
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_does() {
        let cases = [
            ("64Mi", Some(64 << 20)),
            ("1.5Gi", Some(3 << 29)),
            ("128974848", Some(128_974_848)),
            ("129M", Some(129_000_000)),
            ("1k", Some(1000)),
            ("0", Some(0)),
            ("0.1", Some(1)),
            ("64MB", None),
            ("64 Mi", None),
            ("-1Mi", None),
            ("Mi", None),
            ("", None),
            (".5Gi", None),
            ("99999999999999999999P", None),
        ];
        for (text, want) in cases {
            assert_eq!(bytes(text), want, "{text}");
        }
    }
}
