//! Objects that a key has perhaps created: the API server gave no answer, and the store may not show them yet.
//!
//! - A key that runs again before the store shows such an object would create another one.

use std::collections::HashMap;

use futures::future::join_all;
use parking_lot::Mutex;

use super::View;
use crate::api::Resource;
use crate::object::Key;

/// How many creations of each resource each key waits for, or knows no answer of.
#[derive(Debug, Default)]
pub(super) struct Unanswered(Mutex<HashMap<Key, HashMap<Resource, u32>>>);

impl Unanswered {
    fn add(&self, by: &Key, resource: &Resource) {
        let mut all = self.0.lock();
        let resources = all.entry(by.clone()).or_default();
        *resources.entry(resource.clone()).or_default() += 1;
    }

    fn remove(&self, by: &Key, resource: &Resource) {
        let mut all = self.0.lock();
        let Some(resources) = all.get_mut(by) else {
            return;
        };
        if let Some(count) = resources.get_mut(resource) {
            *count = count.saturating_sub(1);
        }
        resources.retain(|_, count| *count > 0);
        if resources.is_empty() {
            all.remove(by);
        }
    }

    /// The key is gone, or has caught up.
    pub(super) fn take(&self, by: &Key) -> Vec<Resource> {
        let resources = self.0.lock().remove(by).unwrap_or_default();
        resources.into_keys().collect()
    }
}

impl View {
    /// The key `by` has perhaps created an object of `resource`.
    pub fn has_perhaps_created(&self, by: &Key, resource: &Resource) {
        self.unanswered.add(by, resource);
    }

    /// The API server has said what became of it.
    pub fn has_answer(&self, by: &Key, resource: &Resource) {
        self.unanswered.remove(by, resource);
    }

    /// Waits until the store shows every object that the key `by` has perhaps created, if the API server has it. It
    /// waits as long as the API server gives no answer.
    pub async fn catch_up(&self, by: &Key) {
        let resources = self.unanswered.take(by);
        let informers: Vec<_> = resources
            .iter()
            .flat_map(|resource| self.informers(resource))
            .collect();
        join_all(informers.iter().map(|informer| informer.barrier())).await;
    }
}
