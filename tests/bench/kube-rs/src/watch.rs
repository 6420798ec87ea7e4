//! Watches, in their usual and in their lean form, and word of their first lists.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::Either;
use futures::{Stream, TryStreamExt};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// Says "ready" once so many watches have had their first list.
// `Store::wait_until_ready` wakes only the last of those who wait, and each controller waits by itself.
#[derive(Clone, Debug)]
pub struct Ready(Arc<AtomicUsize>);

impl Ready {
    /// Of so many watches.
    pub fn after(watches: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(watches)))
    }

    fn heard<K>(&self, event: &Event<K>) {
        // A list that comes later counts on, below zero.
        if matches!(event, Event::InitDone) && self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            println!("ready");
        }
    }
}

/// Watches all objects of a kind; the lean form lists by streaming, and forgets who wrote which field.
pub fn events<K>(
    api: Api<K>,
    lean: bool,
    ready: &Ready,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let ready = ready.clone();
    let heard = move |event: &Event<K>| ready.heard(event);
    if !lean {
        let watch = watch(api, watcher::Config::default()).default_backoff();
        return Either::Left(watch.inspect_ok(heard));
    }
    let watch = watch(api, watcher::Config::default().streaming_lists()).default_backoff();
    let watch = watch.modify(|object| object.managed_fields_mut().clear());
    Either::Right(watch.inspect_ok(heard))
}
