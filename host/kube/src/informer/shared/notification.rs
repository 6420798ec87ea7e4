//! What subscribers of an informer hear.

use crate::informer::store::Change;
use crate::object::Object;

/// What subscribers hear.
#[derive(Clone, Copy, Debug)]
pub enum Notification<'a> {
    /// The store has changed.
    Changed(&'a Change, Origin),
    /// The watch shows what the store holds already, or held before.
    Known(&'a KnownVersion),
}

/// A version that was shown and is not news to the store.
#[derive(Clone, Debug)]
pub struct KnownVersion {
    /// What the store holds under the name.
    pub held: Object,
    /// The version that was shown.
    pub version: u64,
    /// Where from.
    pub origin: Origin,
    /// Whether something newer was shown before: the watch is out of order.
    pub late: bool,
}

/// Where news come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From a list: what happened between two versions of an object is not known.
    List,
    /// From the watch.
    Watch,
    /// From the answer to a request of another subscriber.
    Answer,
}
