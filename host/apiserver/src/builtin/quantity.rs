//! Quantities (`500m`, `1Gi`) in the form the real server gives them: a port of apimachinery's
//! `resource.Quantity`.

const MALFORMED: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NO_SUFFIX: &str = "unable to parse quantity's suffix";
/// More digits than this stay as they are.
const MAX_DIGITS: usize = 19;
/// More than this no binary quantity is.
const MAX_BINARY: i128 = i64::MAX as i128;
const NANO: i32 = -9;
const MILLI: i32 = -3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuantityFormat {
    Decimal,
    Exponent,
    Binary,
}

/// What a text says.
struct NumberParts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    format: QuantityFormat,
    /// Of ten, or of two for [`QuantityFormat::Binary`].
    exponent: i32,
}

/// A quantity as the real server writes it; `to_milli` rounds it up to thousandths, as lists of resources
/// are.
///
/// # Errors
/// The text of the real server, if it is none.
pub(crate) fn canonical(text: &str, to_milli: bool) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err(MALFORMED);
    }
    let parts = parse(text)?;
    if parts.whole.len() + parts.fraction.len() > MAX_DIGITS || parts.exponent.abs() > 60 {
        return Ok(text.to_owned());
    }
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let digits = digits.parse::<i128>().map_err(|_| MALFORMED)?;
    let fraction = i32::try_from(parts.fraction.len()).map_err(|_| MALFORMED)?;
    let (mut value, mut scale) = match parts.format {
        QuantityFormat::Binary => (digits << parts.exponent, -fraction),
        QuantityFormat::Decimal | QuantityFormat::Exponent => (digits, parts.exponent - fraction),
    };
    if (!to_milli || scale >= MILLI) && is_canonical(&parts, digits, scale) {
        return Ok(text.to_owned());
    }
    let smallest = if to_milli { MILLI } else { NANO };
    while scale < smallest {
        // Away from zero: who asks for a little gets a little.
        value = (value + 9) / 10;
        scale += 1;
    }
    if parts.format == QuantityFormat::Binary
        && value > MAX_BINARY * 10_i128.pow(scale.unsigned_abs())
    {
        (value, scale) = (MAX_BINARY, 0);
    }
    let rounded = write(value, scale, parts.format);
    Ok(if parts.negative && rounded != "0" {
        format!("-{rounded}")
    } else {
        rounded
    })
}

fn parse(text: &str) -> Result<NumberParts<'_>, &'static str> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)),
        Some(b'+') => (false, text.get(1..)),
        _ => (false, Some(text)),
    };
    let unsigned = unsigned.unwrap_or_default();
    let is_digit = |letter: char| letter.is_ascii_digit();
    let number = unsigned.trim_start_matches('0');
    let (whole, rest) = number.split_at(
        number
            .find(|letter| !is_digit(letter))
            .unwrap_or(number.len()),
    );
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len())),
        None => ("", rest),
    };
    let letters = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let digits = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if !digits.chars().all(is_digit) {
        return Err(MALFORMED);
    }
    let (format, exponent) = interpret(suffix).ok_or(NO_SUFFIX)?;
    Ok(NumberParts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        format,
        exponent,
    })
}

/// A quantity to reckon with, in billionths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    nanos: i128,
    format: QuantityFormat,
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Amount {
    /// Reads a quantity; nothing if it is none, or has too many digits to reckon with.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts = parse(text).ok().filter(|_| !text.is_empty())?;
        let digits = format!("{}{}", parts.whole, parts.fraction);
        let digits: i128 = digits.parse().ok().filter(|_| digits.len() <= MAX_DIGITS)?;
        let fraction = i32::try_from(parts.fraction.len()).ok()?;
        let (value, scale) = match parts.format {
            QuantityFormat::Binary => (digits << parts.exponent, -fraction),
            QuantityFormat::Decimal | QuantityFormat::Exponent => {
                (digits, parts.exponent - fraction)
            }
        };
        let shift = u32::try_from(scale - NANO).ok()?;
        let nanos = value.checked_mul(10_i128.checked_pow(shift)?)?;
        Some(Self {
            nanos: if parts.negative { -nanos } else { nanos },
            format: parts.format,
        })
    }

    /// A whole number.
    pub(crate) fn whole(number: i64) -> Self {
        Self {
            nanos: i128::from(number) * 1_000_000_000,
            format: QuantityFormat::Decimal,
        }
    }

    /// The sum; in the form of the other amount if there is nothing yet (`Quantity.Add`).
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let of_form = if self.nanos == 0 { other } else { self };
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: of_form.format,
        }
    }

    /// The difference; in the form of the other amount if there is nothing yet (`Quantity.Sub`).
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(Self {
            nanos: other.nanos.saturating_neg(),
            ..other
        })
    }

    /// The thousandths, away from zero (`Quantity.MilliValue`).
    pub(crate) fn milli(self) -> i128 {
        let unit = 1_000_000;
        self.nanos / unit + (self.nanos % unit).signum()
    }

    /// The next whole number, if there is a fraction (`Quantity.RoundUp`).
    #[must_use]
    pub(crate) fn rounded_up(self) -> Self {
        Self {
            nanos: self.rounded().saturating_mul(1_000_000_000),
            ..self
        }
    }

    /// How much it is, in billionths.
    pub(crate) fn nanos(self) -> i128 {
        self.nanos
    }

    /// The whole number, away from zero (`Quantity.Value`).
    pub(crate) fn rounded(self) -> i128 {
        let unit = 1_000_000_000;
        self.nanos / unit + (self.nanos % unit).signum()
    }

    pub(crate) fn is_positive(self) -> bool {
        self.nanos > 0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub(crate) fn is_whole(self) -> bool {
        self.nanos % 1_000_000_000 == 0
    }

    pub(crate) fn is_above(self, other: Self) -> bool {
        self.nanos > other.nanos
    }

    /// As the real server writes it.
    pub(crate) fn text(self) -> String {
        let sign = if self.nanos < 0 { "-" } else { "" };
        format!("{sign}{}", write(self.nanos.abs(), NANO, self.format))
    }
}

