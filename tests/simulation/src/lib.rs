//! Hosts, their API server and its users in one thread, with faults, from one seed.
//!
//! ```text
//! case     a seed, a script, faults          -> run      the phases: trouble, healing, rest
//! script   what the user does                -> user
//! fault    what goes wrong                   -> network (at requests), deeds (at some time)
//! world    the server, the hosts (replica, by their wire to the server), time
//! trace    what happened, with the logs      -> oracle   what is wrong with it
//! workloads   the same for Kubernetes' controllers of workloads: other scripts, more oracles
//! ```

pub mod days;
pub mod deeds;
pub mod fault;
pub mod kit;
pub mod logs;
pub mod network;
pub mod oracle;
pub mod panics;
pub mod replica;
pub mod run;
pub mod script;
pub mod suite;
pub mod trace;
pub mod user;
pub mod which;
pub mod wire;
pub mod workloads;
pub mod world;
