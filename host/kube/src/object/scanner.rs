//! Reads JSON text from its beginning to its end, without a tree of it: what nobody asks for is passed over.
//!
//! - The text has been read before, so it is JSON. Of another text nothing is promised, but that reading it ends.
//! - White space before what comes next is passed over.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};

/// A place in a text.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning of `text`.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The rest, after white space.
    fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_ascii_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// What comes next.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Passes this byte, if it comes next. Returns whether it does.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes the name of a field, and the colon after it. Returns the name with its quotes.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        let quoted = (self.peek() == Some(b'"')).then(|| self.value())?;
        self.take(b':');
        Some(quoted)
    }

    /// Passes a value, and returns its text.
    pub(super) fn value(&mut self) -> &'a str {
        let rest = self.rest();
        let from = self.at;
        self.at += match rest.first() {
            Some(b'"') => 1 + text_length(rest.get(1..).unwrap_or_default()),
            Some(b'{' | b'[') => container_length(rest),
            _ => {
                let is_end =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                rest.iter().position(is_end).unwrap_or(rest.len())
            }
        };
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// The text from another place to this one.
    pub(super) fn since(&self, from: &Self) -> Option<&'a str> {
        self.text.get(from.at..self.at)
    }
}

/// What a name with its quotes says.
pub(super) fn unquoted(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\') {
        return Cow::Owned(serde_json::from_str(quoted).unwrap_or_default());
    }
    let inner = quoted
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'));
    Cow::Borrowed(inner.unwrap_or(quoted))
}

/// How many bytes a text takes after its first quote, with the last one.
fn text_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(end) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += end + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        // What follows a backslash ends nothing.
        at += 1;
    }
    bytes.len()
}

/// How many bytes an object or a list takes. In JSON, it ends where as many are closed as are opened of its own kind.
fn container_length(bytes: &[u8]) -> usize {
    let (open, close) = match bytes.first() {
        Some(b'{') => (b'{', b'}'),
        _ => (b'[', b']'),
    };
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(next) = memchr3(b'"', open, close, bytes.get(at..).unwrap_or_default()) {
        at += next + 1;
        match bytes.get(at - 1) {
            Some(b'"') => at += text_length(bytes.get(at..).unwrap_or_default()),
            Some(byte) if *byte == open => depth += 1,
            _ if depth <= 1 => return at,
            _ => depth -= 1,
        }
    }
    bytes.len()
}
