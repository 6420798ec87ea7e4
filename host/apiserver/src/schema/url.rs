//! URLs as Go's `net/url` reads them, which the format `uri` and expressions stand on.

use percent_encoding::percent_decode_str;

/// A URL, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    /// In small letters; empty for a path.
    pub(crate) scheme: String,
    /// The host with its port.
    pub(crate) host: String,
    /// As it was written.
    pub(crate) path: String,
    /// Without its question mark.
    pub(crate) query: String,
}

impl Url {
    /// An absolute URL or path, as `url.ParseRequestURI` takes it; what follows a `#` is no part of it.
    ///
    /// # Errors
    /// What Go says is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let whole = parse(text).map_err(|why| format!("parse {text:?}: {why}"))?;
        match text.split_once('#') {
            Some((before, _)) => parse(before).map_err(|why| format!("parse {before:?}: {why}")),
            None => Ok(whole),
        }
    }

    /// The host without its port.
    pub(crate) fn host_name(&self) -> &str {
        let host = match self.host.rfind(':') {
            Some(at) if port(self.host.get(at..).unwrap_or_default()).is_some() => {
                self.host.get(..at).unwrap_or_default()
            }
            _ => self.host.as_str(),
        };
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        inner.unwrap_or(host)
    }

    /// The port; empty where there is none.
    pub(crate) fn port(&self) -> &str {
        let after = self.host.rfind(':').and_then(|at| self.host.get(at..));
        after.and_then(port).unwrap_or_default()
    }
}

/// The digits of `:80`, or none for `:`.
fn port(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(':')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)
}

fn parse(text: &str) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        text.clone_into(&mut url.path);
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        return match scheme {
            "" => Err("invalid URI for request".to_owned()),
            _ => Ok(url),
        };
    }
    let mut path = rest;
    if !scheme.is_empty()
        && let Some(after) = rest.strip_prefix("//")
    {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, below) = after.split_at(end);
        url.host = authority_host(authority)?;
        path = below;
    }
    escapes(path)?;
    path.clone_into(&mut url.path);
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => {
                let (scheme, rest) = text.split_at(at);
                return Ok((scheme, rest.strip_prefix(':').unwrap_or(rest)));
            }
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn authority_host(authority: &str) -> Result<String, String> {
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let fine = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            if !user.chars().all(fine) {
                return Err("net/url: invalid userinfo".to_owned());
            }
            escapes(user)?;
            host
        }
        None => authority,
    };
    let after = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        host.get(end + 1..).unwrap_or_default()
    } else {
        host.rfind(':')
            .and_then(|at| host.get(at..))
            .unwrap_or_default()
    };
    if !after.is_empty() && port(after).is_none() {
        return Err(format!("invalid port {after:?} after host"));
    }
    escapes(host)?;
    let fine = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    if let Some(bad) = host.chars().find(|c| !fine(*c)) {
        return Err(format!(
            "invalid character {:?} in host name",
            bad.to_string()
        ));
    }
    Ok(percent_decode_str(host).decode_utf8_lossy().into_owned())
}

/// Each percent sign has two hexadecimal digits after it.
fn escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3).unwrap_or_default();
        if digits.len() < 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            let shown: String = text.get(at..).unwrap_or_default().chars().take(3).collect();
            return Err(format!("invalid URL escape {shown:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_what_go_takes_for_them() {
        for fine in [
            "http://",
            "http:",
            "https://a/b?c#d",
            "/a b",
            "mailto:x",
            "http://[::1]:80/x",
            "http://u:p@h:",
            "*",
        ] {
            assert!(Url::parse(fine).is_ok(), "{fine}");
        }
        let cases = [
            ("", "parse \"\": empty url"),
            ("a/b", "parse \"a/b\": invalid URI for request"),
            (":x", "parse \":x\": missing protocol scheme"),
            (
                "http://a:b/",
                "parse \"http://a:b/\": invalid port \":b\" after host",
            ),
            (
                "http://a b/",
                "parse \"http://a b/\": invalid character \" \" in host name",
            ),
            ("/%zz", "parse \"/%zz\": invalid URL escape \"%zz\""),
            ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
        ];
        for (text, want) in cases {
            assert_eq!(Url::parse(text), Err(want.to_owned()));
        }
    }

    #[test]
    fn a_url_has_a_host_and_a_port() {
        let url = Url::parse("HTTPS://[::1]:80/a%20b?c=d#e").unwrap();
        assert_eq!(
            (&*url.scheme, url.host_name(), url.port()),
            ("https", "::1", "80")
        );
        assert_eq!((&*url.path, &*url.query), ("/a%20b", "c=d"));
        let none = Url::parse("http://").unwrap();
        assert_eq!((&*none.host, none.host_name(), none.port()), ("", "", ""));
    }
}
