//! Queue, workers, retries and finalizers of a plugin; its counters, needs and recorded passes.
//!
//! ```layers
//! controller  queue, workers, retries, finalizers
//! metrics, needs, recording  counters; what a plugin needs and lacks; recorded passes
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod controller;
pub mod metrics;
pub mod needs;
pub mod recording;
