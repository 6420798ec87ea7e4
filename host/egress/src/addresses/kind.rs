//! What an address is for, by the registries of special addresses of IANA.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anybody on the internet.
    Public,
    /// A private network: 10/8, 172.16/12, 192.168/16, fc00::/7.
    Private,
    /// This machine.
    Loopback,
    /// This link, which often has a metadata server.
    LinkLocal,
    /// The metadata server of a cloud.
    Metadata,
    /// No machine in particular.
    Unspecified,
    /// Many machines.
    Multicast,
    /// Between a provider and its customers: 100.64/10.
    Shared,
    /// Translates or tunnels to an address that cannot be checked.
    Tunnel,
    /// Examples, measurements, and what is not in use.
    Reserved,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Public => "a public address",
            Self::Private => "a private address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a metadata server",
            Self::Unspecified => "an unspecified address",
            Self::Multicast => "a multicast or broadcast address",
            Self::Shared => "an address of shared address space (100.64.0.0/10)",
            Self::Tunnel => "an address of a tunnel or translator",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Metadata servers, whatever their network is.
const METADATA: [IpAddr; 7] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    // Azure.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Alibaba Cloud.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Oracle Cloud.
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    // Amazon, Google Cloud and Scaleway.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
];

impl Kind {
    /// What `address` is for. An IPv4 address inside an IPv6 address is judged as itself.
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if METADATA.contains(&address) {
            return Self::Metadata;
        }
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match translated(address) {
                Some(inner) => Self::of(IpAddr::V4(inner)),
                None => of_v6(address),
            },
        }
    }

    /// What an operator can do about it.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Private => ": set allowPrivate: true",
            _ => ", which no plugin reaches",
        }
    }
}

/// The address, and the IPv4 address inside it.
pub(super) fn forms(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => translated(address).map(IpAddr::V4),
    };
    [Some(address.to_canonical()), inner].into_iter().flatten()
}

/// The IPv4 address that a NAT64 of the well-known prefix translates to.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() else {
        return None;
    };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

fn of_v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        [0, ..] => Kind::Unspecified,
        [127, ..] => Kind::Loopback,
        [169, 254, ..] => Kind::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Private,
        [100, 64..=127, ..] => Kind::Shared,
        [224..=239, ..] | [255, 255, 255, 255] => Kind::Multicast,
        [192, 88, 99, _] => Kind::Tunnel,
        [192, 0, 0 | 2, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Kind::Reserved,
        _ => Kind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Kind {
    if address.is_loopback() {
        return Kind::Loopback;
    }
    if address.is_unspecified() {
        return Kind::Unspecified;
    }
    match address.segments() {
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        [0xfc00..=0xfdff, ..] => Kind::Private,
        // Teredo and the rest of the protocol assignments, 6to4, NAT64 of a local prefix, ISATAP.
        [0x2001, 0..=0x1ff, ..] | [0x2002, ..] | [0x64, 0xff9b, ..] => Kind::Tunnel,
        [.., 0 | 0x200, 0x5efe, _, _] => Kind::Tunnel,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        [0x2000..=0x3fff, ..] => Kind::Public,
        // Discard-only, site-local, compatible with IPv4, and all that is not given out.
        _ => Kind::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_its_kind_up_to_its_borders() {
        for (texts, kind) in [
            (
                "1.0.0.0 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
                Kind::Public,
            ),
            (
                "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255",
                Kind::Public,
            ),
            (
                "192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.0 203.0.114.0",
                Kind::Public,
            ),
            (
                "223.255.255.255 168.63.129.15 168.63.129.17 ::ffff:1.1.1.1 64:ff9b::1.1.1.1",
                Kind::Public,
            ),
            (
                "2001:200::1 2001:db7::1 2001:db9::1 2003::1 2606:4700::1 2a00::1 3ffe::1 3fff:1000::1",
                Kind::Public,
            ),
            (
                "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
                Kind::Private,
            ),
            (
                "::ffff:10.0.0.1 64:ff9b::10.0.0.1 fc00::1 fdff::1 fd00:ec2::253",
                Kind::Private,
            ),
            (
                "127.0.0.0 127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::127.0.0.1",
                Kind::Loopback,
            ),
            (
                "169.254.0.0 169.254.255.255 fe80::1 febf::1 ::ffff:169.254.1.1",
                Kind::LinkLocal,
            ),
            (
                "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254 fd00:42::42",
                Kind::Metadata,
            ),
            (
                "::ffff:169.254.169.254 64:ff9b::169.254.169.254 ::ffff:168.63.129.16",
                Kind::Metadata,
            ),
            ("0.0.0.0 0.255.255.255 :: ::ffff:0.0.0.0", Kind::Unspecified),
            (
                "224.0.0.0 239.255.255.255 255.255.255.255 ff00::1 ff02::1",
                Kind::Multicast,
            ),
            ("100.64.0.0 100.127.255.255", Kind::Shared),
            (
                "192.88.99.1 2001::1 2001:1ff::1 2001:20::1 2002:7f00:1:: 64:ff9b:1::1 64:ff9b::1:0:0",
                Kind::Tunnel,
            ),
            (
                "2606:4700::5efe:a00:1 2606:4700::200:5efe:a00:1",
                Kind::Tunnel,
            ),
            (
                "192.0.0.0 192.0.0.255 192.0.2.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1",
                Kind::Reserved,
            ),
            (
                "240.0.0.0 255.255.255.254 100::1 100:0:0:1::1 fec0::1 feff::1 2001:db8::1 3fff::1",
                Kind::Reserved,
            ),
            (
                "::127.0.0.1 ::2 ::ffff:0:127.0.0.1 5f00::1 4000::1 1fff::1 fe00::1",
                Kind::Reserved,
            ),
        ] {
            for text in texts.split(' ') {
                assert_eq!(Kind::of(text.parse().unwrap()), kind, "{text}");
            }
        }
    }
}
