//! Cuts the text of an object to declared fields in one pass, without a tree: passes over many objects spend much of their
//! time here.
//!
//! [`Selection`](crate::object::Selection) reads rows of values in the same way.

use std::collections::BTreeMap;

use super::PathStep;
use crate::object::scanner::{Scanner, unquoted};

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
        Cutter(Scanner::of(text)).cut(self, to)
    }
}

/// Cuts what the scanner comes to.
struct Cutter<'a>(Scanner<'a>);

impl Cutter<'_> {
    /// Passes a value, and writes what `branch` leaves of it. Returns whether that is anything.
    fn cut(&mut self, branch: &Branch, to: &mut String) -> bool {
        if branch.is_wanted {
            to.push_str(self.0.value());
            return true;
        }
        match (self.0.peek(), &branch.each) {
            (Some(b'{'), _) if !branch.fields.is_empty() => self.cut_object(branch, to),
            (Some(b'['), Some(each)) => {
                self.cut_list(each, to);
                true
            }
            _ => {
                self.0.value();
                false
            }
        }
    }

    fn cut_object(&mut self, branch: &Branch, to: &mut String) -> bool {
        let before = to.len();
        let mut separator = '{';
        let mut is_open = self.0.take(b'{');
        while is_open {
            let Some(quoted) = self.0.name() else {
                break;
            };
            match branch.field(&unquoted(quoted)) {
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
                None => drop(self.0.value()),
            }
            is_open = self.0.take(b',');
        }
        self.0.take(b'}');
        if to.len() == before {
            return false;
        }
        to.push('}');
        true
    }

    /// Items keep their places.
    fn cut_list(&mut self, each: &Branch, to: &mut String) {
        to.push('[');
        let mut is_open = self.0.take(b'[') && !self.0.take(b']');
        while is_open {
            let nothing = match self.0.peek() {
                Some(b'{') => "{}",
                Some(b'[') => "[]",
                _ => "null",
            };
            if !self.cut(each, to) {
                to.push_str(nothing);
            }
            is_open = self.0.take(b',');
            if is_open {
                to.push(',');
            }
        }
        self.0.take(b']');
        to.push(']');
    }
}
