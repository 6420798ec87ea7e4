//! Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
//!
//! A change of an object takes this way: `informer` watches and stores it, `view` finds the plugins' objects that it
//! concerns, and `controller` puts their keys into a queue. A worker takes a key and calls the plugin in a `sandbox`. The
//! plugin's calls go through its grants (`sandbox::cluster`), and then to the store or through `api` to the API server.
//! The retry policy says when the key runs again.
//!
//! A module imports only modules of lower lines; the test in `tests/layers` reads this drawing.
//!
//! ```layers
//! cli  the command line: its commands, threads and exit codes
//! commands, runtime  the operator's commands; `runtime` puts a host together
//! admin  the HTTP endpoints of a host: metrics, health, status
//! benchmarks, hosting, rbac, status, why  scenes for `make bench-check`; which version of a plugin runs; roles for the host; what plugins do; why an object was reconciled
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod admin;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
pub mod cli;
pub mod commands;
pub mod hosting;
pub mod rbac;
pub mod runtime;
pub mod status;
pub mod why;
