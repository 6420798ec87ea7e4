//! Which part of an object a write is about.

use serde_json::{Map, Value};

/// The part of an object that an apply is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApplyScope {
    /// The subresource `status`.
    Status,
    /// All but the status, which others write.
    Rest,
    /// All: the apply names the status as well, so the kind has no such subresource.
    Whole,
}

impl ApplyScope {
    /// What an apply of `object` to an object itself is about.
    pub fn of(object: &Map<String, Value>) -> Self {
        if object.contains_key("status") {
            Self::Whole
        } else {
            Self::Rest
        }
    }
}
