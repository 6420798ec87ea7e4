//! Hosts on the worst days of an API server and of their own: leaders die and freeze, watches break, the
//! server is away, busy, or talks rubbish.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod busy;
mod crowd;
mod cuts;
mod leaders;
mod life;
mod replicas;
mod rubbish;
mod stores;
