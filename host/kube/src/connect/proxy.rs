//! The proxy through which the API server is reached, as client-go finds it.
//!
//! - `proxy-url` of the kubeconfig goes before the environment, and knows no exceptions.
//! - `HTTPS_PROXY` and `HTTP_PROXY` do not hold for what `NO_PROXY` names ([`no_proxy`](super::no_proxy)), nor for
//!   this machine. `ALL_PROXY` is not read.
//! - A server without TLS is reached through CONNECT as well; Go would send the proxy the whole URL.

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::no_proxy::is_direct;
use windlass_base::seams::environment::Proxies;

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

/// A proxy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongProxy {
    /// It is of a kind that is not supported. It is not shown: it may have a password.
    #[error("its proxy must begin with http://, https:// or socks5://")]
    Kubeconfig,
    /// The same, of the environment.
    #[error("the proxy of the environment ({0}) must begin with http://, https:// or socks5://")]
    Environment(&'static str),
    /// Anyone who sends a CGI program a request could have set `HTTP_PROXY`.
    #[error("HTTP_PROXY does not count where REQUEST_METHOD is set")]
    Cgi,
}

/// The proxy for `server`: `named` is what the kubeconfig says.
///
/// # Errors
/// It is of a kind that is not supported.
pub(super) fn proxy(
    server: &Uri,
    named: Option<&str>,
    environment: &Proxies,
) -> Result<Option<Proxy>, WrongProxy> {
    if let Some(named) = named {
        // client-go wants a scheme here, and not in the environment.
        let has_scheme = named.contains("://");
        let found = read(named).filter(|_| has_scheme);
        return found.ok_or(WrongProxy::Kubeconfig).map(Some);
    }
    let is_https = server.scheme_str() == Some("https");
    let (name, value) = if is_https {
        ("HTTPS_PROXY", &environment.https)
    } else {
        ("HTTP_PROXY", &environment.http)
    };
    // What is not a URL is none.
    let is_url = |value: &str| value.parse::<Uri>().is_ok_and(|url| url.host().is_some());
    let Some(value) = value.as_deref().filter(|value| is_url(value)) else {
        return Ok(None);
    };
    if environment.cgi && !is_https {
        return Err(WrongProxy::Cgi);
    }
    if is_direct(server, environment.no.as_deref().unwrap_or_default()) {
        return Ok(None);
    }
    let found = read(value);
    found.ok_or(WrongProxy::Environment(name)).map(Some)
}

/// Reads the URL of a proxy; without a scheme it is an `http://`.
fn read(url: &str) -> Option<Proxy> {
    let all = Matcher::builder().all(url).build();
    of(&all.intercept(&Uri::from_static("http://any"))?)
}

fn of(found: &Intercept) -> Option<Proxy> {
    let url = found.uri().clone();
    let header = || found.basic_auth().cloned();
    match url.scheme_str() {
        Some("http") => Some(Proxy::Http {
            credentials: header(),
            url,
        }),
        Some("https") => Some(Proxy::Https {
            credentials: header(),
            url,
        }),
        Some("socks5" | "socks5h") => {
            let credentials = found
                .raw_auth()
                .map(|(user, word)| (user.to_owned(), word.to_owned()));
            let url = with_port(&url, 1080);
            Some(Proxy::Socks { url, credentials })
        }
        _ => None,
    }
}

/// `url` with `port` if it has none.
pub(super) fn with_port(url: &Uri, port: u16) -> Uri {
    let mut parts = url.clone().into_parts();
    if let Some(authority) = &parts.authority
        && authority.port().is_none()
    {
        let with = format!("{}:{port}", authority.as_str().trim_end_matches(':'));
        parts.authority = with.parse().ok().or(parts.authority);
    }
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}

#[cfg(test)]
mod tests;
