//! The server as a service without a socket.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "time is tokio's here, and paused"
)]

mod definitions;
mod definitions_work;
mod dry_run;
mod faults;
mod hostile;
mod judge;
mod life;
mod mutating;
mod mutations;
mod policies;
mod protobuf;
mod random;
mod seed;
mod status_default;
mod support;
mod watches;
