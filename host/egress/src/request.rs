//! A request of a guest, checked.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::error::{Error, Failure};
use crate::headers;
use crate::location::Location;
use crate::text::shown;

/// The largest body.
const BODY: usize = 1024 * 1024;
/// The methods that a rule can name.
pub(crate) const METHODS: [&str; 21] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "QUERY",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
    "LINK",
    "UNLINK",
    "PURGE",
    "LIST",
];

/// What a guest asks for, as it says it.
#[derive(Clone)]
pub struct RawRequest {
    /// In capitals.
    pub method: String,
    /// Absolute.
    pub url: String,
    /// Names in any case.
    pub headers: Vec<(String, String)>,
    /// Empty for none.
    pub body: Vec<u8>,
}

/// A request that can be sent, if a rule allows it. Its location is in the one form that is compared and sent.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) location: Location,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The values of headers and the body are not shown.
impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Request")
            .field("method", &self.method)
            .field("origin", self.location.origin())
            .field("headers", &self.headers.keys())
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Request {
    /// Checks what a guest asks for.
    ///
    /// # Errors
    /// It is not a request that can be sent: `Invalid`, or `TooLarge`.
    pub fn check(raw: RawRequest) -> Result<Self, Failure> {
        let method = method(&raw.method).map_err(Failure::invalid)?;
        let location =
            Location::parse(&raw.url).map_err(|problem| Failure::invalid(problem.to_string()))?;
        let headers = headers::check(&raw.headers)?;
        if raw.body.len() > BODY {
            let reason = format!("a body of {} bytes, and 1 MiB is the most", raw.body.len());
            return Err(Failure::unsent(Error::TooLarge, reason));
        }
        Ok(Self {
            method,
            location,
            headers,
            body: raw.body.into(),
        })
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Where it goes.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What the guest set, by lower-case name.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Empty for none.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether it promises to change nothing: `GET` or `HEAD`.
    pub fn is_read(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

/// Reads a method.
pub(crate) fn method(text: &str) -> Result<Method, String> {
    let shown = shown(text);
    if matches!(text, "CONNECT" | "TRACE") {
        return Err(format!("method {shown} is never sent"));
    }
    let is_word = (1..=32).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if !is_word {
        return Err(format!("method {shown} is not a word in capitals"));
    }
    Method::from_bytes(text.as_bytes()).map_err(|_| format!("method {shown} is no method"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(method: &str, body: usize) -> RawRequest {
        RawRequest {
            method: method.to_owned(),
            url: "https://api.example.com/".to_owned(),
            headers: Vec::new(),
            body: vec![0; body],
        }
    }

    #[test]
    fn a_method_is_a_word_in_capitals() {
        for method in ["GET", "HEAD", "POST", "M-SEARCH"] {
            assert_eq!(Request::check(raw(method, 0)).unwrap().method(), method);
        }
        for method in [
            "get",
            "Get",
            "CONNECT",
            "TRACE",
            "",
            "GET ",
            "G\r\nET",
            "GET / HTTP/1.1",
            "GÉT",
        ] {
            let failure = Request::check(raw(method, 0)).unwrap_err();
            assert_eq!(failure.error.label(), "invalid", "{method:?}");
        }
        assert!(METHODS.iter().all(|word| method(word).is_ok()));
    }

    #[test]
    fn a_body_has_at_most_a_mebibyte() {
        assert!(Request::check(raw("PUT", BODY)).is_ok());
        let failure = Request::check(raw("PUT", BODY + 1)).unwrap_err();
        assert_eq!(failure.error, Error::TooLarge);
    }
}
