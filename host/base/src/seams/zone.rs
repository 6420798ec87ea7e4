//! The time zone of this machine, for times that people read.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The machine's own zone, and the zones by their names.
const LOCAL: &str = "/etc/localtime";
const ZONES: &str = "/usr/share/zoneinfo";

/// The zone that `named` means, as the variable `TZ` does: a name, a file or a rule. Without it, or if it cannot be read,
/// the machine's own; where there is none, UTC.
pub fn time_zone(named: Option<&str>) -> TimeZone {
    let named = named.map(|named| named.strip_prefix(':').unwrap_or(named));
    let named = named.filter(|named| !named.is_empty());
    let zone = named.and_then(|named| {
        // An absolute path takes the place of the folder.
        let file = read(named, &Path::new(ZONES).join(named));
        file.or_else(|| TimeZone::posix(named).ok())
    });
    let zone = zone.or_else(|| read("local", Path::new(LOCAL)));
    zone.unwrap_or(TimeZone::UTC)
}

fn read(name: &str, file: &Path) -> Option<TimeZone> {
    TimeZone::tzif(name, &fs::read(file).ok()?).ok()
}

/// The time of day in `zone`, as `09:30:00`.
pub fn time_of_day(wall: Timestamp, zone: &TimeZone) -> String {
    wall.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_clocks_in_its_zone_show_it() {
        let cases = [
            (
                "2026-11-21T09:30:05Z",
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "10:30:05",
            ),
            (
                "2026-07-21T22:30:05.9Z",
                "CET-1CEST,M3.5.0,M10.5.0/3",
                "00:30:05",
            ),
            ("2026-11-21T09:30:05Z", "EST5", "04:30:05"),
            ("2026-11-21T09:30:05Z", ":EST5", "04:30:05"),
            ("2026-11-21T09:30:05Z", "UTC0", "09:30:05"),
        ];
        for (wall, zone, want) in cases {
            let wall: Timestamp = wall.parse().unwrap();
            assert_eq!(time_of_day(wall, &time_zone(Some(zone))), want, "{zone}");
        }
    }
}
