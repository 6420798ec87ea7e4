//! Which addresses a request may go to.
//!
//! - A name is resolved once. If any of its addresses is forbidden, none is used.
//! - Private addresses need a rule with `allowPrivate`. No rule opens the others.

mod kind;
mod resolve;
mod share;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use crate::error::Failure;
pub use kind::Kind;
pub use resolve::{Resolve, Resolving, SystemResolver};
pub(crate) use share::Lookups;
pub use share::SharedLookups;

/// Says which addresses are those of the API server. No rule opens them.
pub trait ApiServers: Send + Sync {
    /// All that are known now.
    fn addresses(&self) -> Known<'_>;
}

/// The future of [`ApiServers::addresses`].
pub type Known<'a> = Pin<Box<dyn Future<Output = ApiServerAddresses> + Send + 'a>>;

/// The addresses of the API server.
#[derive(Clone, Debug, Default)]
pub struct ApiServerAddresses {
    /// Those that are known, each with its port.
    pub sockets: Vec<SocketAddr>,
    /// Why there may be more. Then no rule opens a private address, which may be one of them.
    pub problem: Option<String>,
}

/// They never change.
impl ApiServers for ApiServerAddresses {
    fn addresses(&self) -> Known<'_> {
        Box::pin(std::future::ready(self.clone()))
    }
}

impl ApiServerAddresses {
    fn holds(&self, address: IpAddr, port: u16) -> bool {
        let mut sockets = self.sockets.iter();
        sockets.any(|other| other.port() == port && other.ip().to_canonical() == address)
    }
}

/// Whether a rule can open the address; what it is if not.
pub(crate) fn allowed(address: IpAddr, allow_private: bool) -> Result<(), Kind> {
    match Kind::of(address) {
        Kind::Public => Ok(()),
        Kind::Private if allow_private => Ok(()),
        kind => Err(kind),
    }
}

/// Checks all addresses of a name.
///
/// # Errors
/// One of them is forbidden, or there is none.
pub(crate) fn check(
    addresses: &[IpAddr],
    port: u16,
    allow_private: bool,
    servers: &ApiServerAddresses,
) -> Result<Vec<SocketAddr>, Failure> {
    let mut checked = Vec::with_capacity(addresses.len());
    for address in addresses {
        // Embedded addresses are also looked up in the list: a translator would send the request there.
        for address in kind::forms(*address) {
            let refused = |what: &dyn fmt::Display| {
                Failure::denied(format!("the origin leads to {address}, which is {what}"))
            };
            allowed(address, allow_private).map_err(|kind| refused(&kind))?;
            if servers.holds(address, port) {
                return Err(refused(&"an address of the API server"));
            }
            if let Some(problem) = &servers.problem
                && Kind::of(address) == Kind::Private
            {
                return Err(refused(&format!(
                    "private: it may be an address of the API server, and the host does not know those: {problem}"
                )));
            }
        }
        let socket = SocketAddr::new(address.to_canonical(), port);
        if !checked.contains(&socket) {
            checked.push(socket);
        }
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn one_forbidden_address_forbids_all() {
        let servers = ApiServerAddresses::default();
        let check = |texts: &[&str]| check(&addresses(texts), 443, false, &servers);
        assert_eq!(
            check(&["1.1.1.1", "2606:4700::1", "1.1.1.1"])
                .unwrap()
                .len(),
            2
        );
        for texts in [
            ["1.1.1.1", "127.0.0.1"],
            ["127.0.0.1", "1.1.1.1"],
            ["1.1.1.1", "10.0.0.1"],
            ["2606:4700::1", "fd00::1"],
        ] {
            assert_eq!(check(&texts).unwrap_err().error, crate::Error::Denied);
        }
    }

    #[test]
    fn no_rule_opens_the_api_server() {
        let sockets = [
            "10.0.0.1:443",
            "10.0.0.2:6443",
            "[::ffff:10.0.0.3]:443",
            "1.2.3.4:443",
        ];
        let mut servers = ApiServerAddresses {
            sockets: sockets.map(|socket| socket.parse().unwrap()).into(),
            problem: None,
        };
        // (address, port, whether it is allowed; the same if the host does not know all servers)
        let rows = [
            ("10.0.0.1", 443, false, false),
            ("10.0.0.1", 80, true, false),
            ("::ffff:10.0.0.1", 443, false, false),
            ("64:ff9b::a00:1", 443, false, false),
            ("10.0.0.2", 6443, false, false),
            ("::ffff:10.0.0.2", 6443, false, false),
            ("10.0.0.2", 80, true, false),
            ("10.0.0.3", 443, false, false),
            ("10.0.0.4", 6443, true, false),
            ("1.2.3.4", 443, false, false),
            ("1.2.3.5", 443, true, true),
        ];
        for (text, port, known, unknown) in rows {
            for (problem, want) in [(None, known), (Some("no right".to_owned()), unknown)] {
                servers.problem = problem;
                let checked = check(&addresses(&[text]), port, true, &servers);
                assert_eq!(checked.is_ok(), want, "{text} {port} {servers:?}");
            }
        }
    }
}
