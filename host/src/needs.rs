//! What a plugin needs, as its description says, beside what it is granted: what is missing, what cannot work, and what
//! to write.

mod problems;
mod wanted;

pub use problems::{PrimaryKind, Problem, find as problems};
pub use wanted::{Places, wanted};
