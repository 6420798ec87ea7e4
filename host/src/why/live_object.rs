//! What the API server says of an object, beside what a plugin's store shows.

use std::sync::Arc;

use crate::object::Metadata;

/// What the API server says of the object now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveObject {
    /// It could not be asked.
    Unknown(String),
    /// It is not there.
    Absent,
    /// It is there.
    There(Arc<Metadata>),
}
