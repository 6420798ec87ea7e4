//! A guest with the bugs that operators have, one at a time. Its configuration chooses the bug: `{"bug": "status-first"}`.
//! Without one, everything is right.
//!
//! Each kind stands for a few of the bugs. A comment at each bug says where it was first seen.

mod garden;
mod hive;
mod maps;
mod meadow;

use windlass_sdk::export;

pub use garden::Gardens;
pub use hive::Hives;
pub use meadow::Meadows;

export!(Gardens, Hives, Meadows);
