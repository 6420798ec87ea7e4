//! Methods, headers and sizes that would make one message into two, or say what only the host says.

use super::Attack;
use crate::world::Fetch;
use crate::world::Stop::{self, Check, Rule};
use crate::world::get;

const URL: &str = "https://api.example.com/v1/zones/a";

/// Headers that a guest may not set.
const HEADERS: &[(&str, &str, &str)] = &[
    ("Host", "Host", "evil.example"),
    ("Host in lower case", "host", "evil.example"),
    ("Host with a space after it", "Host ", "evil.example"),
    ("Host with a space before it", " Host", "evil.example"),
    ("Host with a colon", "Host:", "evil.example"),
    ("Host after a line break", "X\r\nHost", "evil.example"),
    ("Content-Length", "Content-Length", "0"),
    ("Content-Length with an underscore", "Content_Length", "0"),
    ("Transfer-Encoding", "Transfer-Encoding", "chunked"),
    (
        "Transfer-Encoding in mixed case",
        "tRANSFER-eNCODING",
        "chunked",
    ),
    (
        "Transfer-Encoding with an underscore",
        "transfer_encoding",
        "chunked",
    ),
    (
        "Transfer-Encoding with a tab",
        "Transfer-Encoding\t",
        "chunked",
    ),
    (
        "Transfer-Encoding with a control character",
        "Transfer-Encoding\u{b}",
        "chunked",
    ),
    ("Connection", "Connection", "close"),
    (
        "Connection that drops a header",
        "Connection",
        "Authorization",
    ),
    ("Upgrade", "Upgrade", "h2c"),
    ("HTTP2-Settings", "HTTP2-Settings", "AAMAAABkAAQAAP__"),
    ("TE", "TE", "trailers"),
    ("Trailer", "Trailer", "Host"),
    ("Keep-Alive", "Keep-Alive", "timeout=9999"),
    ("Expect", "Expect", "100-continue"),
    ("Proxy-Authorization", "Proxy-Authorization", "Basic x"),
    ("Proxy-Connection", "Proxy-Connection", "keep-alive"),
    ("a pseudo header", ":authority", "evil.example"),
    ("a header without a name", "", "x"),
    ("a name with a space", "X Y", "x"),
    ("a name with a zero byte", "X\0Y", "x"),
    ("a name with an umlaut", "\u{dc}ber", "x"),
    ("a name with brackets", "X(Y)", "x"),
    ("a value with a line break", "X", "a\r\nHost: evil.example"),
    ("a value with a line feed", "X", "a\nHost: evil.example"),
    (
        "a value with a carriage return",
        "X",
        "a\rHost: evil.example",
    ),
    (
        "a value with a second message",
        "X",
        "a\r\n\r\nGET /admin HTTP/1.1\r\nHost: evil.example",
    ),
    ("a value with a zero byte", "X", "a\0b"),
    ("a value with DEL", "X", "a\u{7f}"),
    ("a folded value", "X", "a\r\n b"),
];

/// Methods, and what stops them.
const METHODS: &[(&str, &str, Stop, &str)] = &[
    ("CONNECT", "CONNECT", Check, "never sent"),
    ("TRACE", "TRACE", Check, "never sent"),
    ("a method in lower case", "get", Check, "in capitals"),
    ("CONNECT in lower case", "connect", Check, "in capitals"),
    ("no method", "", Check, "in capitals"),
    ("a method with a space", "GET ", Check, "in capitals"),
    (
        "a request line for a method",
        "GET /admin HTTP/1.1\r\nX: y\r\n\r\nGET",
        Check,
        "in capitals",
    ),
    (
        "a method with a line break",
        "GET\r\n",
        Check,
        "in capitals",
    ),
    ("a method with a zero byte", "GET\0", Check, "in capitals"),
    (
        "a method in wide letters",
        "\u{ff27}\u{ff25}\u{ff34}",
        Check,
        "in capitals",
    ),
    (
        "a method of 33 letters",
        "GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGG",
        Check,
        "in capitals",
    ),
    (
        "a method that the rule does not name",
        "DELETE",
        Rule,
        "does not allow method DELETE",
    ),
    ("POST", "POST", Rule, "does not allow method POST"),
    (
        "HEAD where only GET and PUT are allowed",
        "HEAD",
        Rule,
        "does not allow method HEAD",
    ),
    (
        "a method of WebDAV",
        "PROPFIND",
        Rule,
        "does not allow method PROPFIND",
    ),
    (
        "the preface of HTTP/2",
        "PRI",
        Rule,
        "does not allow method PRI",
    ),
];

fn attack(
    name: &'static str,
    fetch: Fetch,
    stop: Stop,
    error: &'static str,
    reason: &'static str,
) -> Attack {
    Attack {
        name,
        fetch,
        addresses: vec!["93.184.216.34"],
        stop,
        error,
        reason,
    }
}

pub(super) fn attacks() -> Vec<Attack> {
    let headers = HEADERS.iter();
    let headers = headers.map(|(name, header, value)| {
        attack(
            name,
            get(URL).header(header, value),
            Check,
            "invalid",
            "header",
        )
    });
    let methods = METHODS.iter().map(|(name, method, stop, reason)| {
        let error = if *stop == Check { "invalid" } else { "denied" };
        attack(name, get(URL).method(method), *stop, error, reason)
    });
    let many = (0..101).fold(get(URL), |fetch, _| fetch.header("X", "y"));
    let sizes = [
        attack("101 headers", many, Check, "too_large", "100 are the most"),
        attack(
            "40 KB of headers",
            get(URL).header("X", &"y".repeat(40_000)),
            Check,
            "too_large",
            "32 KiB",
        ),
        attack(
            "a name of 40 KB",
            get(URL).header(&"x".repeat(40_000), "y"),
            Check,
            "too_large",
            "32 KiB",
        ),
        attack(
            "a body of more than 1 MiB",
            get(URL).method("PUT").body(vec![0; (1 << 20) + 1]),
            Check,
            "too_large",
            "1 MiB",
        ),
        attack(
            "a URL of 9 KB",
            get(&format!("{URL}{}", "a".repeat(9000))),
            Check,
            "invalid",
            "8 KiB",
        ),
    ];
    headers.chain(methods).chain(sizes).collect()
}
