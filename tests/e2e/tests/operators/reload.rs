//! Plugins come, change and go while the host runs, and nothing is lost by it.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod crash;
mod folder;
mod refused;
mod relay;
mod storm;
