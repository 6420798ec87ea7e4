//! What a plugin needs, as its description says, beside what it is granted: what is missing, what cannot work, and what
//! to write.

mod problems;
mod wanted;

pub use problems::{GrantProblem, PrimaryKind, find as problems};
pub use wanted::{CoverageQuery, wanted};
