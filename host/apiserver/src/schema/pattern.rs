//! `pattern`: regular expressions of Go, read by Rust's engine.
//!
//! Both are RE2's children. Where they differ, a pattern is rewritten before it is compiled: `\d`, `\w`
//! and `\s` mean ASCII in Go, and inside brackets Go knows neither nested sets nor operators.

use std::sync::{Arc, OnceLock};

use regex::Regex;

/// A pattern, compiled when it is first needed.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Result<Arc<Regex>, String>>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// A pattern as it was written.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `value` matches.
    ///
    /// # Errors
    /// If the pattern is none.
    pub fn matches(&self, value: &str) -> Result<bool, &str> {
        let compiled = self.compiled.get_or_init(|| {
            let regex = Regex::new(&rewritten(&self.text));
            regex
                .map(Arc::new)
                .map_err(|why| in_go(&self.text, &why.to_string()))
        });
        match compiled {
            Ok(regex) => Ok(regex.is_match(value)),
            Err(why) => Err(why),
        }
    }
}

/// What is wrong with a pattern, in Go's words as far as they are known.
fn in_go(pattern: &str, why: &str) -> String {
    let known = [
        ("unclosed group", "missing closing ): "),
        ("unopened group", "unexpected ): "),
        ("unclosed character class", "missing closing ]: "),
        (
            "repetition operator missing",
            "missing argument to repetition operator: ",
        ),
        ("unrecognized escape", "invalid escape sequence: "),
        ("look-around", "invalid or unsupported Perl syntax: "),
        ("backreferences", "invalid escape sequence: "),
        (
            "invalid character class range",
            "invalid character class range: ",
        ),
        ("invalid repetition count range", "invalid repeat count: "),
    ];
    let found = known.iter().find(|(rust, _)| why.contains(rust));
    let Some((_, go)) = found else {
        let last = why.lines().last().unwrap_or_default();
        return format!(
            "error parsing regexp: {}",
            last.trim_start_matches("error: ")
        );
    };
    // Rust marks the place with carets below the pattern, which is indented by four.
    let marks = why
        .lines()
        .find(|line| line.contains('^') && line.trim_matches([' ', '^']).is_empty());
    let marks =
        marks.and_then(|line| Some((line.find('^')?.checked_sub(4)?, line.rfind('^')? - 3)));
    let part = match (*go, marks) {
        ("missing closing ): " | "unexpected ): ", _) | (_, None) => pattern,
        ("missing closing ]: ", Some((begin, _))) => pattern.get(begin..).unwrap_or(pattern),
        (_, Some((begin, end))) => pattern.get(begin..end).unwrap_or(pattern),
    };
    format!("error parsing regexp: {go}`{part}`")
}

/// A pattern of Go, for Rust's engine.
fn rewritten(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    // Where in brackets we are: 0 outside, 1 right behind the opening one.
    let mut inside = 0;
    while let Some(c) = rest.next() {
        inside = match c {
            '\\' => {
                escape(rest.next(), inside > 0, &mut out);
                if inside > 0 { inside + 1 } else { 0 }
            }
            '[' if inside == 0 => {
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                1
            }
            '[' if rest.peek() == Some(&':') => {
                posix_class(&mut rest, &mut out);
                inside + 1
            }
            ']' if inside > 1 => {
                out.push(']');
                0
            }
            '[' | ']' | '&' | '~' if inside > 0 => {
                out.push('\\');
                out.push(c);
                inside + 1
            }
            c => {
                out.push(c);
                if inside > 0 { inside + 1 } else { 0 }
            }
        };
    }
    out
}

fn escape(c: Option<char>, inside: bool, out: &mut String) {
    match c {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str(r"[\t\n\f\r ]"),
        Some('S') => out.push_str(r"[^\t\n\f\r ]"),
        Some('b') if !inside => out.push_str(r"(?-u:\b)"),
        Some(c) => out.extend(['\\', c]),
        None => out.push('\\'),
    }
}

fn posix_class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    for c in rest.by_ref() {
        out.push(c);
        if c == ']' {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        for (pattern, value, want) in [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "abC", false),
            (r"^\d+$", "1२", false),
            (r"^[\w.-]+$", "a_1.-", true),
            (r"^\w$", "é", false),
            (r"^[^\s]+$", "a b", false),
            ("^[[]$", "[", true),
            ("^[]a]+$", "]a", true),
            ("^[a&&b]+$", "&", true),
            ("^[[:alpha:]_]+$", "a_", true),
            ("^.$", "é", true),
            (r"^a\/b$", "a/b", true),
            (r"\bfoo\b", "a foo b", true),
            ("^(?:a|b){2}$", "ab", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(value), Ok(want), "{pattern}");
        }
        for (pattern, why) in [
            ("a(", "missing closing ): `a(`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            (r"a\y", r"invalid escape sequence: `\y`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ] {
            let why = format!("error parsing regexp: {why}");
            assert_eq!(
                Pattern::new(pattern).matches(""),
                Err(why.as_str()),
                "{pattern}"
            );
        }
    }
}
