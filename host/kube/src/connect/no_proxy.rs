//! Which servers the environment's proxy does not hold for, as Go reads `NO_PROXY` (`golang.org/x/net/http/httpproxy`).
//!
//! - `domain` names a domain and those below it, `.domain` and `*.domain` only those below it; a port may follow.
//! - An address, with a port or without, and a CIDR name addresses; `*` names all.
//! - `localhost` and loopback addresses never have a proxy.

use std::net::IpAddr;

use http::Uri;

/// Whether `server` is reached without the environment's proxy; `no_proxy` is the value of `NO_PROXY`.
pub(super) fn is_direct(server: &Uri, no_proxy: &str) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.strip_prefix('[').unwrap_or(host);
    let host = host.strip_suffix(']').unwrap_or(host);
    let address = host.parse::<IpAddr>().ok();
    let address = address.map(|address| address.to_canonical());
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let default = match server.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let port = server.port_u16().unwrap_or(default).to_string();
    let target = ProxyTarget {
        host: &host.to_ascii_lowercase(),
        port: &port,
        address,
    };
    let entries = no_proxy.split(',');
    let mut entries = entries.map(|entry| entry.trim().to_lowercase());
    entries.any(|entry| target.is_named_by(&entry))
}

struct ProxyTarget<'a> {
    host: &'a str,
    port: &'a str,
    address: Option<IpAddr>,
}

impl ProxyTarget<'_> {
    fn is_named_by(&self, entry: &str) -> bool {
        if entry == "*" {
            return true;
        }
        if let Some(network) = Network::read(entry) {
            return self.address.is_some_and(|it| network.contains(it));
        }
        let (host, port) = split(entry);
        let is_port = port.is_empty() || port == self.port;
        if host.is_empty() || !is_port {
            return false;
        }
        match (host.parse::<IpAddr>(), self.address) {
            (Ok(named), address) => address == Some(named.to_canonical()),
            (Err(_), Some(_)) => false,
            (Err(_), None) => self.is_in(host),
        }
    }

    fn is_in(&self, domain: &str) -> bool {
        let domain = match domain.strip_prefix('*') {
            Some(below) if below.starts_with('.') => below,
            _ => domain,
        };
        if domain.starts_with('.') {
            return self.host.ends_with(domain);
        }
        let before = self.host.strip_suffix(domain);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

/// Host and port, as Go's `net.SplitHostPort` tells them; all is the host if there is no port.
fn split(entry: &str) -> (&str, &str) {
    match entry.rsplit_once(':') {
        Some((host, port)) => match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(inner) => (inner, port),
            None if host.contains([':', '[', ']']) => (entry, ""),
            None => (host, port),
        },
        None => (entry, ""),
    }
}

/// A range of addresses.
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads a CIDR.
    fn read(entry: &str) -> Option<Self> {
        let (address, bits) = entry.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let is_number = bits.bytes().all(|it| it.is_ascii_digit());
        let bits: u32 = bits.parse().ok().filter(|_| is_number)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits
            }
            (IpAddr::V6(own), other) => {
                let other = match other {
                    IpAddr::V4(other) => other.to_ipv6_mapped(),
                    IpAddr::V6(other) => other,
                };
                // As in Go, a range of IPv6 that is wider than all of IPv4 has none of it.
                let is_family = address.is_ipv6() || self.bits >= 96;
                let differing = own.to_bits() ^ other.to_bits();
                is_family && differing.leading_zeros() >= self.bits
            }
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_PROXY: &str = "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, \
        192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, \
        [2001:db8::52:0:3]:80, 2002:db8:a::45/64";

    /// Go's `UseProxyTests`: hosts, and whether they have a proxy.
    const HOSTS: [(&str, bool); 28] = [
        ("localhost", false),
        ("127.0.0.1", false),
        ("127.0.0.2", false),
        ("[::1]", false),
        ("[::2]", true),
        ("192.168.1.1", false),
        ("192.168.1.2", true),
        ("192.168.1.3", false),
        ("192.168.1.4", true),
        ("10.0.0.2", false),
        ("[2001:db8::52:0:1]", false),
        ("[2001:db8::52:0:2]", true),
        ("[2001:db8::52:0:3]", false),
        ("[2002:db8:a::123]", false),
        ("[fe80::424b:c8be:1643:a1b6]", true),
        ("barbaz.net", true),
        ("www.barbaz.net", false),
        ("foobar.com", false),
        ("www.foobar.com", false),
        ("foofoobar.com", true),
        ("baz.com", true),
        ("localhost.net", true),
        ("local.localhost", true),
        ("barbarbaz.net", true),
        ("wildcard.io", true),
        ("nested.wildcard.io", false),
        ("awildcard.io", true),
        ("WWW.FooBar.com", false),
    ];

    fn direct(server: &str, no_proxy: &str) -> bool {
        is_direct(&server.parse().unwrap(), no_proxy)
    }

    #[test]
    fn the_exceptions_are_those_of_go() {
        for (host, proxied) in HOSTS {
            let server = format!("http://{host}:80");
            assert_eq!(direct(&server, NO_PROXY), !proxied, "{host}");
            assert!(direct(&server, "*"), "{host}");
            assert!(direct(&server, "a, *"), "{host}");
        }
    }

    #[test]
    fn odd_entries_mean_what_they_mean_to_go() {
        let cases = [
            ("http://example.com", ":1", false),
            ("http://example.com", "", false),
            ("http://example.com", ",,", false),
            ("http://example.com", "Example.COM", true),
            ("http://example.com", "example.com:80", true),
            ("http://example.com", "example.com:443", false),
            ("https://example.com", "example.com:443", true),
            ("https://example.com:6443", "example.com:443", false),
            ("https://example.com:6443", "example.com:", true),
            ("https://a.example.com:6443", "*.example.com:6443", true),
            ("https://a.example.com:6443", ".example.com:6443", true),
            ("https://example.com", "*ample.com", false),
            ("https://example.com", "a.example.com", false),
            ("https://10.1.2.3", "10.0.0.0/8", true),
            ("https://10.1.2.3", "0.0.0.0/0", true),
            ("https://10.1.2.3", "10.1.2.3/32", true),
            ("https://10.1.2.3", "10.1.2.4/32", false),
            ("https://10.1.2.3", "10.0.0.0/33", false),
            ("https://10.1.2.3", "10.0.0.0/", false),
            ("https://10.1.2.3", "::/0", false),
            ("https://10.1.2.3", "::ffff:10.0.0.0/104", true),
            ("https://10.1.2.3", ".2.3", false),
            ("https://[2001:db8::1]", "2001:db8::/32", true),
            ("https://[2001:db8::1]", "0.0.0.0/0", false),
            ("https://[2001:db8::1]", "::/0", true),
            ("https://[2001:db8::1]", "[2001:db8::1]", false),
            ("https://[::ffff:127.0.0.1]", "", true),
            ("https://LOCALHOST", "", false),
        ];
        for (server, no_proxy, want) in cases {
            assert_eq!(direct(server, no_proxy), want, "{server} {no_proxy:?}");
        }
    }
}
