//! The five fields of a schedule: minutes, hours, days of the month, months and weekdays.

use jiff::civil::Date;

use super::BadSchedule;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What the clock on the wall has to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
}

/// The values of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Values {
    /// A bit for each value.
    bits: u64,
    /// Whether one part of it is `*` or `?`.
    is_any: bool,
}

/// What a field can hold.
struct Field {
    name: &'static str,
    min: u8,
    max: u8,
    /// Names of values, from `min` on.
    names: &'static [&'static str],
}

impl Field {
    const fn new(name: &'static str, min: u8, max: u8, names: &'static [&'static str]) -> Self {
        Self {
            name,
            min,
            max,
            names,
        }
    }
}

const MINUTE: Field = Field::new("minute", 0, 59, &[]);
const HOUR: Field = Field::new("hour", 0, 23, &[]);
const DAY: Field = Field::new("day of month", 1, 31, &[]);
const MONTH: Field = Field::new("month", 1, 12, &MONTHS);
const WEEKDAY: Field = Field::new("day of week", 0, 6, &WEEKDAYS);

impl Fields {
    /// Reads five fields with blanks between them.
    pub(super) fn parse(text: &str) -> Result<Self, BadSchedule> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = *fields.as_slice() else {
            let count = fields.len();
            return Err(BadSchedule(format!(
                "a schedule has 5 fields, and {text:?} has {count}"
            )));
        };
        Ok(Self {
            minutes: MINUTE.parse(minutes)?,
            hours: HOUR.parse(hours)?,
            days: DAY.parse(days)?,
            months: MONTH.parse(months)?,
            weekdays: WEEKDAY.parse(weekdays)?,
        })
    }

    pub(super) fn has_minute(&self, minute: i8) -> bool {
        self.minutes.have(minute)
    }

    pub(super) fn has_hour(&self, hour: i8) -> bool {
        self.hours.have(hour)
    }

    pub(super) fn has_month(&self, date: Date) -> bool {
        self.months.have(date.month())
    }

    /// With both fields restricted, one of them is enough.
    pub(super) fn has_day(&self, date: Date) -> bool {
        let by_day = self.days.have(date.day());
        let by_weekday = self.weekdays.have(date.weekday().to_sunday_zero_offset());
        if self.days.is_any || self.weekdays.is_any {
            by_day && by_weekday
        } else {
            by_day || by_weekday
        }
    }
}

impl Values {
    fn have(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits.checked_shr(value).unwrap_or(0) & 1 == 1)
    }
}

impl Field {
    /// Reads values and ranges with commas between them.
    fn parse(&self, text: &str) -> Result<Values, BadSchedule> {
        let mut values = Values::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let more = self.part(part).map_err(|why| {
                let name = self.name;
                BadSchedule(format!("{name} {part:?}: {why}"))
            })?;
            values.bits |= more.bits;
            values.is_any |= more.is_any;
        }
        if values.bits == 0 {
            return Err(BadSchedule(format!("{} {text:?} is empty", self.name)));
        }
        Ok(values)
    }

    /// Reads `*`, `5`, `5-9`, each also with a step: `*/2`. With a step, `5` goes to the end.
    fn part(&self, text: &str) -> Result<Values, String> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (text, None),
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let step = step.map(|step| step.parse::<usize>().ok().filter(|_| is_number(step)));
        let step = match step {
            None => 1,
            Some(Some(step)) if step > 0 => step,
            Some(_) => return Err("the step is not a number from 1 on".to_owned()),
        };
        let is_any = range == "*" || range == "?";
        let (first, last) = if is_any {
            (self.min, self.max)
        } else {
            match range.split_once('-') {
                Some((first, last)) => (self.value(first)?, self.value(last)?),
                None if text.contains('/') => (self.value(range)?, self.max),
                None => (self.value(range)?, self.value(range)?),
            }
        };
        if first > last {
            return Err(format!("{first} is after {last}"));
        }
        let values = (first..=last).step_by(step);
        Ok(Values {
            bits: values.fold(0, |bits, value| bits | 1 << value),
            // `*/2` restricts the field.
            is_any: is_any && step == 1,
        })
    }

    /// Reads a number or a name.
    fn value(&self, text: &str) -> Result<u8, String> {
        let (min, max) = (self.min, self.max);
        let names = self.names.iter().zip(min..);
        for (name, value) in names {
            if name.eq_ignore_ascii_case(text) {
                return Ok(value);
            }
        }
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        let number = number.filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| format!("{text:?} is not a number from {min} to {max}"))
    }
}
