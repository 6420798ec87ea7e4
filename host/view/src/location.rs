//! Where an object is: which store tells of it, if one does.

use std::sync::Arc;

use super::View;
use windlass_kube::api::Resource;
use windlass_kube::informer::Subscription;
use windlass_kube::object::Key;

/// Where an object is.
pub(super) enum ObjectLocation {
    /// This store answers for it: it is there, or it does not exist.
    Held(Arc<Subscription>),
    /// The selector leaves it out. This store has the metadata of the whole kind.
    Unselected(Arc<Subscription>),
    /// No store answers for it. If it is of the primary's kind, the store of those that are selected may show it later.
    Unheld(Option<Arc<Subscription>>),
}

impl View {
    /// Where the object is.
    pub(super) fn place(&self, resource: &Resource, key: &Key) -> ObjectLocation {
        let informer = self.informer(resource, key.namespace.as_deref());
        match (self.holds(resource, key), informer) {
            (true, Some(informer)) => ObjectLocation::Held(informer),
            (_, informer) => match self.unselected_informer(resource, key) {
                Some(unselected) => ObjectLocation::Unselected(unselected),
                None => ObjectLocation::Unheld(informer),
            },
        }
    }
}
