//! What is wrong with a JSON text, in the words of Go's `encoding/json`, which clients and people search for.
//!
//! The scanner reads the text once and keeps its own stack, so depth costs nothing.

/// Deeper than this nothing is read.
const MAX_DEPTH: usize = 10_000;

/// What comes next in an object or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    ObjectKey,
    ObjectValue,
    Array,
}

/// What is wrong with a JSON text; nothing if it is fine.
pub fn json_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.document().err()
}

/// A JSON text that Go takes, with the sign for what is not text in the place of broken UTF-8 and of halves
/// of surrogate pairs.
pub fn as_text(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(_), _) => {
                out.push('\u{fffd}');
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (None, _) => 2,
        };
        let (escape, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    out.into_bytes()
}

/// The half of a surrogate pair that an escape stands for.
fn surrogate(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let half = u16::from_str_radix(digits, 16).ok()?;
    (0xd800..=0xdfff).contains(&half).then_some(half)
}

/// A number as Go's `strconv.ParseUint` reads it; nothing at all is 0, as in a `resourceVersion`.
///
/// # Errors
/// In the words of that function.
pub fn parse_uint(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let why = if text.starts_with('+') {
        "invalid syntax"
    } else {
        match text.parse::<u64>() {
            Ok(number) => return Ok(number),
            Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
                "value out of range"
            }
            Err(_) => "invalid syntax",
        }
    };
    Err(format!("strconv.ParseUint: parsing {text:?}: {why}"))
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

type Scanned<T = ()> = Result<T, String>;

impl Scanner<'_> {
    fn document(&mut self) -> Scanned {
        let mut inside: Vec<Container> = Vec::new();
        loop {
            self.space();
            if self.value(&mut inside)? {
                continue;
            }
            // A value has ended: what follows depends on what it is in.
            loop {
                self.space();
                let Some(byte) = self.peek() else {
                    return if inside.is_empty() {
                        Ok(())
                    } else {
                        Err(end())
                    };
                };
                let Some(place) = inside.last_mut() else {
                    return wrong(byte, "after top-level value");
                };
                match (*place, byte) {
                    (Container::ObjectValue, b',') => {
                        self.at += 1;
                        *place = Container::ObjectKey;
                        self.key()?;
                        *place = Container::ObjectValue;
                        break;
                    }
                    (Container::Array, b',') => {
                        self.at += 1;
                        break;
                    }
                    (Container::ObjectValue, b'}') | (Container::Array, b']') => {
                        self.at += 1;
                        inside.pop();
                    }
                    (Container::Array, _) => return wrong(byte, "after array element"),
                    _ => return wrong(byte, "after object key:value pair"),
                }
            }
        }
    }

    /// Reads a value, or the beginning of one that has values inside; says whether there is one to read
    /// next.
    fn value(&mut self, inside: &mut Vec<Container>) -> Scanned<bool> {
        let byte = self.peek().ok_or_else(end)?;
        match byte {
            b'{' | b'[' => {
                if inside.len() >= MAX_DEPTH {
                    return wrong(byte, "exceeded max depth");
                }
                self.at += 1;
                self.space();
                let next = self.peek().ok_or_else(end)?;
                match (byte, next) {
                    (b'{', b'}') | (b'[', b']') => {
                        self.at += 1;
                        Ok(false)
                    }
                    (b'{', _) => {
                        inside.push(Container::ObjectValue);
                        self.key().map(|()| true)
                    }
                    _ => {
                        inside.push(Container::Array);
                        Ok(true)
                    }
                }
            }
            b'"' => self.string().map(|()| false),
            b'-' | b'0'..=b'9' => self.number().map(|()| false),
            b't' => self.literal("true").map(|()| false),
            b'f' => self.literal("false").map(|()| false),
            b'n' => self.literal("null").map(|()| false),
            other => wrong(other, "looking for beginning of value"),
        }
    }

    fn key(&mut self) -> Scanned {
        self.space();
        match self.peek().ok_or_else(end)? {
            b'"' => self.string()?,
            other => return wrong(other, "looking for beginning of object key string"),
        }
        self.space();
        match self.next()? {
            b':' => Ok(()),
            other => wrong(other, "after object key"),
        }
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.next()?;
                            if !byte.is_ascii_hexdigit() {
                                return wrong(byte, "in \\u hexadecimal character escape");
                            }
                        }
                    }
                    other => return wrong(other, "in string escape code"),
                },
                low @ 0..=0x1f => return wrong(low, "in string literal"),
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Scanned {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            other => return wrong(other, "in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Scanned {
        match self.next()? {
            b'0'..=b'9' => {
                self.digits();
                Ok(())
            }
            other => wrong(other, place),
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        for expected in word.bytes() {
            let byte = self.next()?;
            if byte != expected {
                let expected = char::from(expected);
                return wrong(byte, &format!("in literal {word} (expecting '{expected}')"));
            }
        }
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Scanned<u8> {
        let byte = self.peek().ok_or_else(end)?;
        self.at += 1;
        Ok(byte)
    }
}

fn end() -> String {
    "unexpected end of JSON input".to_owned()
}

fn wrong<T>(byte: u8, place: &str) -> Scanned<T> {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        low @ (0..=0x1f | 0x7f) => format!("'\\x{low:02x}'"),
        // Go takes the byte for a character, and shows those that can be seen.
        hidden @ (0x80..=0xa0 | 0xad) => format!("'\\u{hidden:04x}'"),
        high => format!("'{}'", char::from(high)),
    };
    Err(format!("invalid character {shown} {place}"))
}

/// A body as messages show it: its beginning, in hexadecimal where it is not an object.
pub fn summary(body: &[u8]) -> String {
    const LONGEST: usize = 30;
    let (head, more) = match body.get(..LONGEST) {
        Some(head) if body.len() > LONGEST => (head, " ..."),
        _ => (body, ""),
    };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => {
            let hex: String = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_has_gos_words() {
        let cases = [
            ("{}", None),
            (r#"{"a":[1,-2.5e+3,true,null,"\u00e4"]} "#, None),
            ("", Some("unexpected end of JSON input")),
            ("{", Some("unexpected end of JSON input")),
            (r#"{"a":1"#, Some("unexpected end of JSON input")),
            (
                "x",
                Some("invalid character 'x' looking for beginning of value"),
            ),
            (
                "{a:1}",
                Some("invalid character 'a' looking for beginning of object key string"),
            ),
            (r#"{"a" 1}"#, Some("invalid character '1' after object key")),
            (
                r#"{"a":1 "b"}"#,
                Some("invalid character '\"' after object key:value pair"),
            ),
            ("[1 2]", Some("invalid character '2' after array element")),
            (
                "[1,]",
                Some("invalid character ']' looking for beginning of value"),
            ),
            ("{} {}", Some("invalid character '{' after top-level value")),
            (
                "nuxl",
                Some("invalid character 'x' in literal null (expecting 'l')"),
            ),
            (
                "1.x",
                Some("invalid character 'x' after decimal point in numeric literal"),
            ),
            ("\"\n\"", Some("invalid character '\\n' in string literal")),
            (
                r#""\x""#,
                Some("invalid character 'x' in string escape code"),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(json_error(text.as_bytes()).as_deref(), want, "{text:?}");
        }
        let deep = "[".repeat(20_000);
        assert_eq!(
            json_error(deep.as_bytes()).unwrap(),
            "invalid character '[' exceeded max depth"
        );
        assert_eq!(summary(b"a: b"), "613a2062");
    }
}
