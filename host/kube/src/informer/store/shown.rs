//! What a watch, a list or an answer does to the store, and which of two versions counts.

use crate::object::Object;

/// What one event did: at least one of both is there.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object as it was.
    pub old: Option<Object>,
    /// The object as it is.
    pub new: Option<Object>,
}

/// What the watch, or a list, did to the store.
#[derive(Clone, Debug)]
pub(in crate::informer) enum Shown {
    /// It has changed.
    Changed(Change),
    /// It holds this already, or something newer under the same name.
    Known(Object),
    /// Nothing that concerns anybody.
    Nothing,
}

/// Whether it is the same version of the same object.
pub(super) fn is_same(object: &Object, held: &Object) -> bool {
    let (new, old) = (&object.metadata, &held.metadata);
    (&new.uid, &new.resource_version) == (&old.uid, &old.resource_version)
}

/// Whether it is a newer version.
pub(super) fn is_newer(object: &Object, held: &Object) -> bool {
    let (new, old) = (&object.metadata, &held.metadata);
    match (new.version(), old.version()) {
        (0, _) | (_, 0) => new.resource_version != old.resource_version,
        (new, old) => new > old,
    }
}
