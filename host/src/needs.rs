//! What a plugin needs, as its description says, beside what it is granted: what is missing, what cannot work, and what
//! to write.

mod problems;
mod readiness;
mod wanted;

pub use problems::{PrimaryKind, Problem};
pub use readiness::{Readiness, lacks};
pub use wanted::{Places, wanted};

use problems::find as problems;
