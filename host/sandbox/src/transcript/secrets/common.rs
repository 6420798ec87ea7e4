//! What many Secrets hold and what is not a secret by itself: it is not looked for in other texts.

/// Values of many Secrets, in lower case. A password is not among them, however bad it is.
const WORDS: [&str; 36] = [
    "admin",
    "default",
    "dev",
    "development",
    "disabled",
    "enabled",
    "error",
    "false",
    "guest",
    "http",
    "https",
    "info",
    "kube-system",
    "latest",
    "local",
    "localhost",
    "main",
    "master",
    "name",
    "none",
    "null",
    "off",
    "opaque",
    "plain",
    "prod",
    "production",
    "public",
    "require",
    "root",
    "staging",
    "system",
    "test",
    "true",
    "user",
    "username",
    "warning",
];

/// What begins and ends the boundary lines of PEM (RFC 7468).
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Whether a value is not a secret: a very common word, or a boundary line of PEM.
pub(super) fn is_common(value: &str) -> bool {
    let value = value.trim();
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word)) || is_boundary(value)
}

/// What is between the first boundary line of PEM and the last one; `None` if the text does not begin with one, or has
/// nothing else.
pub(super) fn pem_body(text: &str) -> Option<&str> {
    let (first, rest) = text.trim().split_once('\n')?;
    if !is_boundary(first.trim()) {
        return None;
    }
    match rest.rsplit_once('\n') {
        Some((body, last)) if is_boundary(last.trim()) => Some(body),
        _ => Some(rest),
    }
}

/// Whether a form begins with a boundary line of PEM and goes on in the next line, which a log line shows as `\n`. Its
/// body is another form.
pub(super) fn begins_with_pem(form: &[u8]) -> bool {
    let line = form.strip_prefix(BEGIN.as_bytes()).unwrap_or_default();
    let label = line.iter().take_while(|byte| is_label(**byte)).count();
    let after = line.get(label..).unwrap_or_default();
    match after.strip_prefix(DASHES.as_bytes()) {
        Some(rest) => [&b"\n"[..], b"\r", b"\\n", b"\\r"]
            .iter()
            .any(|end| rest.starts_with(end)),
        None => false,
    }
}

/// `-----BEGIN RSA PRIVATE KEY-----`.
fn is_boundary(line: &str) -> bool {
    let label = line
        .strip_prefix(BEGIN)
        .or_else(|| line.strip_prefix(END))
        .and_then(|rest| rest.strip_suffix(DASHES));
    label.is_some_and(|label| label.bytes().all(is_label))
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_boundary_lines_are_no_secrets_and_all_else_may_be_one() {
        let rows = [
            ("default", true),
            ("Default\n", true),
            ("TRUE", true),
            ("admin", true),
            ("admin1", false),
            ("password", false),
            ("changeme", false),
            ("12345", false),
            ("-----BEGIN RSA PRIVATE KEY-----", true),
            ("-----END CERTIFICATE-----\r\n", true),
            ("-----BEGIN KEY----- MIIE -----END KEY-----", false),
            ("-----begin key-----", false),
            ("-----pass-----", false),
            ("-----", false),
        ];
        for (value, want) in rows {
            assert_eq!(is_common(value), want, "{value}");
        }
        assert!(WORDS.is_sorted());
    }

    #[test]
    fn the_body_of_pem_is_what_is_between_its_boundary_lines() {
        let rows = [
            (
                "-----BEGIN KEY-----\nMIIE\nAQ==\n-----END KEY-----\n",
                Some("MIIE\nAQ=="),
            ),
            (
                "-----BEGIN KEY-----\r\nMIIE\r\n-----END KEY-----",
                Some("MIIE\r"),
            ),
            ("-----BEGIN KEY-----\nMIIE", Some("MIIE")),
            ("-----BEGIN KEY-----", None),
            ("MIIE\n-----END KEY-----", None),
            ("-----BEGIN KEY----- MIIE -----END KEY-----", None),
        ];
        for (text, want) in rows {
            assert_eq!(pem_body(text), want, "{text}");
            let begins = begins_with_pem(text.as_bytes());
            assert_eq!(begins, want.is_some(), "{text}");
        }
        assert!(begins_with_pem(br"-----BEGIN KEY-----\nMIIE"));
    }
}
