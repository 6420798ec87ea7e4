//! The host of a URL: a name in ASCII, or an address in the one form that everybody reads alike.

use std::net::Ipv6Addr;

use url::Host;

use super::UrlProblem;
use crate::text::shown;

/// An authority without user information, split into host and port.
pub(super) fn split_port(authority: &str) -> Result<(&str, Option<u16>), UrlProblem> {
    let end = match authority.find(']') {
        Some(bracket) if authority.starts_with('[') => bracket + 1,
        _ => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(end);
    if rest.is_empty() {
        return Ok((host, None));
    }
    let port = || UrlProblem::Port(shown(rest));
    let digits = rest.strip_prefix(':').ok_or_else(port)?;
    if digits.is_empty() {
        return Ok((host, None));
    }
    if digits.len() > 5 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(port());
    }
    match digits.parse() {
        Ok(number) if number > 0 => Ok((host, Some(number))),
        _ => Err(port()),
    }
}

/// Reads a host.
pub(super) fn parse(text: &str) -> Result<Host<String>, UrlProblem> {
    let refused = |problem| UrlProblem::Host {
        host: shown(text),
        problem,
    };
    if text.contains('%') {
        return Err(refused(
            "has a percent sign: names and addresses have none, and no zone",
        ));
    }
    let host = Host::parse(text).map_err(|_| refused("is neither a name nor an address"))?;
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            if is_name(name) {
                Ok(Host::Domain(name.to_owned()))
            } else {
                Err(refused(
                    "is not a name: labels of letters, digits and hyphens",
                ))
            }
        }
        Host::Ipv4(address) if address.to_string() == text => Ok(Host::Ipv4(address)),
        Host::Ipv4(_) => Err(refused(
            "is a number: write the address as four decimal parts",
        )),
        Host::Ipv6(address) if holds_ipv4(address) => {
            Err(refused("holds an IPv4 address: write that"))
        }
        Host::Ipv6(address) => Ok(Host::Ipv6(address)),
    }
}

/// Whether it is `::ffff:a.b.c.d`, or the older `::a.b.c.d`.
fn holds_ipv4(address: Ipv6Addr) -> bool {
    address.to_ipv4().is_some() && !address.is_loopback() && !address.is_unspecified()
}

fn is_name(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=63).contains(&label.len())
        && label.bytes().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
