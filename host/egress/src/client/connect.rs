//! Where a connection goes, and with which TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::Settings;
use crate::addresses::{self, Lookups};
use crate::error::{Error, Failure};
use crate::fill::Filled;
use crate::location::{Origin, Scheme};
use crate::rules::Permitted;
use crate::tls::TlsParts;

/// The addresses of a name that are tried.
const TRIED: usize = 4;
/// The configurations of TLS that are kept: a plugin has few.
const CONFIGS: usize = 16;

/// What a connection is for. A connection serves only requests with an equal route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) origin: Origin,
    /// Checked for this request.
    pub(super) address: SocketAddr,
    scheme: Scheme,
    credential: [u8; 32],
    tls: [u8; 32],
}

impl Route {
    /// The name that the other side has to prove; none in the clear.
    pub(super) fn server_name(&self) -> Result<Option<ServerName<'static>>, Failure> {
        if self.scheme == Scheme::Http {
            return Ok(None);
        }
        if let Some(address) = self.origin.address() {
            return Ok(Some(ServerName::from(address)));
        }
        let name = self.origin.name().unwrap_or_default().to_owned();
        match ServerName::try_from(name) {
            Ok(name) => Ok(Some(name)),
            Err(_) => Err(Failure::invalid(
                "the host is no name that a certificate can have",
            )),
        }
    }
}

/// Finds and checks the addresses of a request.
pub(super) async fn routes(
    settings: &Settings,
    lookups: &Lookups,
    permitted: &Permitted<'_>,
    filled: &Filled,
    tls: &TlsParts,
) -> Result<Vec<Route>, Failure> {
    let origin = permitted.request.location.origin();
    let (addresses, scheme) = match settings.local.get(origin) {
        Some(local) => (vec![local.address], local.scheme),
        None => (
            checked(settings, lookups, permitted).await?,
            origin.scheme(),
        ),
    };
    let tls = tls.digest();
    let route = |address| Route {
        origin: origin.clone(),
        address,
        scheme,
        credential: filled.digest,
        tls,
    };
    Ok(addresses.into_iter().map(route).collect())
}

async fn checked(
    settings: &Settings,
    lookups: &Lookups,
    permitted: &Permitted<'_>,
) -> Result<Vec<SocketAddr>, Failure> {
    let origin = permitted.request.location.origin();
    let found = match (origin.address(), origin.name()) {
        (Some(address), _) => vec![address],
        (None, name) => {
            let name = name.unwrap_or_default();
            let (resolver, clock) = (&*settings.resolver, settings.clock);
            let found = lookups.resolve(resolver, clock, name).await;
            let unknown = |error: io::Error| {
                let kind = match error.kind() {
                    io::ErrorKind::TimedOut => Error::Timeout,
                    _ => Error::Unavailable,
                };
                Failure::unsent(kind, format!("the name of {origin} is not found: {error}"))
            };
            found.map_err(unknown)?
        }
    };
    let allow_private = permitted.rule.allow_private;
    let servers = settings.servers.addresses().await;
    let mut checked = addresses::check(&found, origin.port(), allow_private, &servers)?;
    if checked.is_empty() {
        let reason = format!("the name of {origin} has no address");
        return Err(Failure::unsent(Error::Unavailable, reason));
    }
    checked.truncate(TRIED);
    Ok(checked)
}

/// The configurations of TLS of one plugin. Sessions are resumed within one of them only.
#[derive(Default)]
pub(super) struct Configs(Mutex<Vec<([u8; 32], Arc<ClientConfig>)>>);

impl Configs {
    /// The configuration for `routes`; none in the clear.
    pub(super) fn of(
        &self,
        routes: &[Route],
        parts: &TlsParts,
        roots: &Arc<RootCertStore>,
    ) -> Result<Option<Arc<ClientConfig>>, Failure> {
        if routes.iter().all(|route| route.scheme == Scheme::Http) {
            return Ok(None);
        }
        let digest = parts.digest();
        let mut configs = self.0.lock();
        if let Some((_, config)) = configs.iter().find(|(other, _)| *other == digest) {
            return Ok(Some(Arc::clone(config)));
        }
        let config = parts.config(roots).map_err(|problem| {
            let text = "the rule's TLS cannot be used".to_owned();
            Failure::unsent(Error::Other(text), problem.to_string())
        })?;
        let config = Arc::new(config);
        if configs.len() == CONFIGS {
            configs.remove(0);
        }
        configs.push((digest, Arc::clone(&config)));
        Ok(Some(config))
    }
}
