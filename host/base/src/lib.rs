//! What every crate of the host stands on: time, chance and tasks, memory, text, and fair shares.
//!
//! Nothing here knows Kubernetes or WebAssembly.
//!
//! ```layers
//! flowcontrol, screen, shutdown, spans  shares of plugins; text on a terminal; the end of a process; traces of a call
//! bugs, digest, error, memory, scene, seams, text  bugs on purpose for the simulation; accounts of memory; time, chance and tasks
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod bugs;
pub mod digest;
pub mod error;
pub mod flowcontrol;
pub mod memory;
#[cfg(feature = "benchmarks")]
pub mod scene;
pub mod screen;
pub mod seams;
pub mod shutdown;
pub mod spans;
pub mod text;
