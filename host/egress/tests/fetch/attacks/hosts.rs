//! Hosts and ports that two resolvers read in two ways.

use super::{Attack, Row, of_urls};
use crate::world::Stop::Check;

/// Hosts that are neither a name nor an address in its one form, and ports that are none.
const REFUSED: &[Row] = &[
    (
        "an at sign behind an escape",
        "https://api.example.com%40evil.example/",
        "percent sign",
    ),
    (
        "three slashes after the scheme",
        "https:///api.example.com/v1/zones/",
        "the host",
    ),
    ("no host", "https:///v1/zones/", "the host"),
    ("a port alone", "https://:443/v1/zones/", "the host"),
    ("a dot for a host", "https://./", "the host"),
    (
        "two dots after the host",
        "https://api.example.com../v1/zones/",
        "not a name",
    ),
    (
        "a dot before the host",
        "https://.api.example.com/",
        "not a name",
    ),
    (
        "two dots in the host",
        "https://api..example.com/",
        "not a name",
    ),
    (
        "a hyphen before the host",
        "https://-api.example.com/",
        "not a name",
    ),
    ("a wildcard host", "https://*.example.com/", "not a name"),
    (
        "a comma in the host",
        "https://api.example.com,evil.example/",
        "not a name",
    ),
    (
        "a semicolon in the host",
        "https://api.example.com;evil.example/",
        "not a name",
    ),
    (
        "a label of 64 letters",
        "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example/",
        "the host",
    ),
    (
        "an escaped host",
        "https://%61pi.example.com/v1/zones/",
        "percent sign",
    ),
    (
        "an escaped dot in the host",
        "https://api%2eexample.com/",
        "percent sign",
    ),
    (
        "an escaped slash in the host",
        "https://api.example.com%2f.evil.example/",
        "percent sign",
    ),
    (
        "an escaped hash in the host",
        "https://evil.example%23.api.example.com/",
        "percent sign",
    ),
    (
        "an escaped line break in the host",
        "https://api.example.com%0d%0a/",
        "percent sign",
    ),
    (
        "loopback in one number",
        "http://2130706433/",
        "is a number",
    ),
    (
        "loopback in hexadecimal",
        "http://0x7f000001/",
        "is a number",
    ),
    ("loopback in octal", "http://017700000001/", "is a number"),
    (
        "loopback in octal parts",
        "http://0177.0.0.1/",
        "is a number",
    ),
    (
        "loopback in hexadecimal parts",
        "http://0x7f.0x0.0x0.0x1/",
        "is a number",
    ),
    (
        "loopback in mixed parts",
        "http://127.0.0.0x1/",
        "is a number",
    ),
    ("loopback in two parts", "http://127.1/", "is a number"),
    ("loopback in three parts", "http://127.0.1/", "is a number"),
    (
        "loopback with leading zeros",
        "http://127.000.000.001/",
        "is a number",
    ),
    (
        "loopback with a dot after it",
        "http://127.0.0.1./",
        "is a number",
    ),
    ("zero", "http://0/", "is a number"),
    (
        "metadata in one number",
        "http://2852039166/",
        "is a number",
    ),
    (
        "metadata in hexadecimal",
        "http://0xa9fea9fe/",
        "is a number",
    ),
    (
        "metadata in mixed parts",
        "http://169.254.43518/",
        "is a number",
    ),
    (
        "loopback in wide digits",
        "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
        "is a number",
    ),
    (
        "loopback in circled digits",
        "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
        "is a number",
    ),
    (
        "loopback with wide dots",
        "http://127\u{3002}0\u{3002}0\u{3002}1/",
        "is a number",
    ),
    (
        "loopback in superscript",
        "http://\u{b9}\u{b2}\u{2077}.0.0.1/",
        "is a number",
    ),
    (
        "a number that overflows",
        "http://4294967297/",
        "neither a name nor an address",
    ),
    (
        "a part that overflows",
        "http://127.0.0.257/",
        "neither a name nor an address",
    ),
    (
        "five parts",
        "http://127.0.0.0.1/",
        "neither a name nor an address",
    ),
    (
        "a name that ends with a number",
        "http://api.example.com.1/",
        "neither a name nor an address",
    ),
    (
        "IPv6 that holds loopback",
        "http://[::ffff:127.0.0.1]/",
        "holds an IPv4",
    ),
    (
        "IPv6 that holds loopback in hexadecimal",
        "http://[::ffff:7f00:1]/",
        "holds an IPv4",
    ),
    (
        "IPv6 that holds metadata",
        "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "holds an IPv4",
    ),
    (
        "IPv6 that is compatible with loopback",
        "http://[::127.0.0.1]/",
        "holds an IPv4",
    ),
    (
        "IPv6 with a zone",
        "http://[fe80::1%25eth0]/",
        "percent sign",
    ),
    (
        "IPv6 with a zone and a percent sign",
        "http://[fe80::1%eth0]/",
        "percent sign",
    ),
    ("IPv6 without brackets", "http://::1/", "not a port"),
    (
        "IPv6 without its last bracket",
        "http://[::1/",
        "not a port",
    ),
    ("IPv6 with text after it", "http://[::1]evil/", "not a port"),
    (
        "IPv4 in brackets",
        "http://[127.0.0.1]/",
        "neither a name nor an address",
    ),
    (
        "a future address",
        "http://[v1.a:b]/",
        "neither a name nor an address",
    ),
    (
        "IPv6 with nine parts",
        "http://[1:2:3:4:5:6:7:8:9]/",
        "neither a name nor an address",
    ),
    ("port 0", "https://api.example.com:0/", "not a port"),
    (
        "a port that overflows",
        "https://api.example.com:65979/",
        "not a port",
    ),
    (
        "a port with a sign",
        "https://api.example.com:+443/",
        "not a port",
    ),
    (
        "a port that is no number",
        "https://api.example.com:https/",
        "not a port",
    ),
    (
        "a port in hexadecimal",
        "https://api.example.com:0x1bb/",
        "not a port",
    ),
    (
        "a port in wide digits",
        "https://api.example.com:\u{ff14}\u{ff14}\u{ff13}/",
        "not a port",
    ),
    (
        "two ports",
        "https://api.example.com:443:6443/",
        "not a port",
    ),
];

pub(super) fn attacks() -> Vec<Attack> {
    of_urls(REFUSED, Check, "invalid").collect()
}
