//! `format`: what the texts of CRDs can be asked to be, as kube-openapi's `strfmt` judges it.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

use crate::names;
use crate::schema::Kind;
use crate::schema::url::Url;

/// A format that the real server looks at; others say nothing.
pub(crate) fn supported(kind: Option<Kind>, format: &str) -> bool {
    match kind {
        None | Some(Kind::String | Kind::IntOrString) => judge(format).is_some(),
        Some(Kind::Integer) => matches!(format, "int32" | "int64"),
        Some(Kind::Number) => matches!(format, "float" | "double"),
        Some(Kind::Object | Kind::Array | Kind::Boolean) => false,
    }
}

/// Whether a text is of a format.
pub(crate) fn is_of(format: &str, text: &str) -> bool {
    judge(format).is_none_or(|judge| judge(text))
}

fn judge(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_uri,
        "email" => is_email,
        "hostname" => is_hostname,
        "ipv4" => |text| is_ipv4(text) || (text.contains('.') && is_ipv6(text)),
        "ipv6" => is_ipv6,
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |text| is_uuid(text, None),
        "uuid3" => |text| is_uuid(text, Some('3')),
        "uuid4" => |text| is_uuid(text, Some('4')),
        "uuid5" => |text| is_uuid(text, Some('5')),
        "isbn" => |text| is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |text| text.len() == 11 && matches(&SSN, text),
        "hexcolor" => |text| matches(&HEX_COLOR, text),
        "rgbcolor" => |text| matches(&RGB_COLOR, text),
        "byte" => |text| matches(&BASE64, text),
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |text| names::label(text).is_empty(),
        "k8slongname" => |text| names::subdomain(text).is_empty(),
        _ => return None,
    })
}

type Lazy = LazyLock<Option<Regex>>;

static SSN: Lazy = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static HEX_COLOR: Lazy = LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGB_COLOR: Lazy = LazyLock::new(|| {
    let byte = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*";
    Regex::new(&format!(r"^rgb\({byte},{byte},{byte}\)$")).ok()
});
static BASE64: Lazy = LazyLock::new(|| {
    let one = "[A-Za-z0-9+/]";
    Regex::new(&format!(
        "^({one}{{4}})*({one}{{2}}==|{one}{{3}}=|{one}{{4}})$"
    ))
    .ok()
});
static HOSTNAME: Lazy = LazyLock::new(|| {
    Regex::new(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
    .ok()
});
static DATE_TIME: Lazy = LazyLock::new(|| {
    Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok()
});
static DURATION: Lazy = LazyLock::new(|| Regex::new(r"([0-9]+)\s*([A-Za-zµ]+)").ok());
static GO_DURATION: Lazy = LazyLock::new(|| {
    let number = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)";
    Regex::new(&format!("^[-+]?(0|({number}(ns|us|µs|μs|ms|s|m|h))+)$")).ok()
});
static EMAIL: Lazy = LazyLock::new(|| Regex::new(r"^([^<>@]*<)?[^\s<>@]+@[^\s<>@]+>?$").ok());
static CREDIT_CARD: Lazy = LazyLock::new(|| {
    Regex::new(
        "^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11})$",
    )
    .ok()
});

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Go's `url.ParseRequestURI`, as far as it says no.
fn is_uri(text: &str) -> bool {
    Url::parse(text).is_ok()
}

fn is_email(text: &str) -> bool {
    let closed = text.contains('<') == text.ends_with('>');
    closed && matches(&EMAIL, text)
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
}

/// Four numbers; zeros in front are fine.
fn is_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_byte = |part: &&str| {
        part.bytes().all(|b| b.is_ascii_digit())
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u32>().is_ok_and(|number| number <= 255)
    };
    parts.len() == 4 && parts.iter().all(is_byte)
}

fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = if is_ipv4(address) {
        32
    } else if is_ipv6(address) {
        128
    } else {
        return false;
    };
    bits.bytes().all(|b| b.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let is_hex = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let of = |separator: char, digits: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| is_hex(part, digits))
    };
    of(':', 2, [6, 8, 20]) || of('-', 2, [6, 8, 20]) || of('.', 4, [3, 4, 10])
}

/// Hyphens may be there or not.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut digits = String::new();
    let mut rest = text;
    for count in [8, 4, 4, 4, 12] {
        let Some((part, after)) = rest.split_at_checked(count) else {
            return false;
        };
        digits.push_str(part);
        rest = after.strip_prefix('-').unwrap_or(after);
    }
    let variant = digits.chars().nth(16).map(|c| c.to_ascii_lowercase());
    let has_version = version.is_none_or(|version| digits.chars().nth(12) == Some(version));
    let has_variant =
        !matches!(version, Some('4' | '5')) || variant.is_some_and(|c| "89ab".contains(c));
    rest.is_empty()
        && !text.ends_with('-')
        && digits.chars().all(|c| c.is_ascii_hexdigit())
        && has_version
        && has_variant
}

