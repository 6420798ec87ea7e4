//! Hosts on their worst days: leaders die and freeze, watches break.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod leaders;
mod stores;
