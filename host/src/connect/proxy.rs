//! The proxy through which the API server is reached, as client-go finds it.
//!
//! - `proxy-url` of the kubeconfig goes before the environment, and knows no exceptions.
//! - `HTTPS_PROXY` and `HTTP_PROXY` do not hold for what `NO_PROXY` names, nor for this machine.

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proxy {
    /// A tunnel, by HTTP CONNECT.
    Http {
        /// Where it is.
        url: Uri,
        /// The header `Proxy-Authorization`.
        credentials: Option<HeaderValue>,
    },
    /// The same, over TLS.
    Https {
        /// Where it is.
        url: Uri,
        /// The header `Proxy-Authorization`.
        credentials: Option<HeaderValue>,
    },
    /// SOCKS 5.
    Socks {
        /// Where it is.
        url: Uri,
        /// User and password.
        credentials: Option<(String, String)>,
    },
}

/// A proxy of a kind that is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its proxy must begin with http://, https:// or socks5://")]
pub(super) struct Unsupported;

/// The proxy for `server`: `named` is what the kubeconfig says.
///
/// # Errors
/// It is of a kind that is not supported.
pub(super) fn proxy(
    server: &Uri,
    named: Option<&Uri>,
    environment: &Matcher,
) -> Result<Option<Proxy>, Unsupported> {
    if let Some(named) = named {
        let all = Matcher::builder().all(named.to_string()).build();
        let found = all.intercept(server).ok_or(Unsupported)?;
        return of(&found).map(Some);
    }
    match environment.intercept(server) {
        Some(found) if !is_here(server) => of(&found).map(Some),
        Some(_) | None => Ok(None),
    }
}

fn of(found: &Intercept) -> Result<Proxy, Unsupported> {
    let url = found.uri().clone();
    let header = || found.basic_auth().cloned();
    match url.scheme_str() {
        Some("http") => Ok(Proxy::Http {
            credentials: header(),
            url,
        }),
        Some("https") => Ok(Proxy::Https {
            credentials: header(),
            url,
        }),
        Some("socks5" | "socks5h") => {
            let credentials = found.raw_auth();
            let credentials = credentials.map(|(user, word)| (user.to_owned(), word.to_owned()));
            Ok(Proxy::Socks { url, credentials })
        }
        _ => Err(Unsupported),
    }
}

/// Whether the server is on this machine.
fn is_here(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://api.example.dev:6443/";

    fn found(server: &str, named: Option<&str>) -> String {
        let environment = Matcher::builder()
            .https("http://env:1")
            .no("internal.example.dev")
            .build();
        let named = named.map(|url| url.parse::<Uri>().unwrap());
        match proxy(&server.parse().unwrap(), named.as_ref(), &environment) {
            Ok(Some(Proxy::Http { url, credentials })) => format!("http {url} {credentials:?}"),
            Ok(Some(Proxy::Https { url, credentials })) => format!("https {url} {credentials:?}"),
            Ok(Some(Proxy::Socks { url, credentials })) => format!("socks {url} {credentials:?}"),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_kubeconfigs_proxy_goes_before_the_environments() {
        let wrong = "its proxy must begin with http://, https:// or socks5://";
        let cases = [
            (SERVER, None, "http http://env:1/ None"),
            (
                SERVER,
                Some("http://own:3128"),
                "http http://own:3128/ None",
            ),
            (
                SERVER,
                Some("https://own:3128"),
                "https https://own:3128/ None",
            ),
            (
                SERVER,
                Some("socks5://own:1080"),
                "socks socks5://own:1080/ None",
            ),
            (SERVER, Some("ftp://own:21"), wrong),
            ("http://api.example.dev/", None, "none"),
            ("https://internal.example.dev/", None, "none"),
            (
                "https://internal.example.dev/",
                Some("http://own:1"),
                "http http://own:1/ None",
            ),
            ("https://127.0.0.1:6443/", None, "none"),
            ("https://[::1]:6443/", None, "none"),
            ("https://localhost:6443/", None, "none"),
            (
                "https://127.0.0.1:6443/",
                Some("http://own:1"),
                "http http://own:1/ None",
            ),
        ];
        for (server, named, want) in cases {
            assert_eq!(found(server, named), want, "{server} {named:?}");
        }
    }

    #[test]
    fn credentials_of_a_proxy_are_decoded() {
        let named: Uri = "http://ada:s%40cret@own:1".parse().unwrap();
        let none = Matcher::builder().build();
        let found = proxy(&SERVER.parse().unwrap(), Some(&named), &none).unwrap();
        let Some(Proxy::Http { credentials, .. }) = found else {
            panic!("{found:?}")
        };
        assert_eq!(credentials.unwrap(), "Basic YWRhOnNAY3JldA==");
    }
}
