//! The connections to the API server, put together as kube's default client is, but for what costs time.
//!
//! - kube leaves Nagle's algorithm on: what is written while something is not yet acknowledged then waits for the
//!   acknowledgement, which the other side delays by 40 ms. Go's client, and so every other controller, turns it off.
//! - Spans and counts of requests are our own ([`crate::api`]).

use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::Config;
use tower::BoxError;
use tower::util::MapErrLayer;

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
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    let secured = config.rustls_https_connector_with_connector(sockets)?;
    let mut connector = TimeoutConnector::new(secured);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let connections: Client<_, Body> = Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_timer(TokioTimer::new())
        .build(connector);
    let namespace = config.default_namespace.clone();
    let builder = ClientBuilder::new(connections, namespace)
        .with_layer(&MapErrLayer::new(BoxError::from))
        .with_layer(&config.extra_headers_layer()?);
    let base = config.base_uri_layer();
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}
