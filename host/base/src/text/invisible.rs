//! Characters that nobody sees: they hide text, reorder it, or make two texts look the same.

/// Ranges of them, in order. Each has the Unicode property `Cf` (format), `Zl` or `Zp` (separators of lines and
/// paragraphs), or `Default_Ignorable_Code_Point`; a test compares them with Unicode's tables.
const RANGES: [(char, char); 25] = [
    // A soft hyphen: shown only where a line breaks.
    ('\u{ad}', '\u{ad}'),
    // Joins the letters around it.
    ('\u{34f}', '\u{34f}'),
    // Arabic number signs, and the Arabic letter mark, which changes the direction of writing.
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    // Format characters of Syriac and Arabic.
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    // Fillers of Hangul, and vowels of Khmer that are not shown.
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    // Mongolian variation selectors and the vowel separator, which has no width.
    ('\u{180b}', '\u{180f}'),
    // Spaces and joiners without width, and marks of direction.
    ('\u{200b}', '\u{200f}'),
    // Separators of lines and paragraphs, which some viewers take for a newline; embeddings and overrides of
    // direction.
    ('\u{2028}', '\u{202e}'),
    // The word joiner, operators that are not shown, isolates of direction, and old format characters.
    ('\u{2060}', '\u{206f}'),
    // A filler of Hangul.
    ('\u{3164}', '\u{3164}'),
    // Variation selectors: any number of them follows one letter, and can carry a message.
    ('\u{fe00}', '\u{fe0f}'),
    // The byte order mark, which has no width.
    ('\u{feff}', '\u{feff}'),
    // A filler of Hangul with half its width.
    ('\u{ffa0}', '\u{ffa0}'),
    // Reserved for format characters, and marks of annotations.
    ('\u{fff0}', '\u{fffb}'),
    // Format characters of Kaithi, Egyptian hieroglyphs, shorthand and music.
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, more variation selectors, and what is reserved for more of them: a second alphabet that is not shown.
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether nobody sees it.
pub(super) fn is_invisible(c: char) -> bool {
    // Most text has no such letter.
    let (Some((first, _)), Some((_, last))) = (RANGES.first(), RANGES.last()) else {
        return false;
    };
    if c < *first || c > *last {
        return false;
    }
    let after = RANGES.partition_point(|(_, last)| *last < c);
    RANGES.get(after).is_some_and(|(first, _)| *first <= c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn the_ranges_are_those_of_unicode() {
        let pattern = r"^[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]$";
        let unicode = Regex::new(pattern).unwrap();
        let wrong: Vec<char> = ('\u{0}'..=char::MAX)
            .filter(|c| is_invisible(*c) != unicode.is_match(&c.to_string()))
            .collect();
        assert_eq!(wrong, Vec::<char>::new());
        let ordered = RANGES.is_sorted_by(|(_, last), (first, _)| last < first);
        assert!(ordered, "a search by halves needs that");
    }
}
