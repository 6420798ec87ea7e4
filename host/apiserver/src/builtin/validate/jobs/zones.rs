//! Which time zones there are.

use std::sync::LazyLock;

use crate::builtin::validate::spot::{Causes, Spot};
use crate::kinds::data;

static ZONES: LazyLock<String> = LazyLock::new(|| data::unpack(data::ZONES));

/// Judges the name of a zone (`validateTimeZone`).
pub(super) fn zone(zone: &Spot<'_>, causes: &mut Causes) {
    if !zone.is_set() {
        return;
    }
    let text = zone.text();
    if text.is_empty() {
        return zone.invalid("timeZone must be nil or non-empty string", causes);
    }
    let fine = |part: &str| {
        let letters = part.chars();
        let known = |letter: char| letter.is_ascii_alphanumeric() || ".-_+".contains(letter);
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && letters.into_iter().all(known)
    };
    if !text.split('/').all(fine) {
        return zone.invalid(&format!("unknown time zone {text}"), causes);
    }
    if text.eq_ignore_ascii_case("local") {
        let why =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(why, causes);
    }
    if text.contains("..") || text.starts_with('/') {
        zone.invalid("time: invalid location name", causes);
    } else if !matches!(text, "UTC" | "Local") && !ZONES.lines().any(|name| name == text) {
        zone.invalid(&format!("unknown time zone {text}"), causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_those_of_the_database() {
        for (zone, fine) in [
            ("Etc/UTC", true),
            ("UTC", true),
            ("Europe/Zurich", true),
            ("europe/zurich", false),
            ("Europe", false),
            ("Nowhere", false),
            ("Local", false),
            ("../x", false),
            ("", false),
        ] {
            let value = zone.into();
            let mut causes = Causes::new();
            self::zone(&Spot::root(&value), &mut causes);
            assert_eq!(causes.is_empty(), fine, "{zone}");
        }
    }
}
