//! Opens a connection to an address that was checked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Url};
use windlass_egress::{Kind, TlsParts, chain, until};

use super::{ANSWER_BEGINS, host_of};
use crate::problem::Problem;
use crate::settings::{Role, Settings, allowed};

/// The addresses of a name that are tried.
const TRIED: usize = 4;

/// TCP, or TLS over it.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to the first address that answers.
pub(super) async fn open(
    settings: &Settings,
    url: &Url,
    role: Role,
) -> Result<Box<dyn Stream>, Problem> {
    let addresses = addresses(settings, url, role).await?;
    let tls = tls(settings, url)?;
    let clock = settings.clock;
    let ends = clock.now() + ANSWER_BEGINS;
    let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let mut problem = Problem::unavailable(format!("the name {} has no address", host_of(url)));
    for address in addresses {
        let now = clock.now();
        let share = ends.saturating_duration_since(now) / left.max(1);
        left -= 1;
        let connected = until(clock, now + share, connect(settings, address, tls.clone())).await;
        problem = match connected {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(problem)) => problem,
            None => Problem::unavailable(format!("no connection to {address}")),
        };
    }
    Err(problem)
}

/// Finds and checks the addresses of a host.
async fn addresses(settings: &Settings, url: &Url, role: Role) -> Result<Vec<SocketAddr>, Problem> {
    let host = host_of(url);
    let mut found: Vec<IpAddr> = match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => {
            let found = settings.resolver.resolve(name).await;
            let unknown = |error| format!("the name {host} is not found: {error}");
            found.map_err(|error| Problem::unavailable(unknown(error)))?
        }
        None => return Err(Problem::Refused("a URL has no host".to_owned())),
    };
    let allow_local = settings.host(url).is_some_and(|host| host.allow_local);
    for address in &found {
        let kind = Kind::of(*address);
        if !allowed(kind, role, allow_local) {
            let remedy = if allowed(kind, role, true) {
                format!(
                    "if it is yours, write `allowLocal: true` for `{host}` in the file of `--registries`"
                )
            } else {
                "no setting allows it".to_owned()
            };
            return Err(Problem::Unreachable(format!(
                "{host} is {address}, which is {kind}; {remedy}"
            )));
        }
    }
    found.truncate(TRIED);
    let port = url.port_or_known_default().unwrap_or(443);
    let sockets = found
        .into_iter()
        .map(|address| SocketAddr::new(address.to_canonical(), port));
    Ok(sockets.collect())
}

type Tls = (ServerName<'static>, Arc<ClientConfig>);

/// The TLS for a host; none in the clear, which only hosts that are named for it have.
fn tls(settings: &Settings, url: &Url) -> Result<Option<Tls>, Problem> {
    let host = host_of(url);
    if url.scheme() == "http" {
        if settings.is_plain(url) {
            return Ok(None);
        }
        return Err(Problem::Refused(format!(
            "{host} would be asked over plain HTTP; if it has no TLS, write `plainHTTP: true` for it in the file of `--registries`"
        )));
    }
    let name = match url.host() {
        Some(Host::Ipv4(address)) => ServerName::from(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => ServerName::from(IpAddr::from(address)),
        Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).map_err(|_| {
            Problem::Refused(format!("{host} is not a name that a certificate can have"))
        })?,
        None => return Err(Problem::Refused("a URL has no host".to_owned())),
    };
    let ca = settings.host(url).and_then(|host| host.ca.as_deref());
    let parts = ca.map_or_else(TlsParts::default, |pem| TlsParts::default().with_ca(pem));
    let config = parts.config(&settings.roots);
    let config =
        config.map_err(|problem| Problem::Invalid(format!("the TLS for {host}: {problem}")))?;
    Ok(Some((name, Arc::new(config))))
}

async fn connect(
    settings: &Settings,
    address: SocketAddr,
    tls: Option<Tls>,
) -> Result<Box<dyn Stream>, Problem> {
    let failed = |what: &str, error: &dyn std::error::Error| {
        Problem::unavailable(format!("{what} {address}: {}", chain(error)))
    };
    let tcp = settings.dialer.dial(address).await;
    let tcp = tcp.map_err(|error| failed("no connection to", &error))?;
    let Some((name, config)) = tls else {
        return Ok(Box::new(tcp));
    };
    let stream = TlsConnector::from(config).connect(name, tcp).await;
    let stream = stream.map_err(|error| failed("no TLS with", &error))?;
    Ok(Box::new(stream))
}
