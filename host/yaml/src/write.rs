//! Writes words that somebody else chose into YAML, so that every reader takes them for the same words.
//!
//! - A reader of YAML 1.1 (kubectl, Helm, Argo CD, Flux) ends a line at U+0085, U+2028 and U+2029, and a comment with it:
//!   <https://yaml.org/spec/1.1/#id868524>. So only printable ASCII is written as it is.

use std::fmt::Write;

/// Words that YAML 1.1 reads as booleans or null. [`scalar`] puts them into quotes, though all their letters are plain.
const NOT_TEXT: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// `word` as a value or a key, also between brackets: in quotes unless it is plain, such as `deployments/status`.
pub fn scalar(word: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./ ".contains(c);
    let is_plain = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(plain)
        && !word.ends_with(' ')
        && !NOT_TEXT.contains(&word);
    if is_plain {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// `word` in double quotes.
pub fn quoted(word: &str) -> String {
    format!("\"{}\"", escaped(word, "\"\\"))
}

/// `text` as one line of a comment, without the `# `. What is not printable ASCII is an escape.
pub fn comment(text: &str) -> String {
    escaped(text, "")
}

/// `text` in printable ASCII, with a backslash before these characters.
fn escaped(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing into memory does not fail.
        let _ = match (c, u32::from(c)) {
            (c, _) if special.contains(c) => write!(out, "\\{c}"),
            (' '..='~', _) => write!(out, "{c}"),
            (_, code @ ..=0xffff) => write!(out, "\\u{code:04x}"),
            (_, code) => write!(out, "\\U{code:08x}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_have_no_quotes_and_all_others_do() {
        for plain in [
            "configmaps",
            "deployments/status",
            "x.dev",
            "in all namespaces",
        ] {
            assert_eq!(scalar(plain), plain);
        }
        let rows = [
            ("", r#""""#),
            ("*", r#""*""#),
            ("on", r#""on""#),
            ("1", r#""1""#),
            ("Shop", r#""Shop""#),
            ("a: b", r#""a: b""#),
            ("x ", r#""x ""#),
            ("\"\\", r#""\"\\""#),
            ("a\nb\u{85}\u{2028}", r#""a\u000ab\u0085\u2028""#),
            ("é\u{1f642}", r#""\u00e9\U0001f642""#),
        ];
        for (word, want) in rows {
            assert_eq!(scalar(word), want);
        }
    }

    #[test]
    fn a_comment_is_one_line_for_every_reader() {
        let breaks = "a\nb\rc\u{85}d\u{2028}e\u{2029}f\u{feff} \"g\" \\ é";
        let want = r#"a\u000ab\u000dc\u0085d\u2028e\u2029f\ufeff "g" \ \u00e9"#;
        assert_eq!(comment(breaks), want);
    }

    #[test]
    fn every_character_is_read_back() {
        let whole: Vec<char> = ('\u{0}'..=char::MAX).collect();
        for some in whole.chunks(4096) {
            let word: String = some.iter().collect();
            let text = format!("# {}\nk: [{}]\n", comment(&word), scalar(&word));
            let crate::Untyped(read) = crate::document(&text).unwrap();
            assert_eq!(read, serde_json::json!({ "k": [word] }));
        }
    }
}
