//! The forms in which a value comes back: as it is, in UTF-16 and UTF-32, in base64, in escapes, in hexadecimal digits.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Values from this length on are also looked for inside longer texts in base64.
const INSIDE: usize = 8;

/// All forms of `value` that are looked for.
pub(super) fn of(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for shift in 0..3 {
        if shift == 0 || value.len() >= INSIDE {
            forms.extend(base64_inside(value, shift));
        }
    }
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        let is_always = |_: u8| true;
        forms.push(encoded(value, "", digits, is_always));
        forms.push(encoded(value, "%", digits, is_always));
        forms.push(encoded(value, "%", digits, |byte| !is_unreserved(byte)));
        forms.push(encoded(value, "%", digits, |byte| !is_in_uri(byte)));
        forms.push(form(value, digits));
    }
    if let Ok(text) = str::from_utf8(value) {
        forms.extend(in_documents(text));
        forms.extend(wide(text));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Base64 of `value` with `shift` unknown bytes before it and any after it: the characters that depend on it alone.
fn base64_inside(value: &[u8], shift: usize) -> [Vec<u8>; 2] {
    let padded = [vec![0; shift], value.to_vec()].concat();
    let before = [0, 2, 3].into_iter().nth(shift).unwrap_or(0);
    let after = usize::from(!padded.len().is_multiple_of(3));
    [
        STANDARD_NO_PAD.encode(&padded),
        URL_SAFE_NO_PAD.encode(&padded),
    ]
    .map(|text| {
        let end = text.len().saturating_sub(after);
        text.as_bytes()
            .get(before..end)
            .unwrap_or_default()
            .to_vec()
    })
}

/// `value` with `mark` and two digits in place of each byte that is `escaped`.
fn encoded(value: &[u8], mark: &str, digits: &[u8; 16], escaped: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        if escaped(*byte) {
            out.extend(mark.as_bytes());
            let nibbles = [byte >> 4, byte & 15].map(usize::from);
            out.extend(nibbles.iter().filter_map(|nibble| digits.get(*nibble)));
        } else {
            out.push(*byte);
        }
    }
    out
}

/// In UTF-16 and UTF-32, with the high byte first or last.
fn wide(text: &str) -> [Vec<u8>; 4] {
    let (units, points) = (|| text.encode_utf16(), || text.chars().map(u32::from));
    [
        units().flat_map(u16::to_be_bytes).collect(),
        units().flat_map(u16::to_le_bytes).collect(),
        points().flat_map(u32::to_be_bytes).collect(),
        points().flat_map(u32::to_le_bytes).collect(),
    ]
}

/// As browsers send forms: a plus sign for a space.
fn form(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let is_escaped = |byte: u8| !byte.is_ascii_alphanumeric() && !b"*-._ ".contains(&byte);
    let mut form = encoded(value, "%", digits, is_escaped);
    for byte in form.iter_mut().filter(|byte| **byte == b' ') {
        *byte = b'+';
    }
    form
}

/// Inside JSON and inside HTML.
fn in_documents(text: &str) -> Vec<Vec<u8>> {
    let json = text.replace('\\', "\\\\").replace('"', "\\\"");
    let html = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let quoted = html.replace('"', "&quot;").replace('\'', "&#39;");
    let slashes = json.replace('/', "\\/");
    let escaped = json
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e");
    let ascii = escaped.chars().map(|c| {
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units).iter();
        if c.is_ascii() {
            c.to_string()
        } else {
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        }
    });
    let ascii = ascii.collect();
    [json, slashes, escaped, ascii, html, quoted]
        .map(String::into_bytes)
        .to_vec()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// What JavaScript's `encodeURI` leaves alone.
fn is_in_uri(byte: u8) -> bool {
    is_unreserved(byte) || b";/?:@&=+$,#!*'()".contains(&byte)
}
