//! The headers that a guest may set.
//!
//! - Names and values are those of RFC 9110. The headers that frame a message or belong to a connection are the host's.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::{Error, Failure};
use crate::text::shown;

/// The headers of a request and of an answer.
pub(crate) const COUNT: usize = 100;
/// The bytes of all headers of a request, and of the head of an answer.
pub(crate) const BYTES: usize = 32 * 1024;
/// What a header line has beside its name and its value.
const LINE: usize = ": \r\n".len();
/// The headers that only the host sets. Names that begin with `proxy-` are too.
const OWN: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "expect",
    "http2-settings",
];

/// Checks the headers of a guest.
pub(crate) fn check(headers: &[(String, String)]) -> Result<HeaderMap, Failure> {
    let too_large = |reason: String| Failure::unsent(Error::TooLarge, reason);
    if headers.len() > COUNT {
        let reason = format!("{} headers, and {COUNT} are the most", headers.len());
        return Err(too_large(reason));
    }
    let lines = headers.iter();
    let bytes: usize = lines
        .map(|(name, value)| name.len() + value.len() + LINE)
        .sum();
    if bytes > BYTES {
        return Err(too_large(format!(
            "{bytes} bytes of headers, and 32 KiB are the most"
        )));
    }
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let parsed = parse_name(name).map_err(Failure::invalid)?;
        let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) else {
            let shown = shown(name);
            return Err(Failure::invalid(format!(
                "the value of header {shown} has a control character"
            )));
        };
        map.append(parsed, value);
    }
    Ok(map)
}

/// A name that a guest or a rule may set.
pub(crate) fn parse_name(name: &str) -> Result<HeaderName, String> {
    let shown = shown(name);
    if is_own(name) {
        return Err(format!("header {shown} is set by the host alone"));
    }
    let parsed = HeaderName::from_bytes(name.as_bytes());
    parsed.map_err(|_| format!("{shown} is not the name of a header"))
}

/// Servers behind a gateway may read `Content_Length` as `Content-Length`.
fn is_own(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase().replace('_', "-");
    OWN.contains(&name.as_str()) || name.starts_with("proxy-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Result<HeaderMap, Failure> {
        check(&[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_guest_sets_headers_that_frame_nothing() {
        for (name, value) in [
            ("Accept", "application/json"),
            ("X-Trace", "a\tb"),
            ("x-name", "Bücher"),
            ("Authorization", "Bearer x"),
        ] {
            assert!(one(name, value).is_ok(), "{name}: {value}");
        }
        for name in [
            "Host",
            "host",
            "HOST",
            "Content-Length",
            "Content_Length",
            "Transfer-Encoding",
            "Connection",
            "TE",
            "Trailer",
            "Upgrade",
            "Proxy-Authorization",
            "Proxy-Connection",
            "Keep-Alive",
            "Expect",
            "Host ",
            " Host",
            "",
            "a b",
            "a:b",
            "a\r\nb",
            "a\0",
            "é",
            "(",
            "a\n",
        ] {
            let failure = one(name, "1").unwrap_err();
            assert_eq!(failure.error.label(), "invalid", "{name:?}");
        }
        for value in ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "\u{7f}"] {
            assert_eq!(
                one("x", value).unwrap_err().error.label(),
                "invalid",
                "{value:?}"
            );
        }
    }

    #[test]
    fn headers_have_a_number_and_a_size() {
        let line = |value: &str| ("a".to_owned(), value.to_owned());
        assert!(check(&vec![line("b"); COUNT]).is_ok());
        assert_eq!(
            check(&vec![line("b"); COUNT + 1]).unwrap_err().error,
            Error::TooLarge
        );
        assert_eq!(
            one("a", &"b".repeat(BYTES)).unwrap_err().error,
            Error::TooLarge
        );
    }
}
