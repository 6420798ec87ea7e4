//! A Kubernetes API server in memory: for plugin authors, tests and simulations; not for production.

pub mod registry;
pub mod schema;
pub mod status;
