//! What can be done with objects: one file per verb.

pub mod create;
pub mod delete;
pub mod documents;
pub mod patch;
pub mod read;
pub(crate) mod subresource;
pub mod update;
pub mod watch;
