//! Where a request goes, in the one form that is compared and sent.
//!
//! - A text is read once. What is compared with the rules is what goes over the wire.
//! - A text that two readers could understand in two ways is refused, not repaired.

mod host;
mod origin;
mod path;

use std::fmt;

pub use origin::{Origin, Scheme};
pub(crate) use path::normal_path;

use crate::text::shown;

/// The longest URL.
const LONGEST: usize = 8 * 1024;

/// An origin, a path and a query. The fragment is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    origin: Origin,
    path: String,
    query: Option<String>,
}

/// Why a text is not the URL of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// It is longer than 8 KiB.
    #[error("the URL is longer than 8 KiB")]
    TooLong,
    /// It has a space or a control character.
    #[error("the URL has a space or a control character: write it as %20 or the like")]
    Control,
    /// It has a backslash.
    #[error("the URL has a backslash: write %5C")]
    Backslash,
    /// It has no scheme, or no `//` after it.
    #[error("{0} is not absolute: it begins with http:// or https://")]
    NotAbsolute(String),
    /// Its scheme is neither `http` nor `https`.
    #[error("the scheme {0} is neither http nor https")]
    Scheme(String),
    /// It has user information.
    #[error("the URL has user information (name:password@): the operator injects credentials")]
    UserInformation,
    /// Its host cannot be used.
    #[error("the host {host} {problem}")]
    Host {
        /// The host as written.
        host: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Its port is not a number from 1 to 65535.
    #[error("{0} is not a port")]
    Port(String),
    /// A percent sign without two hexadecimal digits.
    #[error("a percent sign in the URL has no two hexadecimal digits after it")]
    Percent,
    /// Escapes in the path that are not UTF-8.
    #[error("the escapes in the path are not UTF-8")]
    Utf8,
    /// A dot segment that only shows after decoding.
    #[error("the path hides a dot segment or a control character behind escapes")]
    Disguised,
}

impl Location {
    /// Reads a URL.
    ///
    /// # Errors
    /// It is not absolute, not of `http` or `https`, or can be read in two ways.
    pub fn parse(text: &str) -> Result<Self, UrlProblem> {
        let (origin, rest) = split(text)?;
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        Ok(Self {
            origin,
            path: normal_path(path)?,
            query: query.map(path::normal_query).transpose()?,
        })
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The path, which begins with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What goes into the request line: the path, and the query if there is one.
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.origin, self.target())
    }
}

/// The origin of a URL, and the text after it.
fn split(text: &str) -> Result<(Origin, &str), UrlProblem> {
    if text.len() > LONGEST {
        return Err(UrlProblem::TooLong);
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(UrlProblem::Control);
    }
    if text.contains('\\') {
        return Err(UrlProblem::Backslash);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(UrlProblem::NotAbsolute(shown(text)));
    };
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(UrlProblem::Scheme(shown(scheme))),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if authority.contains('@') {
        return Err(UrlProblem::UserInformation);
    }
    let (host, port) = host::split_port(authority)?;
    let port = port.unwrap_or(scheme.default_port());
    Ok((Origin::new(scheme, host::parse(host)?, port), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_one_normal_form() {
        for (text, want) in [
            ("https://api.example.com", "https://api.example.com/"),
            ("HTTPS://API.Example.COM:443/", "https://api.example.com/"),
            ("https://api.example.com./v1", "https://api.example.com/v1"),
            ("http://api.example.com:80/", "http://api.example.com/"),
            ("http://api.example.com:/", "http://api.example.com/"),
            ("http://api.example.com:0080/", "http://api.example.com/"),
            (
                "https://api.example.com:8443/a",
                "https://api.example.com:8443/a",
            ),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://api。example.com/", "https://api.example.com/"),
            ("https://h.example/a/./b/../c", "https://h.example/a/c"),
            ("https://h.example/a/%2e%2E/c", "https://h.example/c"),
            ("https://h.example/../../c", "https://h.example/c"),
            ("https://h.example/a/..", "https://h.example/"),
            ("https://h.example/a/b/.", "https://h.example/a/b/"),
            (
                "https://h.example/%7euser/%41%2f%c3%a9",
                "https://h.example/~user/A%2F%C3%A9",
            ),
            (
                "https://h.example/é|<x>",
                "https://h.example/%C3%A9%7C%3Cx%3E",
            ),
            (
                "https://h.example?q=%41&b=é#top",
                "https://h.example/?q=%41&b=%C3%A9",
            ),
            ("https://h.example/a#/../b?c", "https://h.example/a"),
            ("https://h.example/a//b", "https://h.example/a//b"),
            ("https://192.0.2.1/", "https://192.0.2.1/"),
            (
                "http://[2001:DB8:0:0::1]:8080/",
                "http://[2001:db8::1]:8080/",
            ),
        ] {
            let location = Location::parse(text).unwrap();
            assert_eq!(location.to_string(), want, "{text}");
            let again = Location::parse(want).unwrap();
            assert_eq!(
                again, location,
                "the normal form of {text} is its own normal form"
            );
        }
    }

    #[test]
    fn a_text_that_can_be_read_in_two_ways_is_no_url() {
        for text in [
            "",
            "/",
            "//h.example/",
            "http:h.example",
            "http:/h.example",
            "http:///h.example",
            " http://h.example",
            "http://h.example/ ",
            "http://h.ex\tample/",
            "http://h.example/\n",
            "http://h.example\\@evil.example/",
            "http://h.example/a\\..\\b",
            "http://user@h.example/",
            "http://h.example@evil.example",
            "http://:@h.example/",
            "ftp://h.example/",
            "file:///etc/passwd",
            "javascript://h.example/",
            "ws://h.example/",
            "http://",
            "http://:80/",
            "http://h.example:0/",
            "http://h.example:65536/",
            "http://h.example:80a/",
            "http://h.example:+80/",
            "http://h.example:80:80/",
            "http://h.example../",
            "http://.h.example/",
            "http://a..b/",
            "http://./",
            "http://-a.example/",
            "http://h%2eexample/",
            "http://h.example%00/",
            "http://*.example/",
            "http://a,b.example/",
            "http://0/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.0.0.01/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
            "http://①②⑦.0.0.1/",
            "http://127。0。0。1/",
            "http://256.0.0.1/",
            "http://1.2.3.4.5/",
            "http://h.example.0x1/",
            "http://1.2.3/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::127.0.0.1]/",
            "http://[fe80::1%25eth0]/",
            "http://[fe80::1%eth0]/",
            "http://[::1/",
            "http://::1/",
            "http://[::1]x/",
            "http://[]/",
            "http://[v1.fe80::a]/",
            "http://[127.0.0.1]/",
            "http://h.example/%",
            "http://h.example/%zz",
            "http://h.example/%u002e/",
            "http://h.example/?%f",
            "http://h.example/..%2fa",
            "http://h.example/%252e%252e/a",
            "http://h.example/..%5ca",
            "http://h.example/%c0%ae%c0%ae/a",
            "http://h.example/..;/a",
            "http://h.example/a/..;x=1/b",
            "http://h.example/%00",
            "http://h.example/a%0d%0ab",
            "http://h.example/．．/a",
            "http://h.example/%EF%BC%8E%EF%BC%8E/a",
            "http://h.example/‥/a",
        ] {
            assert!(
                Location::parse(text).is_err(),
                "{text:?}: {:?}",
                Location::parse(text)
            );
        }
        assert_eq!(
            Location::parse(&format!("http://h.example/{}", "a".repeat(9000))),
            Err(UrlProblem::TooLong)
        );
    }
}
