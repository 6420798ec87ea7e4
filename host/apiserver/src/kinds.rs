//! The kinds of Kubernetes as data, captured from the real server by `make apiserver-data` and unpacked when
//! first asked for: which there are, their types, and the Go structs behind them.
//!
//! Data that cannot be read is a fault of the build: the tests read all of it.

pub(crate) mod catalog;
pub(crate) mod data;
pub(crate) mod structs;
pub(crate) mod types;
