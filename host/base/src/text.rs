//! Text from elsewhere, made fit to be shown; times and sizes as people say them; and the nearest name to a wrong one.

mod invisible;
mod log_once;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use invisible::is_invisible;
pub use log_once::LogOnce;
use similar::{ChangeTag, TextDiff};

/// Lines around a difference.
const CONTEXT: usize = 2;

/// `text` without control characters (newlines and tabs become escapes) and without those that nobody sees,
/// cut to `limit` bytes.
///
/// What a guest or a server says reaches terminals, logs and Events: it must not move a cursor or
/// start a line of its own.
pub fn clean(text: &str, limit: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if clean.len() + c.len_utf8() > limit {
            clean.push('…');
            break;
        }
        match c {
            '\n' => clean.push_str("\\n"),
            '\t' => clean.push(' '),
            '\r' => {}
            c if is_invisible(c) => {}
            c if c.is_control() => clean.push('\u{fffd}'),
            c => clean.push(c),
        }
    }
    clean
}

/// `text` without the characters that [`clean`] removes and puts nothing in the place of.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_gone = |c: char| c == '\r' || is_invisible(c);
    if text.contains(is_gone) {
        Cow::Owned(text.chars().filter(|c| !is_gone(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// As [`clean`], for a name, which is short: it is mostly shown as it is.
pub fn clean_name(name: &str) -> Cow<'_, str> {
    if name.chars().any(|c| c.is_control() || is_invisible(c)) {
        Cow::Owned(clean(name, usize::MAX))
    } else {
        Cow::Borrowed(name)
    }
}

/// `word` as a shell takes it: quoted, if it needs that.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

/// As [`clean`], line by line: for text that has lines of its own, and in it what somebody else said.
pub fn clean_lines(text: &str, limit: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| clean(line, limit)).collect();
    lines.join("\n")
}

/// JSON that means the same, and in which every character is shown as itself: what [`clean`] would remove or replace is an
/// escape, which JSON has only in texts.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => out.push(c),
            // Between values. A text has neither.
            '\t' | '\r' => out.push(' '),
            c if c.is_control() || is_invisible(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// The name that is nearest to `wrong`, if any is near enough to be what was meant.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = names
        .into_iter()
        .map(|name| (strsim::osa_distance(wrong, name), name));
    let (distance, name) = near.min()?;
    (distance <= 1 + wrong.len() / 3).then(|| name.to_owned())
}

/// A time as people say it: `300 µs`, `3 ms`, `1.5 s`, `2 min`, `9h58m`.
pub fn format_duration(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    match seconds {
        0 if millis == 0 && !time.is_zero() => format!("{} µs", time.subsec_micros()),
        0 => format!("{millis} ms"),
        1..10 => format!("{:.1} s", time.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number of things as people say it: `1 write`, `2 writes`, `3 passes`.
pub fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    let ending = match (number == N::from(1), one.ends_with('s')) {
        (true, _) => "",
        (false, true) => "es",
        (false, false) => "s",
    };
    format!("{number} {one}{ending}")
}

/// Bytes as people say them: `1.1 MiB`.
#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// The lines that differ, with those around them: `-` what is wanted, `+` what there is.
pub fn difference(want: &str, got: &str) -> String {
    let diff = TextDiff::from_lines(want, got);
    let mut out = String::new();
    for (nth, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if nth > 0 {
            out.push_str("  ...\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = change.value().trim_end_matches('\n');
            out.push_str(&format!("{mark} {line}\n"));
        }
    }
    out
}

/// Whether `name` is a DNS subdomain (RFC 1123), as Kubernetes checks it.
pub fn is_dns_subdomain(name: &str) -> bool {
    // Of its parts only the length of all is limited.
    name.len() <= 253 && name.split('.').all(is_dns_word)
}

/// Whether `name` is a DNS label (RFC 1123), as Kubernetes checks it.
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_dns_word(name)
}

fn is_dns_word(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !word.is_empty() && word.chars().all(inner) && !word.starts_with('-') && !word.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_said_in_the_singular() {
        let said = [0, 1, 2]
            .map(|number: usize| [counted(number, "write"), counted(number, "pass")].join(", "));
        let want = [
            "0 writes, 0 passes",
            "1 write, 1 pass",
            "2 writes, 2 passes",
        ];
        assert_eq!(said, want);
    }

    #[test]
    fn only_what_differs_is_shown_and_a_little_around_it() {
        let lines = |at_3: &str| format!("0\n1\n2\n{at_3}\n4\n5\n6\n7\n8\n");
        let (want, got) = (lines("x"), lines("y"));
        assert_eq!(difference(&want, &got), "  1\n  2\n- x\n+ y\n  4\n  5\n");
        assert_eq!(difference(&want, &want), "");
    }

    #[test]
    fn nothing_that_moves_a_cursor_gets_through() {
        assert_eq!(
            clean("a\nb\u{1b}[31mred\u{0}\u{9b}x", 100),
            "a\\nb\u{fffd}[31mred\u{fffd}\u{fffd}x"
        );
        for hidden in [
            "\u{202e}",
            "\u{2028}",
            "\u{2029}",
            "\u{200b}",
            "\u{200f}",
            "\u{61c}",
            "\u{feff}",
            "\u{2060}",
            "\u{2064}",
            "\u{2066}",
            "\u{2069}",
            "\u{202a}",
            "\u{180e}",
            "\u{ad}",
            "\u{fe0f}",
            "\u{e0000}",
            "\u{e0041}",
            "\u{e007f}",
            "\u{e0100}",
        ] {
            assert_eq!(clean(&format!("safe{hidden}evil"), 100), "safeevil");
        }
        assert_eq!(clean("naïve Ω 日本 ✓ 🙂", 100), "naïve Ω 日本 ✓ 🙂");
        assert_eq!(clean("ééééé", 5), "éé…");
        assert_eq!(
            clean_lines("a\u{1b}b\nc\u{7}", 100),
            "a\u{fffd}b\nc\u{fffd}"
        );
    }

    #[test]
    fn json_without_what_is_not_shown_is_the_same_json() {
        let whole: Vec<char> = ('\u{0}'..=char::MAX).collect();
        for some in whole.chunks(4096) {
            let value = serde_json::json!({ "text": some.iter().collect::<String>() });
            let json = escape_json(&format!("{value:#}\r\t\n"));
            let shown = |c: char| c == '\n' || !c.is_control() && !is_invisible(c);
            assert!(json.chars().all(shown), "{json:?}");
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(read, value);
        }
    }

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let names = ["configmaps", "secrets", "services"];
        assert_eq!(nearest("configmap", names).as_deref(), Some("configmaps"));
        assert_eq!(nearest("frobnicators", names), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_500, "1.5 s"),
            (42_000, "42 s"),
            (150_000, "2 min"),
            (35_880_000, "9h58m"),
        ];
        for (millis, said) in cases {
            assert_eq!(format_duration(Duration::from_millis(millis)), said);
        }
        assert_eq!(format_duration(Duration::from_micros(420)), "420 µs");
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        assert_eq!(mebibytes(0), "0.0 MiB");
        assert_eq!(mebibytes(1_153_434), "1.1 MiB");
    }
}
