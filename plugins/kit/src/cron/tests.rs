use super::*;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text).unwrap()
}

fn next(text: &str, zone: &str, after: &str) -> Option<Timestamp> {
    let zone = TimeZone::get(zone).unwrap();
    schedule(text).next(time(after), &zone)
}

#[test]
fn the_next_time_is_the_first_one_that_all_fields_want() {
    let cases = [
        // Each minute, also from within one and from the very time.
        ("* * * * *", "2026-07-09T14:45:00Z", "2026-07-09T14:46:00Z"),
        (
            "* * * * ?",
            "2026-07-09T14:59:59.999Z",
            "2026-07-09T15:00:00Z",
        ),
        ("* * * * *", "2026-12-31T23:59:00Z", "2027-01-01T00:00:00Z"),
        // Steps and lists.
        (
            "*/15 * * * *",
            "2026-07-09T14:45:00Z",
            "2026-07-09T15:00:00Z",
        ),
        (
            "5/20 * * * *",
            "2026-07-09T14:26:00Z",
            "2026-07-09T14:45:00Z",
        ),
        (
            "20-35/15 * * * *",
            "2026-07-09T14:21:00Z",
            "2026-07-09T14:35:00Z",
        ),
        (
            "1,2,40 3 * * *",
            "2026-07-09T03:02:00Z",
            "2026-07-09T03:40:00Z",
        ),
        // Ranges and names, whatever their case.
        (
            "0 9 * * MON-fri",
            "2026-11-27T20:00:00Z",
            "2026-11-30T09:00:00Z",
        ),
        (
            "0 0 1 Feb,aug *",
            "2026-02-01T00:00:00Z",
            "2026-08-01T00:00:00Z",
        ),
        // A day of the month or a weekday: both count.
        ("0 0 13 * 5", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"),
        ("0 0 13 * 5", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"),
        // Unless one of them is any: then the other one counts.
        ("0 0 * * 5", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"),
        ("0 0 13 * ?", "2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"),
        // With a step, it is not any.
        (
            "0 0 */2 * 0",
            "2026-11-21T00:00:00Z",
            "2026-11-22T00:00:00Z",
        ),
        // The end of months, and leap years.
        ("0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"),
        ("0 0 29 2 *", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        // Names of schedules.
        ("@hourly", "2026-07-09T14:45:00Z", "2026-07-09T15:00:00Z"),
        ("@daily", "2026-07-09T14:45:00Z", "2026-07-10T00:00:00Z"),
        ("@midnight", "2026-07-09T14:45:00Z", "2026-07-10T00:00:00Z"),
        ("@weekly", "2026-07-09T14:45:00Z", "2026-07-12T00:00:00Z"),
        ("@monthly", "2026-07-09T14:45:00Z", "2026-08-01T00:00:00Z"),
        ("@yearly", "2026-07-09T14:45:00Z", "2027-01-01T00:00:00Z"),
        ("@annually", "2026-07-09T14:45:00Z", "2027-01-01T00:00:00Z"),
        // From any second on, but not from its parts.
        (
            "@every 5m",
            "2026-07-09T14:45:07.250Z",
            "2026-07-09T14:50:07Z",
        ),
    ];
    for (text, after, want) in cases {
        assert_eq!(
            next(text, "UTC", after),
            Some(time(want)),
            "{text} after {after}"
        );
    }
}

#[test]
fn fields_are_about_the_clock_on_the_wall() {
    let cases = [
        // Winter and summer.
        (
            "0 3 * * *",
            "Europe/Berlin",
            "2026-01-10T12:00:00Z",
            "2026-01-11T02:00:00Z",
        ),
        (
            "0 3 * * *",
            "Europe/Berlin",
            "2026-07-10T12:00:00Z",
            "2026-07-11T01:00:00Z",
        ),
        // 02:30 does not exist on March 29: the next one is on March 30.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            "2026-03-30T00:30:00Z",
        ),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
        ),
        // 02:30 exists twice on October 25.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            "2026-10-25T00:30:00Z",
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z",
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-25T01:30:00Z",
            "2026-10-26T01:30:00Z",
        ),
        // In New York, the hour after one comes twice on November 4, 2012.
        (
            "30 1 4 Nov ?",
            "America/New_York",
            "2012-11-04T05:45:00Z",
            "2012-11-04T06:30:00Z",
        ),
        (
            "0 0 4 Nov ?",
            "America/New_York",
            "2012-11-01T00:00:00Z",
            "2012-11-04T04:00:00Z",
        ),
        // Midnight does not exist on October 18, 2015, in Sao Paulo: the day begins at one.
        (
            "0 9 * * *",
            "America/Sao_Paulo",
            "2015-10-17T12:00:00Z",
            "2015-10-18T11:00:00Z",
        ),
        (
            "0 0 * * *",
            "America/Sao_Paulo",
            "2015-10-17T12:00:00Z",
            "2015-10-19T02:00:00Z",
        ),
        // Half an hour: Lord Howe's clock goes from 02:00 to 02:30, and from 02:00 back to 01:30.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T00:00:00Z",
            "2026-10-04T15:15:00Z",
        ),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T14:45:00Z",
            "2026-04-04T15:15:00Z",
        ),
        // Zones that are not whole hours away.
        (
            "0 0 * * 0",
            "Asia/Kolkata",
            "2026-11-25T00:00:00Z",
            "2026-11-28T18:30:00Z",
        ),
        // Samoa had no December 30, 2011.
        (
            "0 12 30 12 *",
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            "2012-12-29T22:00:00Z",
        ),
    ];
    for (text, zone, after, want) in cases {
        let at = format!("{text} in {zone} after {after}");
        assert_eq!(next(text, zone, after), Some(time(want)), "{at}");
    }
}

