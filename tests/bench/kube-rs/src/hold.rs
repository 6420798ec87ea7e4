//! Watches all objects of a kind, and does nothing about them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt, reflector};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::watch::{Ready, events};

/// Runs until the process is ended.
pub async fn run<K>(client: Client, namespace: &str, lean: bool) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static,
    K::DynamicType: Default + Debug + Clone + Eq + Hash + Unpin,
{
    let api = Api::<K>::namespaced(client, namespace);
    let (reader, writer) = reflector::store();
    let all = events(api, lean, &Ready::after(1))
        .reflect(writer)
        .touched_objects();
    let passes = Controller::for_stream(all, reader).run(idle, retry, Arc::new(()));
    passes.for_each(async |_| ()).await;
    Ok(())
}

async fn idle<K>(_: Arc<K>, _: Arc<()>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn retry<K>(_: Arc<K>, _: &kube::Error, _: Arc<()>) -> Action {
    Action::requeue(Duration::from_secs(1))
}
