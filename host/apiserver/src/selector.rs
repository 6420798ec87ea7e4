//! Which objects a list or a watch is about: label and field selectors.

mod fields;
mod labels;
mod lexer;
pub(crate) mod requirement;
mod written;

pub use fields::FieldSelector;
pub use labels::LabelSelector;
pub use written::written;

/// Text that is not a selector, in the real server's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSelector(pub String);
