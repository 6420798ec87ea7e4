//! What is served: the objects, and the resources by which clients reach them.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Registry;
use crate::store::Store;

/// The store, and the registry that says what is served from it.
#[derive(Debug)]
pub struct Served {
    store: Store,
    registry: RwLock<Arc<Registry>>,
}

impl Served {
    /// An empty store, from which these resources are served.
    pub fn new(registry: Registry) -> Self {
        Self {
            store: Store::default(),
            registry: RwLock::new(Arc::new(registry)),
        }
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        let registry = self.registry.read();
        Arc::clone(&registry)
    }

    /// Serves something else from now on. Watches of a kind end when the kind is not served any more, and when its
    /// definition changes: the real server makes a new storage for each generation, and closes the watches of the old one
    /// (`tearDown` in apiextensions-apiserver's customresource_handler.go).
    pub fn serve(&self, registry: Registry) {
        let registry = Arc::new(registry);
        let before = {
            let mut held = self.registry.write();
            std::mem::replace(&mut *held, Arc::clone(&registry))
        };
        for place in before.places_not_in(&registry) {
            self.store.close(&place);
        }
        for place in registry.places_not_in(&before) {
            self.store.begin(&place);
        }
        for place in registry.places_changed_since(&before) {
            self.store.end_watches(&place);
        }
        // Readers that wait for a kind look again.
        self.store.ring();
    }
}
