//! URLs that two parsers read in two ways, and URLs of origins that no rule names.

use super::{Attack, Row, of_urls};
use crate::world::Stop::{Check, Rule};

/// URLs that are refused before any rule is looked at.
const REFUSED: &[Row] = &[
    (
        "user information",
        "https://user:pass@api.example.com/v1/zones/",
        "user information",
    ),
    (
        "the origin as user information",
        "https://api.example.com@evil.example/v1/zones/",
        "user information",
    ),
    (
        "the origin as a user and a port",
        "https://api.example.com:443@evil.example/",
        "user information",
    ),
    (
        "an empty user",
        "https://@api.example.com/v1/zones/",
        "user information",
    ),
    (
        "a user before an address",
        "https://api.example.com@169.254.169.254/",
        "user information",
    ),
    (
        "two at signs",
        "https://a@b@api.example.com/",
        "user information",
    ),
    (
        "a backslash for a slash",
        "https://api.example.com\\@evil.example/",
        "backslash",
    ),
    (
        "backslashes after the scheme",
        "https:\\\\evil.example/",
        "backslash",
    ),
    (
        "a backslash in the path",
        "https://api.example.com/v1/zones/..\\..\\admin",
        "backslash",
    ),
    (
        "a backslash in the query",
        "https://api.example.com/v1/zones/?a\\b",
        "backslash",
    ),
    (
        "a backslash before the host",
        "https:/\\evil.example/",
        "backslash",
    ),
    ("no scheme", "api.example.com/v1/zones/", "not absolute"),
    (
        "a scheme-relative URL",
        "//api.example.com/v1/zones/",
        "not absolute",
    ),
    ("a path alone", "/v1/zones/", "not absolute"),
    ("nothing", "", "not absolute"),
    (
        "one slash after the scheme",
        "https:/api.example.com/v1/zones/",
        "not absolute",
    ),
    (
        "no slash after the scheme",
        "https:api.example.com/v1/zones/",
        "not absolute",
    ),
    (
        "file",
        "file:///var/run/secrets/kubernetes.io/serviceaccount/token",
        "neither http nor https",
    ),
    (
        "file with a host",
        "file://localhost/etc/passwd",
        "neither http nor https",
    ),
    ("ftp", "ftp://api.example.com/", "neither http nor https"),
    (
        "gopher",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "neither http nor https",
    ),
    (
        "dict",
        "dict://127.0.0.1:11211/stats",
        "neither http nor https",
    ),
    ("data", "data:text/html,hello", "not absolute"),
    (
        "a WebSocket",
        "wss://api.example.com/v1/zones/",
        "neither http nor https",
    ),
    (
        "a Unix socket",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
        "neither http nor https",
    ),
    (
        "a scheme with an s too many",
        "httpss://api.example.com/",
        "neither http nor https",
    ),
    (
        "a scheme after another",
        "https:https://api.example.com/",
        "neither http nor https",
    ),
    (
        "a line break before a header",
        "https://api.example.com/v1/zones/ HTTP/1.1\r\nX: y",
        "control",
    ),
    (
        "a line break in the host",
        "https://api.example.com\r\nHost: evil.example/",
        "control",
    ),
    ("a tab in the host", "https://api.exam\tple.com/", "control"),
    (
        "a tab in the scheme",
        "ht\ttps://api.example.com/",
        "control",
    ),
    (
        "a space before the URL",
        " https://api.example.com/v1/zones/",
        "control",
    ),
    (
        "a space after the host",
        "https://api.example.com /v1/zones/",
        "control",
    ),
    (
        "a zero byte in the host",
        "https://api.example.com\0.evil.example/",
        "control",
    ),
    (
        "a zero byte in the path",
        "https://api.example.com/v1/zones/\0",
        "control",
    ),
    (
        "DEL in the path",
        "https://api.example.com/v1/zones/\u{7f}",
        "control",
    ),
    (
        "a wide space in the host",
        "https://api.example.com\u{3000}/",
        "control",
    ),
    (
        "a line separator in the path",
        "https://api.example.com/v1/zones/\u{2028}",
        "control",
    ),
    (
        "a C1 control in the path",
        "https://api.example.com/v1/zones/\u{85}",
        "control",
    ),
];

/// URLs of other origins, in the form in which they would be sent.
const DENIED: &[Row] = &[
    (
        "another origin",
        "https://evil.example/v1/zones/",
        "no rule names",
    ),
    (
        "another port",
        "https://api.example.com:8443/v1/zones/",
        "no rule names",
    ),
    (
        "the API server's port",
        "https://api.example.com:6443/v1/zones/",
        "no rule names",
    ),
    (
        "http for https",
        "http://api.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "http on the port of https",
        "http://api.example.com:443/v1/zones/",
        "no rule names",
    ),
    (
        "https on the port of http",
        "https://api.example.com:80/v1/zones/",
        "no rule names",
    ),
    (
        "a name below the origin",
        "https://x.api.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "a name above the origin",
        "https://example.com/v1/zones/",
        "no rule names",
    ),
    (
        "the origin before another name",
        "https://api.example.com.evil.example/v1/zones/",
        "no rule names",
    ),
    (
        "the origin after another name",
        "https://evilapi.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "the origin in the path",
        "https://evil.example/https://api.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "the origin in the query",
        "https://evil.example/?https://api.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "the origin in the fragment",
        "https://evil.example#@api.example.com/v1/zones/",
        "no rule names",
    ),
    (
        "the origin after a question mark",
        "https://evil.example?@api.example.com/",
        "no rule names",
    ),
    (
        "a Cyrillic letter in the host",
        "https://\u{430}pi.example.com/v1/zones/",
        "no rule names https://xn--",
    ),
    (
        "a Greek letter in the host",
        "https://api.example.c\u{3bf}m/v1/zones/",
        "no rule names",
    ),
    (
        "an invisible joiner in the host",
        "https://api.exam\u{301}ple.com/",
        "no rule names",
    ),
    ("loopback", "http://127.0.0.1/", "no rule names"),
    ("localhost", "http://localhost:8082/", "no rule names"),
    ("IPv6 loopback", "http://[::1]/", "no rule names"),
    (
        "metadata",
        "http://169.254.169.254/latest/meta-data/",
        "no rule names",
    ),
    (
        "metadata by its name",
        "http://metadata.google.internal/",
        "no rule names",
    ),
    (
        "the API server by its name",
        "https://kubernetes.default.svc/api/v1/secrets",
        "no rule names",
    ),
    (
        "the kubelet",
        "https://127.0.0.1:10250/pods",
        "no rule names",
    ),
    (
        "NAT64 of loopback",
        "http://[64:ff9b::7f00:1]/",
        "no rule names",
    ),
    (
        "6to4 of loopback",
        "http://[2002:7f00:1::]/",
        "no rule names",
    ),
    (
        "the address of an origin",
        "https://93.184.216.34/v1/zones/",
        "no rule names",
    ),
];

pub(super) fn attacks() -> Vec<Attack> {
    let refused = of_urls(REFUSED, Check, "invalid");
    refused.chain(of_urls(DENIED, Rule, "denied")).collect()
}
