//! Schedules of cron jobs, as robfig/cron v3 reads them, with its words for what is wrong.

/// A field of a schedule: its least and its greatest number, and names for numbers from `first_name` on.
struct FieldBounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const NONE: &[&str] = &[];
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Minute, hour, day of the month, month, day of the week.
const FIELDS: [FieldBounds; 5] = [
    bounds(0, 59, NONE),
    bounds(0, 23, NONE),
    bounds(1, 31, NONE),
    bounds(1, 12, MONTHS),
    bounds(0, 6, DAYS),
];
const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

const fn bounds(least: u64, most: u64, names: &'static [&'static str]) -> FieldBounds {
    FieldBounds { least, most, names }
}

/// Whether a schedule can be read.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let schedule = match schedule.strip_prefix("CRON_TZ=") {
        Some(rest) => without_zone(rest),
        None => match schedule.strip_prefix("TZ=") {
            Some(rest) => without_zone(rest),
            None => schedule,
        },
    };
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

/// Zones are judged by a rule of their own.
fn without_zone(rest: &str) -> &str {
    rest.split_once(' ').map_or("", |(_, rest)| rest.trim())
}

fn descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(every) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    check_duration(every).map_err(|why| format!("failed to parse duration {every}: {why}"))
}

/// Whether Go reads a duration such as `1h30m`.
fn check_duration(text: &str) -> Result<(), String> {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    let invalid = || format!("time: invalid duration {text:?}");
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let after = rest.trim_start_matches(is_number);
        let number = rest.strip_suffix(after).unwrap_or_default();
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        if digits == 0 || number.len() > digits + 1 {
            return Err(invalid());
        }
        rest = after.trim_start_matches(|letter| !is_number(letter));
        match after.strip_suffix(rest).unwrap_or_default() {
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => {}
            unit => {
                return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
            }
        }
    }
    Ok(())
}

fn check_range(range: &str, bounds: &FieldBounds) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let (numbers, step) = match parts.as_slice() {
        [numbers] => (*numbers, None),
        [numbers, step] => (*numbers, Some(*step)),
        _ => {
            let ends: Vec<&str> = parts
                .first()
                .map(|first| first.split('-').collect())
                .unwrap_or_default();
            ends_of(&ends, range, bounds)?;
            return Err(format!("too many slashes: {range}"));
        }
    };
    let ends: Vec<&str> = numbers.split('-').collect();
    let (first, mut last) = ends_of(&ends, range, bounds)?;
    let step = step.map(number).transpose()?;
    if step.is_some() && ends.len() == 1 {
        last = bounds.most;
    }
    let (least, most) = (bounds.least, bounds.most);
    if first < least {
        return Err(format!(
            "beginning of range ({first}) below minimum ({least}): {range}"
        ));
    }
    if last > most {
        return Err(format!(
            "end of range ({last}) above maximum ({most}): {range}"
        ));
    }
    if first > last {
        return Err(format!(
            "beginning of range ({first}) beyond end of range ({last}): {range}"
        ));
    }
    if step == Some(0) {
        return Err(format!(
            "step of range should be a positive number: {range}"
        ));
    }
    Ok(())
}

fn ends_of(ends: &[&str], range: &str, bounds: &FieldBounds) -> Result<(u64, u64), String> {
    match ends {
        ["*" | "?", ..] => Ok((bounds.least, bounds.most)),
        [one] => number_or_name(one, bounds).map(|number| (number, number)),
        [first, last] => Ok((
            number_or_name(first, bounds)?,
            number_or_name(last, bounds)?,
        )),
        [first, ..] => {
            number_or_name(first, bounds)?;
            Err(format!("too many hyphens: {range}"))
        }
        [] => Ok((bounds.least, bounds.most)),
    }
}

fn number_or_name(text: &str, bounds: &FieldBounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let mut names = (bounds.least..).zip(bounds.names);
    match names.find(|(_, name)| **name == lower) {
        Some((number, _)) => Ok(number),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|_| {
        let why = if text
            .trim_start_matches(['+', '-'])
            .bytes()
            .all(|b| b.is_ascii_digit())
            && text.len() > 18
        {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}")
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_judged_as_by_the_real_parser() {
        for (schedule, wrong) in [
            ("*/5 * * * *", ""),
            ("0 0 1 JAN sun", ""),
            ("? 1-5/2,7 * * mon-fri", ""),
            ("@daily", ""),
            ("@every 1h30m", ""),
            (
                "sometimes",
                "expected exactly 5 fields, found 1: [sometimes]",
            ),
            (
                "* * * * * *",
                "expected exactly 5 fields, found 6: [* * * * * *]",
            ),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            ("@never", "unrecognized descriptor: @never"),
            (
                "@every x",
                "failed to parse duration x: time: invalid duration \"x\"",
            ),
        ] {
            assert_eq!(
                check(schedule).err().unwrap_or_default(),
                wrong,
                "{schedule}"
            );
        }
    }
}
