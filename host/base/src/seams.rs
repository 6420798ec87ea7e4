//! Time, randomness and spawning, handed in so that a run can be repeated exactly.
//!
//! - Nothing else in the host reads a clock, draws a random number or starts a task or a thread;
//!   `clippy.toml` fails the build where it does.
//! - There is no global state: a host is the sum of its tasks and what it was handed.

mod child;
mod clock;
pub mod environment;
mod files;
mod process;
mod program;
mod rng;
mod shell;
mod spawn;
pub mod watch;
mod zone;

pub use child::ChildExit;
pub use clock::{Clock, ManualWallClock};
pub use files::{Notice, Notices};
pub use process::Process;
pub use program::Program;
pub use rng::Rng;
pub use spawn::{Spawn, Task, guest_threads};
pub use zone::{time_of_day, time_zone};

/// The three seams, as every part of the host receives them.
#[derive(Clone, Debug)]
pub struct Seams {
    /// Where the time comes from.
    pub clock: Clock,
    /// Where random numbers come from.
    pub rng: Rng,
    /// Where tasks and threads come from.
    pub spawn: Spawn,
}
