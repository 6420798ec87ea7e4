//! Texts of guests and documents, as messages show them.

/// The longest text that a message repeats.
const LONGEST: usize = 120;

/// `text` in quotes and on one line, cut after 120 characters.
pub(crate) fn shown(text: &str) -> String {
    let mut kept: String = text.chars().take(LONGEST).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    format!("{kept:?}")
}

/// The one of `words` that `wrong` is a slip of; none if nothing is close.
pub(crate) fn nearest<'a>(wrong: &str, words: &[&'a str]) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let distance = |word: &str| strsim::damerau_levenshtein(&lower, &word.to_lowercase());
    let scored = words.iter().map(|word| (distance(word), *word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    let longest = wrong.chars().count().max(word.chars().count());
    (distance * 3 <= longest).then_some(word)
}

/// `; did you mean origin?`, or nothing.
pub(crate) fn suggestion(wrong: &str, words: &[&str]) -> String {
    match nearest(wrong, words) {
        Some(word) => format!("; did you mean {word}?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_has_a_suggestion_and_another_word_has_none() {
        let words = ["origin", "methods", "allowPrivate"];
        for (wrong, want) in [
            ("orign", Some("origin")),
            ("method", Some("methods")),
            ("allowprivate", Some("allowPrivate")),
            ("retries", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, &words), want, "{wrong}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_stays_on_one_line() {
        assert_eq!(shown("a\nb"), r#""a\nb""#);
        assert!(shown(&"x".repeat(500)).len() < 130);
    }
}
