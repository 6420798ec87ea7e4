//! From flags to a connection: which cluster, as whom, and whether it answers.

mod client;
mod config;
mod credentials;
mod exec;
mod flags;
mod no_proxy;
mod proxy;
mod server;
mod shared;
mod token;
mod watches;

use std::time::Duration;

use anyhow::anyhow;
use http::HeaderValue;
use http::header::USER_AGENT;

pub use flags::{ClusterFlags, usual};

use crate::api::{Api, ApiError, Request};
use proxy::{proxy, with_port};
use windlass_base::error::Chain;
use windlass_base::seams::Seams;
use windlass_base::seams::environment::proxies;

/// What the API server's audit log knows the host by.
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));

/// A kubeconfig may be on a file system that does not answer.
const CONFIG: Duration = Duration::from_secs(60);

/// Connects to the cluster that `cluster` names, and asks it one question. Answers the
/// namespace for the host's own objects as well.
///
/// # Errors
/// The kubeconfig cannot be used, the server does not answer, or it does not know us.
pub async fn connect(cluster: &ClusterFlags, seams: &Seams) -> anyhow::Result<(Api, String)> {
    let source = match &cluster.kubeconfig {
        Some(file) => format!("kubeconfig {}", file.display()),
        None => usual(),
    };
    let unusable = |error: &(dyn std::error::Error + 'static)| {
        // What follows the first line of some is a picture of the file.
        let cause = Chain(error).to_string();
        let cause = cause.lines().next().unwrap_or_default();
        anyhow!(
            "cannot use {source}: {cause}; correct it, or name another with --kubeconfig or --context"
        )
    };
    let (mut config, named) = seams
        .clock
        .within(CONFIG, config::config(cluster))
        .await
        .unwrap_or_else(|| Err(anyhow!("it took too long")))
        .map_err(|error| unusable(&*error))?;
    config.headers.push((USER_AGENT, AGENT));
    // Retries are for code that knows whether they are safe.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    // Longer than a watch that only gets bookmarks is silent, if it has a connection of its own.
    config.read_timeout = Some(Duration::from_secs(300));
    let client = client_of(&mut config, named.as_deref(), seams).await;
    let client = client.map_err(|error| unusable(&*error))?;
    let server = config.cluster_url.to_string();
    let server = server.trim_end_matches('/');
    let namespace = cluster
        .namespace
        .clone()
        .unwrap_or_else(|| config.default_namespace.clone());
    let mut api = Api::new(client, seams.clone());
    if credentials::acts_as_other(&config.auth_info) {
        api = api.acting_as_other();
    }
    api.requests().go_to(address(server));
    match api.send(Request::get("/apis".to_owned())).await {
        Ok(_) => Ok((api, namespace)),
        Err(error) => Err(unanswered(&error, server, &source)),
    }
}

/// What to tell of an API server that has not answered the first question, and what to check.
fn unanswered(error: &ApiError, server: &str, source: &str) -> anyhow::Error {
    let cause = Chain(error);
    match error {
        error if error.code() == Some(401) => anyhow!(
            "the API server {server} does not accept the credentials of {source}: have they expired? ({cause})"
        ),
        error if error.code() == Some(403) => anyhow!(
            "the API server {server} forbids the user of {source} to look up what it serves: is it the right user, and has it the ClusterRole system:discovery? ({cause})"
        ),
        ApiError::Status { .. }
        | ApiError::NotLeader
        | ApiError::ReadOnly
        | ApiError::Garbled(_)
        | ApiError::TooLarge
        | ApiError::NoRoom(_)
        | ApiError::NotAsAccount(_) => anyhow!(
            "what answers at {server} of {source} is not a healthy API server: is the address right? ({cause})"
        ),
        ApiError::Unreachable(_) => anyhow!(
            "the API server {server} of {source} does not answer: is it running, and are its address and its certificate authority right? ({cause})"
        ),
    }
}

/// A client for the cluster of `config`, whose kubeconfig names the proxy `named`.
async fn client_of(
    config: &mut kube::Config,
    named: Option<&str>,
    seams: &Seams,
) -> anyhow::Result<kube::Client> {
    config.cluster_url = server::url(&config.cluster_url, has_tls(config))?;
    let proxy = proxy(&config.cluster_url, named, &proxies())?;
    // Without one, a proxy would be asked for port 443.
    if proxy.is_some() && config.cluster_url.scheme_str() == Some("http") {
        config.cluster_url = with_port(&config.cluster_url, 80);
    }
    let credentials = credentials::take(&mut config.auth_info, seams).await?;
    Ok(client::client(config, proxy, credentials)?)
}

/// Whether the kubeconfig has anything to do with TLS.
fn has_tls(config: &kube::Config) -> bool {
    let user = &config.auth_info;
    let certificate = user.client_certificate.is_some() || user.client_certificate_data.is_some();
    let authority = config.root_cert.is_some() || config.root_cert_file.is_some();
    authority || certificate || config.accept_invalid_certs
}

/// Host and port of a URL, as client-go names a server in metrics.
fn address(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}
