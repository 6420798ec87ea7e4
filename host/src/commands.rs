//! The commands for operators, but for those that are as large as a module.

pub mod annotate;
pub mod release;
pub mod why;
