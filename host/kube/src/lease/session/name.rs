//! What a session is called.

/// The longest part of a session's name that tells whose it is.
const LONGEST: usize = 100;

/// A name for a session of the host `identity`: `windlass-session-web-1-0badcafe`.
pub(super) fn name_for(identity: &str, number: u64) -> String {
    let letter = |letter: char| {
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let slug: String = identity.chars().map(letter).take(LONGEST).collect();
    let number = number & 0xffff_ffff;
    format!("windlass-session-{slug}-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_name_that_may_be_that_of_an_object() {
        let long = "x".repeat(300);
        let rows = [
            ("web-1", "windlass-session-web-1-0000002a"),
            ("Node.A_3F", "windlass-session-node-a-3f-0000002a"),
            ("", "windlass-session--0000002a"),
            ("ü", "windlass-session---0000002a"),
        ];
        for (identity, want) in rows {
            assert_eq!(name_for(identity, 42), want);
        }
        assert!(name_for(&long, u64::MAX).len() < 253);
    }
}
