//! Who owns which fields of an object: server-side apply, and `metadata.managedFields` of every write.
//!
//! ```text
//!  create, PUT, patch                       server-side apply
//!        |                                        |
//!  update.rs   what the client says about      apply.rs    the live object, last-applied of kubectl
//!              managedFields, or the live one     |
//!        |                                        |
//!        +------------> updater.rs <--------------+
//!                         | merge.rs      the configuration into the live object
//!                         | prune.rs      what its applier no longer names goes
//!                         | compare.rs    what changed: conflicts, and fields that change hands
//!                         v
//!                      managers.rs   who owns what, since when: the list in the object
//! ```
//!
//! - Pure functions; what they do is what structured-merge-diff and apimachinery's `managedfields` do.
//! - A schema that begins with a named type is that of a built-in kind; else it is a CRD's.

mod apply;
mod check;
mod compare;
mod entry;
mod json;
mod last_applied;
mod managers;
mod merge;
mod meta;
mod object;
mod path;
mod plain;
mod prune;
mod reconcile;
mod refusal;
mod scale;
mod set;
mod types;
mod update;
mod updater;
mod versions;
mod walk;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod smd;
#[cfg(test)]
mod testing;

use jiff::Timestamp;

use crate::schema::Schema;

pub use apply::apply;
pub use json::NoSet;
pub use path::PathElement;
pub use plain::merged;
pub use scale::Replicas;
pub use set::Set;
pub use update::{keep_times, update};

/// Who writes, and where.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager; `unknown` where it is empty.
    pub manager: &'a str,
    /// The version of the endpoint, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the endpoint, such as `Deployment`.
    pub kind: &'a str,
    /// All versions that the kind is known in, such as `["apps/v1"]`: who owns fields in another one owns
    /// nothing.
    pub versions: &'a [&'a str],
    /// What objects look like in versions other than that of the endpoint, where that is known.
    pub schemas: &'a [(String, Schema)],
    /// `status` and so on; empty for the object itself.
    pub subresource: &'a str,
    /// When it happens.
    pub now: Timestamp,
}

/// What an apply does about fields that others own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuses to change them.
    Refuse,
    /// Takes them over.
    Force,
}

impl OnConflict {
    /// What a client wants that says `force` or not.
    pub fn of(force: bool) -> Self {
        if force { Self::Force } else { Self::Refuse }
    }
}
