//! What an operator says: Plugin documents, grants, sources of components, and the rights of service accounts.
//!
//! ```layers
//! registries, source  credentials of registries; where Plugin documents come from
//! manifest, rights  Plugin documents; what service accounts may do
//! definitions, grants  definitions that plugins carry; what a plugin may do
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod definitions;
pub mod grants;
pub mod manifest;
pub mod registries;
pub mod rights;
pub mod source;
