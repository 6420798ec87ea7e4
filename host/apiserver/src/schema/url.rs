//! URLs as Go's `net/url` reads them, which the format `uri` and expressions stand on.

use std::net::{Ipv4Addr, Ipv6Addr};

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
    /// Who asks, as it was written.
    pub(crate) user: Option<String>,
    /// What follows a `#`, without escapes; only of a reference.
    pub(crate) fragment: String,
}

impl Url {
    /// An absolute URL or path, as `url.ParseRequestURI` takes it; what follows a `#` is not part of it.
    ///
    /// # Errors
    /// What Go says is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let parse = |text: &str| {
            let parsed = parse(text, true);
            parsed.map_err(|why| format!("parse {text:?}: {why}"))
        };
        let whole = parse(text)?;
        match text.split_once('#') {
            Some((before, _)) => parse(before),
            None => Ok(whole),
        }
    }

    /// Any URL, also a relative one, as `url.Parse` takes it.
    ///
    /// # Errors
    /// What Go says is wrong.
    pub(crate) fn reference(text: &str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(before, false).map_err(|why| format!("parse {before:?}: {why}"))?;
        escapes(fragment).map_err(|why| format!("parse {text:?}: {why}"))?;
        url.fragment = percent_decode_str(fragment)
            .decode_utf8_lossy()
            .into_owned();
        Ok(url)
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

/// `absolute` says that it must be one, or an absolute path.
fn parse(text: &str, absolute: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && absolute {
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
        if !scheme.is_empty() {
            return Ok(url);
        }
        if absolute {
            return Err("invalid URI for request".to_owned());
        }
        let first = rest.split('/').next().unwrap_or_default();
        if first.contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    let has_authority = !scheme.is_empty() || !absolute && !rest.starts_with("///");
    if has_authority && let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, below) = after.split_at(end);
        (url.user, url.host) = authority_parts(authority, &url.scheme)?;
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

/// The user and the host.
fn authority_parts(authority: &str, scheme: &str) -> Result<(Option<String>, String), String> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return Ok((None, whole_host(authority, scheme)?));
    };
    let host = whole_host(host, scheme)?;
    let fine = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(fine) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    escapes(user)?;
    Ok((Some(user.to_owned()), host))
}

fn whole_host(host: &str, scheme: &str) -> Result<String, String> {
    let Some(open) = host.rfind('[') else {
        // Only the web allows no more than one colon.
        let colon = match scheme {
            "http" | "https" => host.find(':'),
            _ => host.rfind(':'),
        };
        valid_port(colon.and_then(|at| host.get(at..)).unwrap_or_default())?;
        return host_part(host);
    };
    if open > 0 {
        return Err("invalid IP-literal".to_owned());
    }
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    let after = host.get(close + 1..).unwrap_or_default();
    valid_port(after)?;
    let after = host_part(after)?;
    let inner = host.get(1..close).unwrap_or_default();
    let inner = match inner.split_once("%25") {
        Some((address, zone)) => {
            escapes(zone)?;
            let zone = percent_decode_str(zone).decode_utf8_lossy().into_owned();
            format!("{}%{zone}", host_part(address)?)
        }
        None => host_part(inner)?,
    };
    let (address, zone) = inner.split_once('%').unwrap_or((&inner, "-"));
    if address.parse::<Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    let why = match (address.parse::<Ipv6Addr>(), zone) {
        (Ok(_), "") => "zone must be a non-empty string",
        (Ok(_), _) => return Ok(format!("[{inner}]{after}")),
        (Err(_), _) => "unable to parse IP",
    };
    Err(format!("invalid host: ParseAddr({inner:?}): {why}"))
}
fn valid_port(after: &str) -> Result<(), String> {
    if !after.is_empty() && port(after).is_none() {
        return Err(format!("invalid port {after:?} after host"));
    }
    Ok(())
}

/// A host without what is escaped in it, which is only what is not ASCII.
fn host_part(host: &str) -> Result<String, String> {
    escapes(host)?;
    for (at, _) in host.match_indices('%') {
        let escape = host.get(at..at + 3).unwrap_or_default();
        let is_ascii = escape.get(1..2).is_some_and(|digit| digit < "8");
        if is_ascii && escape != "%25" {
            return Err(format!("invalid URL escape {escape:?}"));
        }
    }
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
            "http://%C3%A9/",
            "redis://a:1,b:2",
            "http://[fe80::1%25en0]/",
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
            (
                "https://a%20b/",
                "parse \"https://a%20b/\": invalid URL escape \"%20\"",
            ),
            (
                "http://a:b:80/",
                "parse \"http://a:b:80/\": invalid port \":b:80\" after host",
            ),
            (
                "http://[x]/",
                "parse \"http://[x]/\": invalid host: ParseAddr(\"x\"): unable to parse IP",
            ),
            (
                "http://[1.2.3.4]/",
                "parse \"http://[1.2.3.4]/\": invalid IP-literal",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(Url::parse(text), Err(want.to_owned()));
        }
    }

    #[test]
    fn a_reference_may_be_relative() {
        let cases = [
            ("HTTPS://a/", "https", "a", ""),
            ("https:/a", "https", "", ""),
            ("https:a", "https", "", ""),
            ("//a/b", "", "a", ""),
            ("a/b", "", "", ""),
            ("https://a#b%20c", "https", "a", "b c"),
        ];
        for (text, scheme, host, fragment) in cases {
            let url = Url::reference(text).unwrap();
            let found = (&*url.scheme, &*url.host, &*url.fragment);
            assert_eq!(found, (scheme, host, fragment), "{text}");
        }
        let cases = [
            ("%zz", "parse \"%zz\": invalid URL escape \"%zz\""),
            (":a", "parse \":a\": missing protocol scheme"),
            (
                "1:a",
                "parse \"1:a\": first path segment in URL cannot contain colon",
            ),
            (
                "https://a#%z",
                "parse \"https://a#%z\": invalid URL escape \"%z\"",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(Url::reference(text), Err(want.to_owned()));
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
