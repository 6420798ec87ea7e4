//! Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
//!
//! A change of an object takes this way: [`informer`] watches and stores it, [`view`] finds the plugins' objects that it
//! concerns, and [`controller`] puts their keys into a queue. A worker takes a key and runs the [`plugin`] in a sandbox. The
//! plugin's calls go through its grants ([`plugin::cluster`]), and then to the store or through [`api`] to the API server.
//! The retry policy says when the key runs again.
//!
//! A module imports only modules of lower lines; the test in `tests/layers` reads this drawing.
//!
//! ```layers
//! cli  the command line: its commands, threads and exit codes
//! commands, runtime  the operator's commands; `runtime` puts a host together
//! admin  the HTTP endpoints of a host: metrics, health, status
//! hosting, benchmarks, status, why  which version of a plugin runs; scenes for `make bench-check`; what plugins do; why an object was reconciled
//! controller, rbac  queue, workers, retries, finalizers; roles for the host
//! metrics, needs, recording  counters; what a plugin needs and lacks; recorded passes
//! plugin  components in sandboxes, and their calls
//! registries, source, view  credentials of registries; what plugins are asked for; the cluster as one plugin sees it
//! events, finalizers, informer, manifest, rights  Kubernetes Events; finalizers of objects; shared watches and stores; Plugin documents; what service accounts may do
//! connect, definitions, grants, lease, object  the connection to a cluster; definitions that plugins carry; what a plugin may do; leader election; stored objects
//! api, telemetry  requests to the API server; log and traces
//! crashes, flags, flowcontrol, screen, shutdown, spans  which component ran when a host died; shares of plugins
//! selector  selectors of objects, by labels and fields
//! bugs, digest, error, memory, scene, seams, text  bugs on purpose for the simulation; time, chance and tasks
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod admin;
pub mod api;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
pub mod bugs;
pub mod cli;
pub mod commands;
pub mod connect;
pub mod controller;
pub mod crashes;
pub mod definitions;
pub mod digest;
pub mod error;
pub mod events;
pub mod finalizers;
pub mod flags;
pub mod flowcontrol;
pub mod grants;
pub mod hosting;
pub mod informer;
pub mod lease;
pub mod manifest;
pub mod memory;
pub mod metrics;
pub mod needs;
pub mod object;
pub mod plugin;
pub mod rbac;
pub mod recording;
pub mod registries;
pub mod rights;
pub mod runtime;
#[cfg(feature = "benchmarks")]
pub mod scene;
pub mod screen;
pub mod seams;
pub mod selector;
pub mod shutdown;
pub mod source;
pub mod spans;
pub mod status;
pub mod telemetry;
pub mod text;
pub mod view;
pub mod why;