#[test]
fn february_30_never_comes() {
    for text in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *"] {
        assert_eq!(next(text, "Europe/Berlin", "2026-11-25T00:00:00Z"), None);
        let never = schedule(text);
        let (since, until) = (time("2020-01-01T00:00:00Z"), time("2026-01-01T00:00:00Z"));
        assert_eq!(never.last(since, until, &TimeZone::UTC), None);
    }
}

#[test]
fn the_last_time_is_found_however_long_ago_it_was() {
    let cases = [
        (
            "* * * * *",
            "2026-07-09T14:45:00Z",
            Some("2026-07-09T14:45:00Z"),
        ),
        (
            "0 * * * *",
            "2026-07-09T14:45:30Z",
            Some("2026-07-09T14:00:00Z"),
        ),
        (
            "0 3 * * *",
            "2026-07-09T02:59:59.999Z",
            Some("2026-07-08T03:00:00Z"),
        ),
        (
            "0 0 1 * *",
            "2026-07-31T00:00:00Z",
            Some("2026-07-01T00:00:00Z"),
        ),
        (
            "@yearly",
            "2026-12-31T23:59:00Z",
            Some("2026-01-01T00:00:00Z"),
        ),
        (
            "0 0 29 2 *",
            "2027-12-31T00:00:00Z",
            Some("2024-02-29T00:00:00Z"),
        ),
        // The first time is after 2020 began, and not then.
        ("@yearly", "2020-12-31T00:00:00Z", None),
        ("@every 7h", "2020-01-01T06:59:59Z", None),
        (
            "@every 7h",
            "2020-01-02T00:00:00Z",
            Some("2020-01-01T21:00:00Z"),
        ),
    ];
    let since = time("2020-01-01T00:00:00Z");
    for (text, until, want) in cases {
        let last = schedule(text).last(since, time(until), &TimeZone::UTC);
        assert_eq!(last, want.map(time), "{text} until {until}");
    }
}

