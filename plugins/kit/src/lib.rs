//! What controllers of Kubernetes' own kinds share: facts of Kubernetes as pure functions.
//!
//! This crate knows neither the SDK nor any I/O. The rules are those of Kubernetes' documentation, its enhancement proposals,
//! and its observed behavior.

pub mod metadata;
pub mod pod;
pub mod ranking;
