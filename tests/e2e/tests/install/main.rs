//! How a host and its plugins get into a cluster, and with which rights.

mod accounts;
mod artifacts;
mod chart;
mod deploy;
mod plugin_objects;
mod plugin_policy;
