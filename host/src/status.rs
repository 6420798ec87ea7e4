//! What each plugin of a host does, how fast, and what is wrong with it: for the status page, `windlass top` and
//! their tools.
//!
//! - Everything is taken from what is counted and recorded anyway; no lock of a plugin's loop is held but to copy.

mod collector;
mod document;
mod table;
#[cfg(test)]
mod tests;
mod warnings;

pub use collector::StatusCollector;
pub use document::{GrantStatus, KeyStatus, Passes, PluginDetails, PluginStatus, Status, Warning};
pub use table::{COLUMNS, cells, details, table};
