//! The path and the query of a URL, in the form that is compared and sent.
//!
//! - Escapes of letters, digits and `-._~` are decoded; all others have capital digits. Then dot segments are removed.
//! - A path that a server could decode once more into dot segments is refused.

use super::UrlProblem;

/// How often a server could decode a path again. A path that still changes then is refused.
const ROUNDS: usize = 8;
/// What looks like a dot or a slash after a server has mapped it to ASCII.
const LOOKALIKES: [(char, &str); 8] = [
    ('\u{ff0e}', "."),
    ('\u{2024}', "."),
    ('\u{2025}', ".."),
    ('\u{ff0f}', "/"),
    ('\u{2044}', "/"),
    ('\u{2215}', "/"),
    ('\u{ff3c}', "/"),
    ('\\', "/"),
];

/// The normal form of a path.
pub(crate) fn normal_path(path: &str) -> Result<String, UrlProblem> {
    let path = without_dots(&escaped(path, is_in_path, true)?);
    refuse_disguised(&path)?;
    Ok(path)
}

/// The normal form of a query: other characters than those of a query are escaped, and the rest is left alone.
pub(super) fn normal_query(query: &str) -> Result<String, UrlProblem> {
    escaped(query, |byte| is_in_path(byte) || byte == b'?', false)
}

/// `text` with all bytes escaped that are not `plain`. If `decoded`, escapes are brought into their normal form.
fn escaped(text: &str, plain: fn(u8) -> bool, decoded: bool) -> Result<String, UrlProblem> {
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = (bytes.next(), bytes.next());
            let (Some(high), Some(low)) = (digits.0.and_then(digit), digits.1.and_then(digit))
            else {
                return Err(UrlProblem::Percent);
            };
            let value = high << 4 | low;
            if decoded && is_unreserved(value) {
                out.push(char::from(value));
            } else if decoded {
                out.push_str(&format!("%{value:02X}"));
            } else {
                out.push('%');
                out.extend([digits.0, digits.1].into_iter().flatten().map(char::from));
            }
        } else if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(out)
}

/// Removes dot segments (RFC 3986, 5.2.4). The path begins with a slash.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Refuses a path that has a dot segment or a control character once it is decoded, however often.
fn refuse_disguised(path: &str) -> Result<(), UrlProblem> {
    let mut path = path.to_owned();
    for _ in 0..ROUNDS {
        if path.split('/').any(is_dot_segment) || path.chars().any(char::is_control) {
            return Err(UrlProblem::Disguised);
        }
        let decoded = decode(&path)?;
        if decoded == path {
            return Ok(());
        }
        path = decoded;
    }
    Err(UrlProblem::Disguised)
}

/// Whether a server may take it for a dot segment: parameters after a semicolon do not count.
fn is_dot_segment(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or(segment);
    matches!(name, "." | "..")
}

/// `path` as a server may see it: decoded once, with all that may become a dot or a slash.
fn decode(path: &str) -> Result<String, UrlProblem> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let pair = after.split_at_checked(2);
        if let (b'%', Some(([high, low], after))) = (byte, pair)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            bytes.push(high << 4 | low);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    let mut text = String::from_utf8(bytes).map_err(|_| UrlProblem::Utf8)?;
    for (lookalike, ascii) in LOOKALIKES {
        if text.contains(lookalike) {
            text = text.replace(lookalike, ascii);
        }
    }
    Ok(text)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// RFC 3986: `pchar` and the slash.
fn is_in_path(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@/".contains(&byte)
}
