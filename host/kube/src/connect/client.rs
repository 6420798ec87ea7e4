//! The connections to the API server, put together as kube's default client is, but for what costs time.
//!
//! - kube leaves Nagle's algorithm on: what is written while something is not yet acknowledged then waits for the
//!   acknowledgement, which the other side delays by 40 ms. Go's client, and so every other controller, turns it off.
//! - Watches share connections ([`watches`](super::watches)); kube gives each of them one.
//! - Spans and counts of requests are our own ([`crate::api`]).

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName,
};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt, RustlsTlsError};
use kube::config::Config;
use tower::{BoxError, Service};

use super::credentials::Credentials;
use super::proxy::Proxy;
use super::shared::SharedConnections;
use super::watches::Connections;

/// How long a connection is kept that nobody needs. The one that was used last is used next, so that what a burst of
/// requests has left behind rests; without a timer it would do so forever, with 30 KB of buffers.
const IDLE: Duration = Duration::from_secs(15);

/// A client for the cluster of `config`, through `proxy` and with `credentials` if there are any. It has no retries of its own.
///
/// # Errors
/// The configuration cannot be used.
pub(super) fn client(
    config: &Config,
    proxy: Option<Proxy>,
    credentials: Option<Credentials>,
) -> kube::Result<kube::Client> {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    match proxy {
        None => over(&sockets, config, credentials),
        Some(Proxy::Http {
            url,
            credentials: own,
        }) => {
            let mut tunnel = Tunnel::new(url, sockets);
            if let Some(own) = own {
                tunnel = tunnel.with_auth(own);
            }
            over(&tunnel, config, credentials)
        }
        Some(Proxy::Https {
            url,
            credentials: own,
        }) => {
            let tls = config.rustls_client_config()?;
            let name = Arc::new(DefaultServerNameResolver::default());
            let secured = HttpsConnector::new(sockets, tls, true, name);
            let mut tunnel = Tunnel::new(url, secured);
            if let Some(own) = own {
                tunnel = tunnel.with_auth(own);
            }
            over(&tunnel, config, credentials)
        }
        Some(Proxy::Socks {
            url,
            credentials: own,
        }) => {
            let mut socks = SocksV5::new(url, sockets);
            if let Some((user, password)) = own {
                socks = socks.with_auth(user, password);
            }
            over(&socks, config, credentials)
        }
    }
}

/// As [`client`], over what opens connections to the server's port.
fn over<S>(
    sockets: &S,
    config: &Config,
    credentials: Option<Credentials>,
) -> kube::Result<kube::Client>
where
    S: Service<Uri> + Clone + Send + Sync + 'static,
    S::Response: Connection + Read + Write + Send + Unpin + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    let [own, shared] = connectors(sockets, config)?;
    let own: Client<_, Body> = Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_timer(TokioTimer::new())
        .build(own);
    let shared = SharedConnections::new(shared, config.cluster_url.clone());
    let namespace = config.default_namespace.clone();
    let builder = ClientBuilder::new(Connections::new(own, shared), namespace)
        .with_layer(&config.extra_headers_layer()?);
    let base = config.base_uri_layer();
    Ok(match credentials {
        Some(credentials) => builder.with_layer(&credentials).with_layer(&base).build(),
        None => builder.with_layer(&base).build(),
    })
}

type TimeoutHttpsConnector<S> = TimeoutConnector<HttpsConnector<S>>;

/// What opens connections: of one's own, and such as are shared if the server knows how.
fn connectors<S>(sockets: &S, config: &Config) -> kube::Result<[TimeoutHttpsConnector<S>; 2]>
where
    S: Service<Uri> + Clone + Send,
    S::Response: Connection + Read + Write + Send + Unpin + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    let name: Arc<dyn ResolveServerName + Send + Sync> = match config.tls_server_name.clone() {
        Some(name) => {
            let name = name.try_into().map_err(RustlsTlsError::InvalidServerName);
            let name = name.map_err(kube::Error::RustlsTls)?;
            Arc::new(FixedServerNameResolver::new(name))
        }
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    // Once for both: it reads files.
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
