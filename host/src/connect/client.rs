//! The connections to the API server, put together as kube's default client is, but for what costs time.
//!
//! - kube leaves Nagle's algorithm on: what is written while something is not yet acknowledged then waits for the
//!   acknowledgement, which the other side delays by 40 ms. Go's client, and so every other controller, turns it off.
//! - Watches share connections ([`watches`](super::watches)); kube gives each of them one.
//! - Spans and counts of requests are our own ([`crate::api`]).

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName,
};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt, RustlsTlsError};
use kube::config::Config;

use super::shared::Shared;
use super::watches::Connections;

/// How long a connection is kept that nobody needs. The one that was used last is used next, so that what a burst of
/// requests has left behind rests; without a timer it would do so for ever, with 30 KB of buffers.
const IDLE: Duration = Duration::from_secs(15);

/// A client for the cluster of `config`, which has no retries of its own.
///
/// # Errors
/// The configuration cannot be used.
pub(super) fn client(config: Config) -> kube::Result<kube::Client> {
    if config.proxy_url.is_some() {
        // It answers why not: support for proxies is not compiled in.
        return kube::Client::try_from(config);
    }
    let [own, shared] = connectors(&config)?;
    let own: Client<_, Body> = Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_timer(TokioTimer::new())
        .build(own);
    let shared = Shared::new(shared, config.cluster_url.clone());
    let namespace = config.default_namespace.clone();
    let builder = ClientBuilder::new(Connections::new(own, shared), namespace)
        .with_layer(&config.extra_headers_layer()?);
    let base = config.base_uri_layer();
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}

type Connector = TimeoutConnector<HttpsConnector<HttpConnector>>;

/// What opens connections: of one's own, and such as are shared if the server knows how.
fn connectors(config: &Config) -> kube::Result<[Connector; 2]> {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    let name: Arc<dyn ResolveServerName + Send + Sync> = match config.tls_server_name.clone() {
        Some(name) => {
            let name = name.try_into().map_err(RustlsTlsError::InvalidServerName);
            let name = name.map_err(kube::Error::RustlsTls)?;
            Arc::new(FixedServerNameResolver::new(name))
        }
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    // Once for both: a kubeconfig may name a program that fetches the certificate.
    let own = config.rustls_client_config()?;
    let mut shared = own.clone();
    shared.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok([own, shared].map(|tls| {
        let secured = HttpsConnector::new(sockets.clone(), tls, false, Arc::clone(&name));
        let mut connector = TimeoutConnector::new(secured);
        connector.set_connect_timeout(config.connect_timeout);
        connector.set_read_timeout(config.read_timeout);
        connector.set_write_timeout(config.write_timeout);
        connector
    }))
}
