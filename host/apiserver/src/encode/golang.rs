//! The ways of Go's `encoding/json`: what it escapes, how it writes floats, how it indents.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Writes as Go does.
pub(super) struct Golang;

impl Formatter for Golang {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (escaped, length): (&[u8], usize) = match byte {
                b'<' => (b"\\u003c", 1),
                b'>' => (b"\\u003e", 1),
                b'&' => (b"\\u0026", 1),
                0xe2 => match bytes.get(at + 1..at + 3) {
                    Some([0x80, 0xa8]) => (b"\\u2028", 3),
                    Some([0x80, 0xa9]) => (b"\\u2029", 3),
                    _ => continue,
                },
                _ => continue,
            };
            writer.write_all(bytes.get(from..at).unwrap_or_default())?;
            writer.write_all(escaped)?;
            from = at + length;
        }
        writer.write_all(bytes.get(from..).unwrap_or_default())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size == 0.0 || (1e-6..1e21).contains(&size) {
            return write!(writer, "{value}");
        }
        let text = format!("{value:e}");
        if text.contains("e-") {
            return writer.write_all(text.as_bytes());
        }
        writer.write_all(text.replace('e', "e+").as_bytes())
    }
}

/// A JSON text with each field and item on a line of its own.
pub(crate) fn indented(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * text.len());
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        if in_string {
            out.push(*byte);
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(*byte);
                if let Some(end) = bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(*end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(*byte);
            }
            b',' => {
                out.push(*byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                in_string = *byte == b'"';
                out.push(*byte);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::to_vec;
    use super::*;

    #[test]
    fn texts_and_numbers_are_written_as_in_go() {
        let rows: [(Value, &str); 10] = [
            (
                json!("<a>&\u{2028}\u{2029}\u{202a}é"),
                "\"\\u003ca\\u003e\\u0026\\u2028\\u2029\u{202a}é\"",
            ),
            (
                json!("\u{1}\u{8}\u{c}\n\t\"\\/\u{7f}"),
                "\"\\u0001\\b\\f\\n\\t\\\"\\\\/\u{7f}\"",
            ),
            (json!({ "<": 1 }), "{\"\\u003c\":1}"),
            (json!(1.5), "1.5"),
            (json!(0.000_001), "0.000001"),
            (json!(0.000_000_15), "1.5e-7"),
            (json!(1.5e20), "150000000000000000000"),
            (json!(1.5e21), "1.5e+21"),
            (json!(-1e300), "-1e+300"),
            (json!(0.0), "0"),
        ];
        for (value, text) in rows {
            assert_eq!(String::from_utf8(to_vec(&value)).unwrap(), text);
        }
    }

    #[test]
    fn a_text_is_indented_as_in_go() {
        let text = br#"{"a":{},"b":[],"c":["x,{\"}:",{"d":1,"e":null}]}"#;
        let expected = "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    \"x,{\\\"}:\",\n    {\n      \"d\": 1,\n      \
                        \"e\": null\n    }\n  ]\n}";
        assert_eq!(String::from_utf8(indented(text)).unwrap(), expected);
    }
}
