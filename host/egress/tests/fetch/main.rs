//! Fetches as the host makes them, against servers on 127.0.0.1.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a test is its own clock and starts its own servers"
)]

mod answers;
mod attacks;
mod bodies;
mod connections;
mod cost;
mod server;
mod time;
mod tls;
mod wire;
mod world;
