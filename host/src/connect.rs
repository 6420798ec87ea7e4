//! From flags to a door: which cluster, as whom, and whether it answers.

use std::time::Duration;

use anyhow::{Context, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::api::{Api, Request};
use crate::args::Cluster;
use crate::error::Chain;
use crate::seams::Seams;

/// Opens the door to the cluster that `cluster` names, and asks it one question. Answers the
/// namespace for the host's own objects as well.
///
/// # Errors
/// The kubeconfig cannot be used, the server does not answer, or it does not know us.
pub async fn connect(cluster: &Cluster, seams: &Seams) -> anyhow::Result<(Api, String)> {
    let source = match &cluster.kubeconfig {
        Some(file) => format!("kubeconfig {}", file.display()),
        None => "the default kubeconfig or the pod's service account".to_owned(),
    };
    let mut config = config(cluster)
        .await
        .with_context(|| format!("cannot use {source}"))?;
    // Retries are for whoever knows whether they are safe.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    // Longer than a watch that only gets bookmarks is silent.
    config.read_timeout = Some(Duration::from_secs(300));
    let server = config.cluster_url.to_string();
    let server = server.trim_end_matches('/');
    let namespace = cluster
        .namespace
        .clone()
        .unwrap_or_else(|| config.default_namespace.clone());
    let client = kube::Client::try_from(config).with_context(|| format!("cannot use {source}"))?;
    let api = Api::new(client, seams.clone());
    match api.send(Request::get("/apis".to_owned())).await {
        Ok(_) => Ok((api, namespace)),
        Err(error) if error.is_forbidden() => {
            bail!(
                "the API server {server} does not accept the credentials of {source}: have they expired? ({})",
                Chain(&error)
            )
        }
        Err(error) => bail!(
            "the API server {server} of {source} does not answer: is it running, and is the address right? ({})",
            Chain(&error)
        ),
    }
}

async fn config(cluster: &Cluster) -> anyhow::Result<kube::Config> {
    let options = KubeConfigOptions {
        context: cluster.context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = match &cluster.kubeconfig {
        Some(file) => {
            if !file.exists() {
                bail!("there is no such file");
            }
            let kubeconfig = Kubeconfig::read_from(file)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        None if cluster.context.is_some() => kube::Config::from_kubeconfig(&options).await?,
        None => kube::Config::infer().await?,
    };
    Ok(config)
}
