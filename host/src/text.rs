//! Text from elsewhere, made fit to be shown; and the nearest name to a wrong one.

/// `text` without control characters (newlines and tabs become escapes), cut to `limit` bytes.
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
            // Bidirectional overrides reorder what a reader sees.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => clean.push('\u{fffd}'),
            c => clean.push(c),
        }
    }
    clean
}

/// The name that is nearest to `wrong`, if any is near enough to be what was meant.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = names
        .into_iter()
        .map(|name| (strsim::osa_distance(wrong, name), name));
    let (distance, name) = near.min()?;
    (distance <= 1 + wrong.len() / 3).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_a_cursor_gets_through() {
        assert_eq!(
            clean("a\nb\u{1b}[31mred\u{0}\u{9b}x", 100),
            "a\\nb\u{fffd}[31mred\u{fffd}\u{fffd}x"
        );
        assert_eq!(clean("safe\u{202e}evil", 100), "safeevil");
        assert_eq!(clean("ééééé", 5), "éé…");
    }

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let names = ["configmaps", "secrets", "services"];
        assert_eq!(nearest("configmap", names).as_deref(), Some("configmaps"));
        assert_eq!(nearest("frobnicators", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