#[test]
fn times_are_counted() {
    let since = time("2026-07-09T14:00:00Z");
    let cases = [
        ("* * * * *", "2026-07-09T14:00:59Z", 0, false),
        ("* * * * *", "2026-07-09T14:01:00Z", 0, true),
        ("* * * * *", "2026-07-09T15:40:00Z", 100, false),
        ("* * * * *", "2026-07-09T15:41:00Z", 100, true),
        ("@daily", "2027-07-09T15:41:00Z", 100, true),
        ("@every 1m", "2026-07-09T15:40:00Z", 100, false),
        ("@every 1m", "2026-07-09T15:41:00Z", 100, true),
        ("@every 1m", "2020-01-01T00:00:00Z", 0, false),
    ];
    for (text, until, count, want) in cases {
        let more = schedule(text).has_more_than(count, since, time(until), &TimeZone::UTC);
        assert_eq!(more, want, "{text} until {until}");
    }
}

/// Each minute of half a year with both changes of the clock, one by one.
#[test]
fn nothing_is_left_out() {
    let zone = TimeZone::get("America/New_York").unwrap();
    for text in [
        "*/7 1-3 * * *",
        "30 2 8,1 3,11 0",
        "0 0 * * *",
        "59 23 31 * *",
    ] {
        let read = schedule(text);
        let Kind::Wall(fields) = &read.0 else {
            panic!("{text}");
        };
        let (mut at, end) = (time("2026-10-01T00:00:00Z"), time("2027-04-01T00:00:00Z"));
        let mut found = read.times(at, end, &zone);
        while at < end {
            at = at.checked_add(SignedDuration::from_mins(1)).unwrap();
            if fields.not_before(zone.to_datetime(at)) == Some(None) {
                assert_eq!(found.next(), Some(at), "{text}");
            }
        }
        assert_eq!(found.next(), None, "{text}");
    }
}

#[test]
fn what_is_not_a_schedule_is_refused() {
    let cases = [
        ("", "a schedule has 5 fields, and \"\" has 0"),
        (
            "tomorrow",
            "a schedule has 5 fields, and \"tomorrow\" has 1",
        ),
        ("* * * *", "a schedule has 5 fields, and \"* * * *\" has 4"),
        (
            "* * * * * *",
            "a schedule has 5 fields, and \"* * * * * *\" has 6",
        ),
        (
            "60 * * * *",
            "minute \"60\": \"60\" is not a number from 0 to 59",
        ),
        (
            "* 24 * * *",
            "hour \"24\": \"24\" is not a number from 0 to 23",
        ),
        (
            "* * 0 * *",
            "day of month \"0\": \"0\" is not a number from 1 to 31",
        ),
        (
            "* * * 13 *",
            "month \"13\": \"13\" is not a number from 1 to 12",
        ),
        (
            "* * * * 7",
            "day of week \"7\": \"7\" is not a number from 0 to 6",
        ),
        (
            "* * * * sunday",
            "day of week \"sunday\": \"sunday\" is not a number from 0 to 6",
        ),
        ("9-5 * * * *", "minute \"9-5\": 9 is after 5"),
        (
            "1-2-3 * * * *",
            "minute \"1-2-3\": \"2-3\" is not a number from 0 to 59",
        ),
        (
            "+5 * * * *",
            "minute \"+5\": \"+5\" is not a number from 0 to 59",
        ),
        (
            "*/0 * * * *",
            "minute \"*/0\": the step is not a number from 1 on",
        ),
        (
            "*/-1 * * * *",
            "minute \"*/-1\": the step is not a number from 1 on",
        ),
        (", * * * *", "minute \",\" is empty"),
        ("@noon", "a schedule has 5 fields, and \"@noon\" has 1"),
        (
            "@every day",
            "@every needs a duration such as 90s or 1h30m, and not \"day\"",
        ),
    ];
    for (text, want) in cases {
        let refused = Schedule::parse(text).unwrap_err();
        assert_eq!(refused.to_string(), want, "{text:?}");
    }
}
