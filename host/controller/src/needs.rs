//! What a plugin needs, as its description says, beside what it is granted: what is missing, what cannot work, and what
//! to write.

mod definitions;
mod origins;
mod problems;
mod readiness;
mod wanted;

pub use definitions::carried;
pub use origins::closed_origins;
pub use problems::{GrantProblem, PrimaryKind};
pub use readiness::{Readiness, lacks};
pub use wanted::{CoverageQuery, wanted};

use problems::{find as problems, has_namespaces};