/// The sum of two amounts, either of which may be missing.
pub(crate) fn sum(left: Option<Amount>, right: Option<Amount>) -> Option<Amount> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.plus(right)),
        (one, other) => one.or(other),
    }
}

/// The larger one.
pub(crate) fn max(left: Option<Amount>, right: Option<Amount>) -> Option<Amount> {
    match (left, right) {
        (Some(left), Some(right)) if right.nanos > left.nanos => Some(right),
        (one, other) => one.or(other),
    }
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, i32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

fn interpret(suffix: &str) -> Option<(QuantityFormat, i32)> {
    let find = |table: &[(&str, i32)]| {
        let mut rows = table.iter();
        rows.find(|(name, _)| *name == suffix)
            .map(|(_, exponent)| *exponent)
    };
    if let Some(exponent) = find(&DECIMAL) {
        return Some((QuantityFormat::Decimal, exponent));
    }
    if let Some(exponent) = find(&BINARY) {
        return Some((QuantityFormat::Binary, exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((QuantityFormat::Exponent, exponent.parse().ok()?))
}

/// Whether the real server keeps the text; it is not always what it would write itself.
fn is_canonical(parts: &NumberParts<'_>, digits: i128, scale: i32) -> bool {
    if scale < NANO {
        return false;
    }
    let count = parts.whole.len() + parts.fraction.len();
    if parts.format == QuantityFormat::Binary {
        let few = count + (parts.exponent as usize * 3) / 10 < 15;
        return few && parts.fraction.is_empty() && parts.exponent % 10 == 0 && digits & 7 != 0;
    }
    let starts_with_zero = parts.whole.starts_with('0');
    let shifted = format!("{}{}", parts.whole, parts.fraction);
    count <= 18 && scale % 3 == 0 && !shifted.ends_with("000") && !starts_with_zero
}

/// `CanonicalizeBytes`, of a value that is not negative.
fn write(value: i128, scale: i32, format: QuantityFormat) -> String {
    if value == 0 {
        return "0".to_owned();
    }
    let whole = whole_value(value, scale);
    let binary = whole.filter(|whole| format == QuantityFormat::Binary && *whole >= 1024);
    if let Some(mut amount) = binary {
        let mut exponent = 0;
        while amount >= 1024 && amount % 1024 == 0 {
            amount /= 1024;
            exponent += 10;
        }
        return format!("{amount}{}", suffix(&BINARY, exponent));
    }
    let (mut amount, mut exponent) = (value, scale);
    while amount >= 10 && amount % 10 == 0 {
        amount /= 10;
        exponent += 1;
    }
    while exponent % 3 != 0 {
        amount *= 10;
        exponent -= 1;
    }
    match format {
        QuantityFormat::Exponent if exponent == 0 => amount.to_string(),
        QuantityFormat::Exponent => format!("{amount}e{exponent}"),
        QuantityFormat::Decimal | QuantityFormat::Binary => {
            format!("{amount}{}", suffix(&DECIMAL, exponent))
        }
    }
}

fn whole_value(mut value: i128, mut scale: i32) -> Option<i128> {
    while scale < 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        scale += 1;
    }
    value.checked_mul(10_i128.checked_pow(u32::try_from(scale).ok()?)?)
}

fn suffix(table: &[(&'static str, i32)], exponent: i32) -> &'static str {
    let mut rows = table.iter();
    let found = rows.find(|(_, known)| *known == exponent);
    found.map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_the_real_server_does() {
        let rows = [
            ("0", "0"),
            ("1", "1"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1023Mi", "1023Mi"),
            ("512Ki", "512Ki"),
            ("1000Ki", "1000Ki"),
            ("100Ki", "100Ki"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1000e3", "1e6"),
            ("12e6", "12e6"),
            ("1E", "1E"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("100000", "100k"),
            ("0.000000001", "1n"),
            ("0.0000000001", "1n"),
            ("-5", "-5"),
            ("-0.5", "-500m"),
            ("1.0", "1"),
        ];
        for (text, expected) in rows {
            assert_eq!(canonical(text, false).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(canonical("1.0005", true).as_deref(), Ok("1001m"));
        assert_eq!(canonical("100n", true).as_deref(), Ok("1m"));
    }

    #[test]
    fn what_is_no_quantity_is_refused_in_the_real_servers_words() {
        for text in ["", "a", "1x", "1 Gi", "1Gi "] {
            assert!(
                canonical(text, false)
                    .unwrap_err()
                    .starts_with("quantities must"),
                "{text}"
            );
        }
        assert_eq!(canonical("1GiGi", false), Err(NO_SUFFIX));
        assert_eq!(canonical(&"9".repeat(100), false), Ok("9".repeat(100)));
    }
}
