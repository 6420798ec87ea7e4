//! Where an object is: which store tells of it, if one does.

use std::sync::Arc;

use super::View;
use crate::api::Resource;
use crate::informer::Subscription;
use crate::object::Key;

/// Where an object is.
pub(super) enum Place {
    /// This store answers for it: it is there, or it does not exist.
    Held(Arc<Subscription>),
    /// The selector leaves it out. This store has the metadata of the whole kind.
    Unselected(Arc<Subscription>),
    /// No store answers for it. If it is of the primary's kind, the store of those that are selected may show it later.
    Unheld(Option<Arc<Subscription>>),
}

impl View {
    /// Where the object is.
    pub(super) fn place(&self, resource: &Resource, key: &Key) -> Place {
        let informer = self.informer(resource, key.namespace.as_deref());
        match (self.holds(resource, key), informer) {
            (true, Some(informer)) => Place::Held(informer),
            (_, informer) => match self.unselected_informer(resource, key) {
                Some(unselected) => Place::Unselected(unselected),
                None => Place::Unheld(informer),
            },
        }
    }
}
