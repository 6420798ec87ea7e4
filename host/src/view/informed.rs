//! What informers show: it goes into the store, and wakes whom it concerns.

use super::{Change, Key, Name, Object, OwnWrites, View};
use crate::api::Resource;

impl View {
    /// An informer showed an object.
    pub(crate) fn shown(&self, resource: &Resource, object: Object) {
        let name = (resource.clone(), object.metadata.key());
        let version = object.metadata.version();
        let mut own = self.own();
        let keys = match self.store.apply(resource, object) {
            Some(change) => {
                self.forget_applied(resource, &change);
                self.woken(resource, &change)
            }
            // Older than the answer to a write of ours: no news to the store, but perhaps to those
            // whom it concerns.
            None => match self.store.get(resource, &name.1) {
                Some(held) if held.metadata.version() > version => self.concerned(resource, &held),
                Some(_) | None => Vec::new(),
            },
        };
        for key in keys {
            if !own.withhold(&name, version, &key) {
                (self.wake)(key);
            }
        }
        own.shown(&name, version);
    }

    /// An informer showed that an object is gone.
    pub(crate) fn gone(&self, resource: &Resource, object: &Object) {
        let mut own = self.own();
        if let Some(change) = self.store.delete(resource, object) {
            self.lost(&mut own, resource, &change);
        }
    }

    /// An informer asks for a whole list now.
    pub(crate) fn listing(&self) -> u64 {
        self.store.moment()
    }

    /// An informer has a whole list, which it asked for at the moment `since`.
    pub(crate) fn listed(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        since: u64,
        objects: Vec<Object>,
    ) {
        let mut own = self.own();
        for change in self.store.replace(resource, namespace, since, objects) {
            let Some(new) = &change.new else {
                self.lost(&mut own, resource, &change);
                continue;
            };
            self.forget_applied(resource, &change);
            let (name, version) = (
                (resource.clone(), new.metadata.key()),
                new.metadata.version(),
            );
            for key in self.woken(resource, &change) {
                if !own.withhold(&name, version, &key) {
                    (self.wake)(key);
                }
            }
            own.shown(&name, version);
        }
    }

    /// An object is gone: everybody whom it concerned hears of it.
    fn lost(&self, own: &mut OwnWrites<Name, Key>, resource: &Resource, change: &Change) {
        self.forget_applied(resource, change);
        if let Some(old) = &change.old {
            own.forget(&(resource.clone(), old.metadata.key()));
        }
        let keys = self.woken(resource, change);
        keys.into_iter().for_each(|key| (self.wake)(key));
    }

    /// Primaries were seen by their metadata, inside or outside the selector.
    pub(crate) fn stray_shown(&self, object: Object) {
        let key = object.metadata.key();
        if !object.metadata.has_finalizer(&self.outlook.finalizer) {
            self.strays
                .take_out(&self.outlook.primary, &object.metadata);
            return;
        }
        // What is in the store is woken from there.
        let selected = self.store.get(&self.outlook.primary, &key).is_some();
        if let Some(change) = self.strays.apply(&self.outlook.primary, object)
            && !selected
            && self.wakes.is_spec_change(&change)
        {
            (self.wake)(key);
        }
    }

    /// A primary that was seen by its metadata is gone.
    pub(crate) fn stray_gone(&self, object: &Object) {
        self.strays
            .take_out(&self.outlook.primary, &object.metadata);
    }

    /// Everything that is to be seen by metadata in `namespace`, or everywhere.
    pub(crate) fn strays_listed(&self, namespace: Option<&str>, objects: Vec<Object>) {
        self.strays
            .replace(&self.outlook.primary, namespace, u64::MAX, Vec::new());
        objects
            .into_iter()
            .for_each(|object| self.stray_shown(object));
    }
}
