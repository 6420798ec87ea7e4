//! Where a port is opened, in controller-runtime's words: `:8080`, `127.0.0.1:8080`, or `0` for nowhere.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Where a port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// Nowhere.
    Nowhere,
    /// There; port 0 is any that is free.
    At(SocketAddr),
}

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self::Nowhere);
        }
        // On every address, of IPv4 too.
        let all = text.strip_prefix(':').map(|port| {
            let port = port.parse().ok()?;
            Some(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port))
        });
        let address = all.unwrap_or_else(|| text.parse().ok());
        address.map(Self::At).ok_or_else(|| {
            "must be an address and a port, such as :8080 or 127.0.0.1:8080, or 0 for none".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_controller_runtime_reads_them() {
        let cases = [
            ("0", Some(None)),
            (":8080", Some(Some("[::]:8080"))),
            ("127.0.0.1:0", Some(Some("127.0.0.1:0"))),
            ("[::1]:8081", Some(Some("[::1]:8081"))),
            ("", None),
            ("8080", None),
            (":", None),
            (":99999", None),
            ("localhost", None),
        ];
        for (text, expected) in cases {
            let parsed = text.parse::<BindAddress>().ok();
            let parsed = parsed.map(|address| match address {
                BindAddress::Nowhere => None,
                BindAddress::At(address) => Some(address.to_string()),
            });
            let expected = expected.map(|address| address.map(str::to_owned));
            assert_eq!(parsed, expected, "{text:?}");
        }
    }
}
