//! Cuts the text of an object to declared fields in one pass, without a tree: passes over many objects spend much of their
//! time here.
//!
//! The text is JSON: it has been read before. Nothing is promised of another text, but that this ends.

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memchr2;

use super::PathStep;

/// The steps of a path that are followed. What more steps lead to is there whole.
const STEPS: usize = 128;

/// What paths lead to from one value on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    /// A path ends here: the value is wanted whole.
    is_wanted: bool,
    fields: BTreeMap<String, Branch>,
    each: Option<Box<Branch>>,
}

impl Branch {
    /// Adds a path.
    pub(super) fn add(&mut self, path: &[PathStep]) {
        let mut at = self;
        for step in path.iter().take(STEPS) {
            at = match step {
                PathStep::Field(name) => at.fields.entry(name.clone()).or_default(),
                PathStep::Each => at.each.get_or_insert_default(),
            };
        }
        at.is_wanted = true;
    }

    /// What the paths lead to in a field of an object.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.fields.get(name)
    }

    /// Writes what the paths leave of the value that `text` is. Returns whether one of them leads to something; if not, nothing
    /// is written.
    pub(super) fn write(&self, text: &str, to: &mut String) -> bool {
        Reader { text, at: 0 }.cut(self, to)
    }
}

/// Reads a text from its beginning to its end.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The rest, after white space.
    fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_ascii_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Whether this byte comes next; it is behind then.
    fn passes(&mut self, byte: u8) -> bool {
        let is_next = self.rest().first() == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes a value, and returns its text.
    fn value(&mut self) -> &'a str {
        let rest = self.rest();
        let from = self.at;
        self.at += length(rest);
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Passes a value, and writes what `branch` leaves of it. Returns whether that is anything.
    fn cut(&mut self, branch: &Branch, to: &mut String) -> bool {
        if branch.is_wanted {
            to.push_str(self.value());
            return true;
        }
        match (self.rest().first(), &branch.each) {
            (Some(b'{'), _) if !branch.fields.is_empty() => self.cut_object(branch, to),
            (Some(b'['), Some(each)) => {
                self.cut_list(each, to);
                true
            }
            _ => {
                self.value();
                false
            }
        }
    }

    fn cut_object(&mut self, branch: &Branch, to: &mut String) -> bool {
        let before = to.len();
        let mut separator = '{';
        let mut is_open = self.passes(b'{') && !self.passes(b'}');
        while is_open {
            let quoted = self.value();
            self.passes(b':');
            match branch.field(&name(quoted)) {
                Some(inner) => {
                    let so_far = to.len();
                    to.push(separator);
                    to.push_str(quoted);
                    to.push(':');
                    if self.cut(inner, to) {
                        separator = ',';
                    } else {
                        to.truncate(so_far);
                    }
                }
                None => drop(self.value()),
            }
            is_open = self.passes(b',');
        }
        self.passes(b'}');
        if to.len() == before {
            return false;
        }
        to.push('}');
        true
    }

    /// Items keep their places.
    fn cut_list(&mut self, each: &Branch, to: &mut String) {
        to.push('[');
        let mut is_open = self.passes(b'[') && !self.passes(b']');
        while is_open {
            let nothing = match self.rest().first() {
                Some(b'{') => "{}",
                Some(b'[') => "[]",
                _ => "null",
            };
            if !self.cut(each, to) {
                to.push_str(nothing);
            }
            is_open = self.passes(b',');
            if is_open {
                to.push(',');
            }
        }
        self.passes(b']');
        to.push(']');
    }
}

/// The name of a field, from its text in quotes.
fn name(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\') {
        return Cow::Owned(serde_json::from_str(quoted).unwrap_or_default());
    }
    Cow::Borrowed(quoted.trim_matches('"'))
}

/// How many bytes the value has that these begin with: at least one, if there are any.
fn length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = after_text(bytes, at + 1),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            // Within a list or an object only their ends count.
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            _ => {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                return at + 1 + rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Where the text ends that goes on at `at`: after its quote.
fn after_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        // What is escaped begins with one byte.
        at += 1;
    }
    bytes.len()
}
