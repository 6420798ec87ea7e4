//! Servers on this machine that stand in for origins: `--http ORIGIN=URL`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, bail};
use windlass_egress::{Local, Origin};

/// Reads the values of `--http`.
///
/// # Errors
/// One of them is not an origin and the URL of a server on this machine.
pub(super) fn local(values: &[String]) -> anyhow::Result<BTreeMap<Origin, Local>> {
    values.iter().map(|value| one(value)).collect()
}

fn one(value: &str) -> anyhow::Result<(Origin, Local)> {
    let shown = format!("--http {value}");
    let parts = value.split_once('=');
    let (origin, url) = parts.with_context(|| {
        format!("{shown}: write ORIGIN=URL, such as https://api.example.com=http://127.0.0.1:8000")
    })?;
    let origin = Origin::parse(origin).map_err(|problem| anyhow::anyhow!("{shown}: {problem}"))?;
    // Its host may be a name that only this machine has.
    let url: http::Uri = url
        .parse()
        .with_context(|| format!("{shown}: {url} is no URL"))?;
    let scheme = match url.scheme_str() {
        Some("http") => windlass_egress::Scheme::Http,
        Some("https") => windlass_egress::Scheme::Https,
        _ => bail!("{shown}: the URL begins with http:// or https://"),
    };
    let host = url.host().unwrap_or_default();
    let address = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        host => host
            .trim_matches(['[', ']'])
            .parse()
            .ok()
            .with_context(|| {
                format!("{shown}: {host} is not an address of this machine, such as 127.0.0.1")
            })?,
    };
    let port = url.port_u16().unwrap_or(match scheme {
        windlass_egress::Scheme::Http => 80,
        windlass_egress::Scheme::Https => 443,
    });
    let local = Local::new(SocketAddr::new(address, port), scheme);
    let local = local.with_context(|| {
        format!("{shown}: {host} is not an address of this machine, such as 127.0.0.1")
    })?;
    Ok((origin, local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_sent_to_a_server_on_this_machine() {
        for good in [
            "https://api.example.com=http://127.0.0.1:8000",
            "https://api.example.com=http://localhost:8000/",
            "http://api.example.com:81=https://[::1]:8443",
        ] {
            assert!(local(&[good.to_owned()]).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("https://api.example.com", "write ORIGIN=URL"),
            (
                "api.example.com=http://127.0.0.1:1",
                "--http api.example.com",
            ),
            ("https://a.example=127.0.0.1:1", "--http"),
            ("https://a.example=ftp://127.0.0.1:1", "begins with http"),
            (
                "https://a.example=http://10.0.0.1:1",
                "not an address of this machine",
            ),
            (
                "https://a.example=http://b.example",
                "not an address of this machine",
            ),
        ] {
            let error = format!("{:#}", local(&[bad.to_owned()]).unwrap_err());
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