fn digits_of(text: &str) -> Vec<u32> {
    let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
    kept.map(|c| c.to_digit(10).unwrap_or(if c == 'X' { 10 } else { 99 }))
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits_of(text);
    let body = digits.iter().take(9).all(|digit| *digit < 10);
    let sum: u32 = digits.iter().zip(1..).map(|(digit, at)| digit * at).sum();
    digits.len() == 10 && body && digits.last() < Some(&11) && sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits_of(text);
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| digit * weight)
        .sum();
    digits.len() == 13 && digits.iter().all(|digit| *digit < 10) && sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let luhn = digits.chars().rev().enumerate().map(|(at, digit)| {
        let digit = digit.to_digit(10).unwrap_or_default();
        match at % 2 {
            0 => digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        }
    });
    matches(&CREDIT_CARD, &digits) && luhn.sum::<u32>().is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    shaped && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let Some(found) = DATE_TIME.as_ref().and_then(|regex| regex.captures(time)) else {
        return false;
    };
    let most = |at: usize, most: &str| found.get(at).is_some_and(|part| part.as_str() <= most);
    is_date(date) && most(1, "23") && most(2, "59") && most(3, "59")
}

/// Words that a unit is, or (the last of each) begins with.
const UNITS: [(&[&str], &str); 8] = [
    (&["ns"], "nano"),
    (&["us", "µs"], "micro"),
    (&["ms"], "milli"),
    (&["s"], "sec"),
    (&["m"], "min"),
    (&["h", "hr"], "hour"),
    (&["d"], "day"),
    (&["w", "wk"], "week"),
];

/// A duration of Go, or one of Scala: some number with a unit somewhere.
fn is_duration(text: &str) -> bool {
    if matches(&GO_DURATION, text) {
        return true;
    }
    let Some(regex) = DURATION.as_ref() else {
        return false;
    };
    regex.captures_iter(text).any(|found| {
        let unit = found.get(2).map_or("", |unit| unit.as_str()).to_lowercase();
        let is_unit = |(words, long): &(&[&str], &str)| {
            words.contains(&unit.as_str()) || unit.starts_with(long)
        };
        UNITS.iter().any(is_unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_of_their_formats_or_not() {
        for (format, good, bad) in [
            (
                "date",
                &["2020-02-29"][..],
                &["2020-02-30", "20200229", "2020-13-01"][..],
            ),
            (
                "date-time",
                &["2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+02:00"],
                &[
                    "2020-01-01",
                    "x",
                    "2020-01-01T24:00:00Z",
                    "2020-01-01T00:00:00",
                ],
            ),
            (
                "duration",
                &["1h30m", "0", "-1.5s", "3 days", "1week"],
                &["1x", "", "h"],
            ),
            (
                "ipv4",
                &["1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"],
                &["::1", "1.2.3", "256.1.1.1"],
            ),
            ("ipv6", &["::1", "::ffff:1.2.3.4"], &["1.2.3.4", "x"]),
            (
                "cidr",
                &["10.0.0.0/8", "::/0"],
                &["10.0.0.0", "10.0.0.0/33", "x/1"],
            ),
            (
                "uri",
                &["http://a/b?c", "/a b", "mailto:x"],
                &["x y", "a", "http://a b/"],
            ),
            ("email", &["a@b", "A B <a@b.c>"], &["x", "a@b c", "<a@b"]),
            ("hostname", &["a", "a-b.example"], &["-a", "a..b"]),
            (
                "mac",
                &["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-ab"],
                &["x", "01:23"],
            ),
            (
                "uuid",
                &[
                    "123e4567-e89b-12d3-a456-426614174000",
                    "123E4567E89B12D3A456426614174000",
                ],
                &["x", "123e4567-e89b-12d3-a456-42661417400"],
            ),
            (
                "uuid4",
                &["123e4567-e89b-42d3-a456-426614174000"],
                &["123e4567-e89b-12d3-a456-426614174000"],
            ),
            (
                "isbn",
                &["0321751043", "978-0321751041"],
                &["0321751044", "x"],
            ),
            (
                "creditcard",
                &["4111-1111-1111-1111"],
                &["4111-1111-1111-1112"],
            ),
            ("ssn", &["111-11-1111"], &["111111111"]),
            ("hexcolor", &["#fff", "abcdef"], &["#ff"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2,256)"]),
            ("byte", &["aGk=", "aGkh"], &["", "%", "aGk"]),
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["x"]),
            ("k8s-short-name", &["a-1"], &["A", "a.b"]),
            ("k8s-long-name", &["a-1.b"], &["A"]),
            ("password", &["x"], &[]),
        ] {
            for text in good {
                assert!(is_of(format, text), "{format}: {text}");
            }
            for text in bad {
                assert!(!is_of(format, text), "{format}: {text}");
            }
        }
        assert!(is_of("foo", "x") && !supported(Some(Kind::String), "foo"));
        assert!(supported(Some(Kind::Integer), "int32") && !supported(Some(Kind::Object), "date"));
    }
}
