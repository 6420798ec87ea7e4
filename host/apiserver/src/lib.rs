//! A Kubernetes API server in memory: for plugin authors, tests and simulations; not for production.

pub mod builtin;
pub mod crd;
#[cfg(test)]
mod deep;
pub mod discovery;
pub mod field;
pub mod fields;
pub mod metadata;
pub mod names;
pub mod openapi;
pub mod patch;
pub mod registry;
pub mod request;
pub mod schema;
pub mod seams;
pub mod selector;
pub mod status;
pub mod store;
pub mod table;
