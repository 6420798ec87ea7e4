//! An origin: scheme, host and port, exactly.

use std::fmt;
use std::net::IpAddr;

use url::Host;

use super::{UrlProblem, split};

/// `http` or `https`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// 80 or 443.
    pub(super) fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Scheme, host and port. Two origins are equal only if all three are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    scheme: Scheme,
    host: Host<String>,
    port: u16,
}

impl Origin {
    pub(super) fn new(scheme: Scheme, host: Host<String>, port: u16) -> Self {
        Self { scheme, host, port }
    }

    /// Reads an origin alone: nothing comes after the port.
    ///
    /// # Errors
    /// It is not an origin; the text says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (origin, rest) = split(text).map_err(|problem: UrlProblem| problem.to_string())?;
        if rest.is_empty() {
            Ok(origin)
        } else {
            Err(format!("an origin has no path: write {origin}"))
        }
    }

    /// Its scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Its port, also if it is the scheme's own.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The name to resolve; none if the host is an address.
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// The address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        }
    }

    /// The value of the `Host` header: without the port if it is the scheme's own.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme.word(), self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_ends_after_its_port() {
        for (text, want) in [
            ("https://api.example.com", Some("https://api.example.com")),
            (
                "https://API.example.com:443",
                Some("https://api.example.com"),
            ),
            ("http://10.0.0.1:8080", Some("http://10.0.0.1:8080")),
            ("https://api.example.com/", None),
            ("https://api.example.com?x", None),
            ("https://api.example.com#x", None),
            ("https://*.example.com", None),
            ("api.example.com", None),
        ] {
            let origin = Origin::parse(text).ok().map(|origin| origin.to_string());
            assert_eq!(origin.as_deref(), want, "{text}");
        }
    }
}
