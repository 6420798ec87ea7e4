//! The API server's URL, as client-go reads it from a kubeconfig.

use http::Uri;

/// `server`, with the scheme that it means if it has none: `https` if the kubeconfig has anything to do with TLS.
///
/// # Errors
/// It is not a URL, and no host and port.
pub(super) fn url(server: &Uri, tls: bool) -> Result<Uri, WrongServer> {
    let wrong = || WrongServer(server.to_string());
    let Some(authority) = server.authority() else {
        return Err(wrong());
    };
    match server.scheme_str() {
        Some("http" | "https") => Ok(server.clone()),
        Some(_) => Err(wrong()),
        // A path after a host without scheme does not parse in the first place.
        None => Uri::builder()
            .scheme(if tls { "https" } else { "http" })
            .authority(authority.clone())
            .path_and_query("/")
            .build()
            .map_err(|_| wrong()),
    }
}

/// Not a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its server {0:?} must be a URL, such as https://host:6443, or a host and port")]
pub(super) struct WrongServer(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_scheme_gets_the_one_that_it_means() {
        let cases = [
            ("https://a:6443", false, Some("https://a:6443/")),
            ("http://a/base", true, Some("http://a/base")),
            ("a:6443", true, Some("https://a:6443/")),
            ("a:6443", false, Some("http://a:6443/")),
            ("127.0.0.1:6443", true, Some("https://127.0.0.1:6443/")),
            ("a", true, Some("https://a/")),
            ("ftp://a", true, None),
            ("/a", true, None),
        ];
        for (server, tls, want) in cases {
            let url = url(&server.parse().unwrap(), tls);
            let url = url.map(|url| url.to_string());
            assert_eq!(url.ok().as_deref(), want, "{server}");
        }
    }
}
