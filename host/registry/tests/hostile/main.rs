//! Pulls from registries on 127.0.0.1 that lie, and pushes to them.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod access;
mod answers;
mod fake;
mod folders;
mod forged;
mod redirects;
mod time;
mod world;
