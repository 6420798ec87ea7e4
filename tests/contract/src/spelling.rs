//! How a JSON text is written: the order of its fields, what is escaped in it, and how it ends.

/// The text with all that is said taken out: texts are empty, unless something is escaped in them.
pub(crate) fn of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut spelling = String::new();
    let mut rest = text.as_ref();
    while let Some(start) = rest.find('"') {
        let (before, literal) = rest.split_at(start);
        spelling.push_str(before);
        let (literal, after) = literal.split_at(end(literal));
        let is_name = after.trim_start().starts_with(':');
        spelling.push_str(if is_name || literal.contains('\\') {
            literal
        } else {
            "\"\""
        });
        rest = after;
    }
    spelling.push_str(rest);
    spelling
}

/// Where the literal at the beginning of a text ends.
fn end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_has_the_names_in_their_order_and_what_is_escaped() {
        let rows = [
            (r#"{"b":"x","a":[1,"y"]}"#, r#"{"b":"","a":[1,""]}"#),
            ("{\n \"b\" : \"x\"}\n", "{\n \"b\" : \"\"}\n"),
            (
                r#"["\u003c","a\"b","\\",""]"#,
                r#"["\u003c","a\"b","\\",""]"#,
            ),
            (r#"{"k:{\"a\":1}":{}}"#, r#"{"k:{\"a\":1}":{}}"#),
            (r#""open"#, r#""""#),
        ];
        for (text, spelling) in rows {
            assert_eq!(of(text.as_bytes()), spelling, "{text}");
        }
    }
}
