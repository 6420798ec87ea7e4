//! What the client is given: whom it trusts, what it knows of hosts, and which addresses they may have.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderValue;
use tokio_rustls::rustls::RootCertStore;
use url::Url;
use windlass_base::seams::Clock;
use windlass_egress::{Dial, Kind, Resolve};

use crate::docker::DockerConfig;
use crate::problem::Problem;
use crate::reference::check_registry;

/// Where the registry that references call `docker.io` answers.
const HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// All that a client is given.
#[derive(Clone)]
pub struct Settings {
    /// The authorities that are trusted for hosts without a `ca`.
    pub roots: Arc<RootCertStore>,
    /// Finds addresses.
    pub resolver: Arc<dyn Resolve>,
    /// Opens connections.
    pub dialer: Arc<dyn Dial>,
    /// Tells the time.
    pub clock: Clock,
    /// How the client calls itself.
    pub user_agent: HeaderValue,
    /// The credentials of registries.
    pub credentials: DockerConfig,
    /// What is special of hosts: of registries, token servers, and where blobs are. The key is `host`, or `host:port`
    /// if the port is not that of the scheme.
    pub hosts: BTreeMap<String, HostSettings>,
}

/// What is special of one host. Nothing, by default.
#[derive(Clone, Debug, Default)]
pub struct HostSettings {
    /// It is asked over HTTP, without TLS.
    pub plain_http: bool,
    /// Its addresses may be those of this machine; those of a private network too, if others lead to the host.
    pub allow_local: bool,
    /// The authorities in PEM that are trusted for it, instead of the others.
    pub ca: Option<Vec<u8>>,
    /// Registries that are asked first for what is in this one, in this order.
    pub mirrors: Vec<String>,
}

/// Who chose a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The reference or the settings.
    Registry,
    /// An answer: a redirect or a challenge.
    Elsewhere,
}

impl Settings {
    /// What is known of the host of `url`.
    pub(crate) fn host(&self, url: &Url) -> Option<&HostSettings> {
        let host = url.host_str()?;
        let port = url.port_or_known_default()?;
        let exact = self.hosts.get(&format!("{host}:{port}"));
        let bare = || url.port().is_none().then(|| self.hosts.get(host)).flatten();
        let hub = || (host == HUB.1).then(|| self.hosts.get(HUB.0)).flatten();
        exact.or_else(bare).or_else(hub)
    }

    /// Whether the host of `url` is named for plain HTTP.
    pub(crate) fn is_plain(&self, url: &Url) -> bool {
        self.host(url).is_some_and(|host| host.plain_http)
    }

    /// Where a registry answers.
    pub(crate) fn base(&self, registry: &str) -> Result<Url, Problem> {
        check_registry(registry).map_err(Problem::Invalid)?;
        let host = if registry == HUB.0 { HUB.1 } else { registry };
        let parse = |scheme: &str| {
            let url = Url::parse(&format!("{scheme}://{host}/"));
            url.map_err(|error| Problem::Invalid(format!("`{registry}` is not a host: {error}")))
        };
        let secure = parse("https")?;
        if self.is_plain(&secure) {
            return parse("http");
        }
        Ok(secure)
    }

    /// The registries that are asked for what is in `registry`, which is the last.
    pub(crate) fn asked<'a>(&'a self, registry: &'a str) -> Vec<&'a str> {
        let host = self.base(registry).ok();
        let host = host.as_ref().and_then(|url| self.host(url));
        let mirrors = host.map_or(&[][..], |host| &host.mirrors);
        let mirrors = mirrors.iter().map(String::as_str);
        mirrors.chain([registry]).collect()
    }
}

/// Whether a host may have an address of this kind.
pub(crate) fn allowed(kind: Kind, role: Role, allow_local: bool) -> bool {
    match kind {
        Kind::Public => true,
        Kind::Private | Kind::Shared => role == Role::Registry || allow_local,
        Kind::Loopback => allow_local,
        Kind::LinkLocal
        | Kind::Metadata
        | Kind::Unspecified
        | Kind::Multicast
        | Kind::Tunnel
        | Kind::Reserved => false,
    }
}

/// Whether credentials for one also are for the other: the same scheme, host and port.
pub(crate) fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

#[cfg(test)]
mod tests;
