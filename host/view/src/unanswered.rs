//! What a key has perhaps written: the API server gave no answer that says what there is now, and the store may not show
//! it yet.
//!
//! - A key that runs again before the store shows an object that it has created would create another one.

use std::collections::HashMap;

use futures::future::join_all;
use parking_lot::Mutex;

use super::View;
use windlass_kube::api::Resource;
use windlass_kube::object::Key;

/// How many writes of each resource each key waits for, or knows no answer of.
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
    /// The key `by` has perhaps written to `resource`, and its next run must see that.
    pub fn has_perhaps_written(&self, by: &Key, resource: &Resource) {
        self.unanswered.add(by, resource);
    }

    /// The API server has said what became of it.
    pub fn has_answer(&self, by: &Key, resource: &Resource) {
        self.unanswered.remove(by, resource);
    }

    /// Waits until the store shows what the key `by` has perhaps written. It waits as long as the API server gives no
    /// answer.
    pub async fn catch_up(&self, by: &Key) {
        let resources = self.unanswered.take(by);
        let informers: Vec<_> = resources
            .iter()
            .flat_map(|resource| self.informers(resource))
            .collect();
        join_all(informers.iter().map(|informer| informer.barrier())).await;
    }

    /// Waits until the store shows what there is now of `resource` in `namespace`, or everywhere. It waits as long as the
    /// API server gives no answer.
    pub async fn catch_up_with(&self, resource: &Resource, namespace: Option<&str>) {
        let informers = match namespace {
            Some(_) => self.informer(resource, namespace).into_iter().collect(),
            None => self.informers(resource),
        };
        join_all(informers.iter().map(|informer| informer.barrier())).await;
    }
}
