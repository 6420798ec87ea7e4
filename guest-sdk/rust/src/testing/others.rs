//! What a test does to the cluster in the place of everybody else.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{Fixture, FixtureError};
use super::parts::{merge_patch, name_of};
use super::store::{FakeCluster, key};
use super::stored::Stored;
use crate::failed::Code;
use crate::query::ObjectRef;

impl FakeCluster {
    /// The cluster as it is before the first call of a fixture file.
    ///
    /// # Errors
    /// If the file is not there or not a fixture.
    pub fn given(path: impl AsRef<Path>) -> Result<Self, FixtureError> {
        Fixture::load(path)?.cluster()
    }

    /// The operator's configuration.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// Sets the operator's configuration: a JSON object.
    pub fn set_config(&mut self, config: Value) {
        self.config = config;
    }

    /// The time of calls from now on.
    pub fn clock(&self) -> &str {
        &self.clock
    }

    /// Sets the time of calls from now on: RFC 3339 in UTC, with milliseconds.
    pub fn set_clock(&mut self, now: impl Into<String>) {
        self.clock = now.into();
    }

    /// Puts an object there as somebody else would, whole. What it lacks of UID, generation,
    /// version and creation time is filled in.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it does not say what it is.
    pub fn put(&mut self, object: Value) -> Result<(), Code> {
        let target = name_of(&object)?;
        if let Some(namespace) = &target.namespace {
            self.add_namespace(namespace);
        }
        let fields = self
            .objects
            .get(&key(&target))
            .map(|old| old.fields.clone());
        let fields = fields.unwrap_or_default();
        self.store(&target, Stored { object, fields });
        Ok(())
    }

    /// Changes an object as somebody else would, by a JSON merge patch. `title` is
    /// `ConfigMap/default/ada`.
    ///
    /// # Errors
    /// [`Code::NotFound`].
    pub fn edit(&mut self, title: &str, patch: &Value) -> Result<(), Code> {
        let target = self.find(title).ok_or(Code::NotFound)?;
        let mut object = self.get(&target)?;
        merge_patch(&mut object, patch);
        self.put(object)
    }

    /// What is called `ConfigMap/default/ada`, or `Namespace/default`.
    pub fn find(&self, title: &str) -> Option<ObjectRef> {
        let names = self.objects().filter_map(|object| name_of(object).ok());
        names.into_iter().find(|name| name.to_string() == title)
    }

    /// Removes an object as somebody else would: it stays while it has finalizers.
    pub fn remove(&mut self, target: &ObjectRef) {
        let finalizers = |stored: &Stored| stored.object.pointer("/metadata/finalizers").cloned();
        match self.objects.get_mut(&key(target)) {
            Some(stored) if finalizers(stored).is_some_and(|list| list != json!([])) => {
                let now = json!(self.clock);
                stored.set_metadata("deletionTimestamp", |_| now);
                self.version += 1;
            }
            _ => drop(self.objects.remove(&key(target))),
        }
    }

    /// Makes a namespace, unless it is there.
    pub(super) fn add_namespace(&mut self, name: &str) {
        let target = ObjectRef::cluster_scoped("v1", "Namespace", name);
        if self.get(&target).is_err() {
            let fields = BTreeMap::new();
            self.store(
                &target,
                Stored {
                    object: target.skeleton(),
                    fields,
                },
            );
        }
    }
}
