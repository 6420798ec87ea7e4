//! Names that lead to addresses which no rule opens.

use super::Attack;
use crate::world::Stop::Send;
use crate::world::get;

type Row = (&'static str, &'static [&'static str], &'static str);

/// What a name without `allowPrivate` must not lead to.
const PLAIN: &[Row] = &[
    ("10/8", &["10.0.0.1"], "private"),
    ("172.16/12", &["172.31.255.255"], "private"),
    ("192.168/16", &["192.168.1.1"], "private"),
    ("fc00::/7", &["fd12:3456::1"], "private"),
    ("a private address in IPv6", &["::ffff:10.0.0.1"], "private"),
    (
        "a private address behind NAT64",
        &["64:ff9b::a00:1"],
        "private",
    ),
    (
        "a public address before a private one",
        &["1.1.1.1", "10.0.0.1"],
        "private",
    ),
    (
        "a private address before a public one",
        &["10.0.0.1", "1.1.1.1"],
        "private",
    ),
    (
        "a public address before a private one in IPv6",
        &["1.1.1.1", "fd00::1"],
        "private",
    ),
    (
        "a private address among many",
        &[
            "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "10.0.0.1",
        ],
        "private",
    ),
];

/// What no name must lead to, also with `allowPrivate`.
const NEVER: &[Row] = &[
    ("127.0.0.1", &["127.0.0.1"], "loopback"),
    ("127.8.8.8", &["127.8.8.8"], "loopback"),
    ("::1", &["::1"], "loopback"),
    ("loopback in IPv6", &["::ffff:127.0.0.1"], "loopback"),
    ("loopback behind NAT64", &["64:ff9b::7f00:1"], "loopback"),
    (
        "a public address before loopback",
        &["1.1.1.1", "127.0.0.1"],
        "loopback",
    ),
    (
        "loopback before a public address",
        &["127.0.0.1", "1.1.1.1"],
        "loopback",
    ),
    (
        "a private address before loopback",
        &["10.0.0.1", "127.0.0.1"],
        "loopback",
    ),
    (
        "a public address before loopback in IPv6",
        &["1.1.1.1", "::1"],
        "loopback",
    ),
    ("0.0.0.0", &["0.0.0.0"], "unspecified"),
    ("0.0.0.1", &["0.0.0.1"], "unspecified"),
    ("::", &["::"], "unspecified"),
    ("0.0.0.0 in IPv6", &["::ffff:0.0.0.0"], "unspecified"),
    ("169.254.0.1", &["169.254.0.1"], "link-local"),
    ("fe80::1", &["fe80::1"], "link-local"),
    ("link-local in IPv6", &["::ffff:169.254.1.1"], "link-local"),
    ("metadata of most clouds", &["169.254.169.254"], "metadata"),
    ("metadata in IPv6 of Amazon", &["fd00:ec2::254"], "metadata"),
    (
        "metadata in IPv6 of Google Cloud",
        &["fd20:ce::254"],
        "metadata",
    ),
    ("metadata of Azure", &["168.63.129.16"], "metadata"),
    (
        "metadata of Alibaba Cloud",
        &["100.100.100.200"],
        "metadata",
    ),
    ("metadata of Oracle Cloud", &["192.0.0.192"], "metadata"),
    (
        "metadata mapped to IPv6",
        &["::ffff:169.254.169.254"],
        "metadata",
    ),
    ("metadata behind NAT64", &["64:ff9b::a9fe:a9fe"], "metadata"),
    (
        "metadata after a public address",
        &["1.1.1.1", "169.254.169.254"],
        "metadata",
    ),
    ("224.0.0.1", &["224.0.0.1"], "multicast"),
    ("255.255.255.255", &["255.255.255.255"], "multicast"),
    ("ff02::1", &["ff02::1"], "multicast"),
    ("100.64/10", &["100.64.0.1"], "shared"),
    ("192.0.0/24", &["192.0.0.8"], "reserved"),
    ("192.0.2/24", &["192.0.2.1"], "reserved"),
    ("198.18/15", &["198.19.255.255"], "reserved"),
    ("198.51.100/24", &["198.51.100.1"], "reserved"),
    ("203.0.113/24", &["203.0.113.1"], "reserved"),
    ("240/4", &["240.0.0.1"], "reserved"),
    ("100::/64", &["100::1"], "reserved"),
    ("fec0::/10", &["fec0::1"], "reserved"),
    ("2001:db8::/32", &["2001:db8::1"], "reserved"),
    ("3fff::/20", &["3fff::1"], "reserved"),
    (
        "IPv6 that is compatible with IPv4",
        &["::7f00:1"],
        "reserved",
    ),
    (
        "IPv6 that is translated to IPv4",
        &["::ffff:0:127.0.0.1"],
        "reserved",
    ),
    ("IPv6 that is not given out", &["4000::1"], "reserved"),
    ("192.88.99/24", &["192.88.99.1"], "tunnel"),
    ("6to4 for loopback", &["2002:7f00:1::1"], "tunnel"),
    ("6to4 for a public address", &["2002:101:101::1"], "tunnel"),
    ("Teredo", &["2001::7f00:1"], "tunnel"),
    ("ISATAP", &["2606:4700::5efe:7f00:1"], "tunnel"),
    ("NAT64 of a local prefix", &["64:ff9b:1::7f00:1"], "tunnel"),
    (
        "the API server by its address",
        &["10.96.0.1"],
        "API server",
    ),
    ("the API server in IPv6", &["fd00:96::1"], "API server"),
    (
        "the API server mapped to IPv6",
        &["::ffff:10.96.0.1"],
        "API server",
    ),
    (
        "the API server behind NAT64",
        &["64:ff9b::a60:1"],
        "API server",
    ),
    (
        "the API server after a private address",
        &["10.0.0.1", "10.96.0.1"],
        "API server",
    ),
];

fn of(rows: &[Row], url: &str) -> Vec<Attack> {
    let attack = |(name, addresses, reason): &Row| Attack {
        name,
        fetch: get(url),
        addresses: addresses.to_vec(),
        stop: Send,
        error: "denied",
        reason,
    };
    rows.iter().map(attack).collect()
}

pub(super) fn attacks() -> Vec<Attack> {
    let socket: &[Row] = &[("the API server by its socket", &["10.1.1.1"], "API server")];
    let plain = of(PLAIN, "http://plain.example/");
    let private = of(NEVER, "http://private.example/");
    let socket = of(socket, "http://private.example:6443/");
    plain.into_iter().chain(private).chain(socket).collect()
}
