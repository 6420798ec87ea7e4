//! A Kubernetes API server in memory: for plugin authors, tests and simulations; not for production.

pub mod addresses;
pub mod answer;
pub mod authentication;
pub mod body;
pub mod boot;
mod budgets;
pub mod builtin;
pub mod controllers;
pub mod convert;
pub mod crd;
mod deep;
pub mod definitions;
pub mod discovery;
mod encode;
pub mod faults;
pub mod field;
pub mod fields;
pub mod history;
pub mod json_path;
pub mod listen;
pub mod meta;
pub mod metadata;
pub mod mutants;
pub mod names;
pub mod openapi;
pub mod options;
pub mod outline;
pub mod patch;
mod policy;
pub mod present;
pub mod rbac;
pub mod registry;
pub mod request;
pub mod reviews;
pub mod schema;
pub mod seams;
pub mod seed;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
pub mod strategy;
pub mod subresource;
pub mod table;
pub mod tokens;
pub mod verbs;
pub mod write;

/// The examples of the guide run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dev-server.md")]
struct Guide;
