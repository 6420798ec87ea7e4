//! Watches all objects of a kind, and does nothing about them; or that again and again.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, WatchStreamExt, reflector};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::watch::{Ready, events};

/// What a pass asks for.
#[derive(Debug, Default)]
pub struct Asks {
    /// After how long the next one is to be; none waits for a change.
    again: Option<Duration>,
    /// How many there were.
    passes: AtomicU64,
}

impl Asks {
    /// The next pass always, after 100 ms.
    pub fn again() -> Self {
        Self {
            again: Some(Duration::from_millis(100)),
            ..Self::default()
        }
    }
}

/// Runs until the process is ended.
pub async fn run<K>(client: Client, namespace: &str, lean: bool, asks: Asks) -> Result<()>
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
    let asks = Arc::new(asks);
    tokio::spawn(count(asks.clone()));
    let passes = Controller::for_stream(all, reader)
        .with_config(Config::default().concurrency(8))
        .run(idle, retry, asks);
    passes.for_each(async |_| ()).await;
    Ok(())
}

async fn idle<K>(_: Arc<K>, asks: Arc<Asks>) -> Result<Action, kube::Error> {
    asks.passes.fetch_add(1, Ordering::Relaxed);
    Ok(match asks.again {
        Some(wait) => Action::requeue(wait),
        None => Action::await_change(),
    })
}

fn retry<K>(_: Arc<K>, _: &kube::Error, _: Arc<Asks>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

/// Says each second how many passes there were.
async fn count(asks: Arc<Asks>) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        println!("passes {}", asks.passes.load(Ordering::Relaxed));
    }
}
