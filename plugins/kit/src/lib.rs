//! What controllers of Kubernetes' own kinds share: facts of Kubernetes as pure functions.
//!
//! This crate knows neither the SDK nor any I/O. The rules are those of Kubernetes' documentation, its enhancement proposals,
//! and its observed behavior.

pub mod claim;
pub mod cron;
pub mod finished;
pub mod metadata;
pub mod namespace;
pub mod percent;
pub mod pod;
pub mod ranking;
pub mod template;
