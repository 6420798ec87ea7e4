//! The host's way to Kubernetes: requests, watches and their stores, Leases, Events, finalizers.
//!
//! Only this crate knows the client of the kube crate.
//!
//! ```layers
//! events, finalizers, informer, lease  Kubernetes Events; finalizers of objects; shared watches and stores; leader election
//! connect, flags, object  the connection to a cluster; flags of several commands; stored objects
//! api, crashes, selector, telemetry  requests to the API server; which component ran when a host died; selectors; log and traces
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod api;
pub mod connect;
pub mod crashes;
pub mod events;
pub mod finalizers;
pub mod flags;
pub mod informer;
pub mod lease;
pub mod object;
pub mod selector;
pub mod telemetry;
