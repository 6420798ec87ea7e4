//! Which addresses a request may go to.
//!
//! - A name is resolved once. If any of its addresses is forbidden, none is used.
//! - Private addresses need a rule with `allowPrivate`. No rule opens the others.

mod kind;
mod resolve;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use parking_lot::RwLock;

use crate::error::Failure;
pub use kind::Kind;
pub use resolve::{Resolve, Resolving, SystemResolver};

/// Addresses that the host forbids beside the reserved ones: those of the API server.
#[derive(Debug, Default)]
pub struct Forbidden(RwLock<List>);

#[derive(Debug, Default)]
struct List {
    addresses: Vec<IpAddr>,
    sockets: Vec<SocketAddr>,
}

impl Forbidden {
    /// Replaces the list: `addresses` with all ports, `sockets` with one port each.
    pub fn replace(&self, addresses: Vec<IpAddr>, sockets: Vec<SocketAddr>) {
        *self.0.write() = List { addresses, sockets };
    }

    fn holds(&self, address: IpAddr, port: u16) -> bool {
        let list = self.0.read();
        let is_same = |other: IpAddr| other.to_canonical() == address;
        list.addresses.iter().any(|other| is_same(*other))
            || list
                .sockets
                .iter()
                .any(|other| other.port() == port && is_same(other.ip()))
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
    forbidden: &Forbidden,
) -> Result<Vec<SocketAddr>, Failure> {
    let mut checked = Vec::with_capacity(addresses.len());
    for address in addresses {
        // Embedded addresses are also looked up in the list: a translator would send the request there.
        for address in kind::forms(*address) {
            let refused = |what: &dyn fmt::Display| {
                Failure::denied(format!("the origin leads to {address}, which is {what}"))
            };
            allowed(address, allow_private).map_err(|kind| refused(&kind))?;
            if forbidden.holds(address, port) {
                return Err(refused(&"an address of the API server"));
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
        let forbidden = Forbidden::default();
        let check = |texts: &[&str]| check(&addresses(texts), 443, false, &forbidden);
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
        let forbidden = Forbidden::default();
        let sockets = vec!["10.0.0.2:6443".parse().unwrap()];
        forbidden.replace(addresses(&["10.0.0.1", "::ffff:10.0.0.3"]), sockets);
        let is_allowed = |text, port| check(&addresses(&[text]), port, true, &forbidden).is_ok();
        for (text, port, want) in [
            ("10.0.0.1", 443, false),
            ("10.0.0.1", 80, false),
            ("::ffff:10.0.0.1", 80, false),
            ("64:ff9b::a00:1", 80, false),
            ("10.0.0.2", 6443, false),
            ("::ffff:10.0.0.2", 6443, false),
            ("10.0.0.2", 80, true),
            ("10.0.0.3", 80, false),
            ("10.0.0.4", 6443, true),
        ] {
            assert_eq!(is_allowed(text, port), want, "{text} {port}");
        }
    }
}
