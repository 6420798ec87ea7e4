//! A hundred informers whose watches share two connections, which break all the time.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use windlass_e2e::{Cluster, Wire, eventually};

use crate::trouble::stores::{Informed, informers, write_all};

const INFORMERS: usize = 100;
const WRITES: usize = 1000;
/// How many writes there are from one cut to the next.
const APART: usize = 100;
/// Connections that nobody needs are closed after 15 s.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_watches_share_two_connections_and_outlive_them() -> Result<()> {
    let cluster = Cluster::bare("cuts").await?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), &cluster.namespace);
    let wire = Wire::lay().await?;
    let informers = informers(&wire.kubeconfig()).await?;
    write_all(&maps, APART, |_| {}).await?;
    // Nobody else is called so: the selectors differ, and select the same.
    let selector = |number| format!("team notin (t{number})");
    let informed = (0..INFORMERS)
        .map(|number| Informed::start(&informers, &cluster.namespace, &selector(number)));
    let informed: Vec<_> = informed.collect();
    share(&informed, &wire).await?;
    let cut = |written| {
        if written % APART == 0 {
            wire.cut();
        }
    };
    write_all(&maps, WRITES, cut).await?;
    for it in &informed {
        it.is_as(&maps).await?;
    }
    share(&informed, &wire).await
}

/// Waits until all watch, over two connections.
async fn share(informed: &[Informed], wire: &Wire) -> Result<()> {
    for it in informed {
        it.subscription.synced().await;
    }
    let few = eventually(PATIENCE, "two connections are left", async || {
        match wire.open() {
            2 => Ok(Some(())),
            open => bail!("there are {open}"),
        }
    });
    few.await.context("of a hundred watches")
}
