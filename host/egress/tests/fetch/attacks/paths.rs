//! Paths that lead out of the prefix of a rule, for this host or for the server.

use super::{Attack, Row, of_urls};
use crate::world::Stop::{Check, Rule};

/// Paths that a server could decode once more than the host.
const REFUSED: &[Row] = &[
    (
        "a percent sign alone",
        "https://api.example.com/v1/zones/%",
        "two hexadecimal digits",
    ),
    (
        "half an escape",
        "https://api.example.com/v1/zones/%2",
        "two hexadecimal digits",
    ),
    (
        "an escape of IIS",
        "https://api.example.com/v1/zones/%u002e%u002e/",
        "two hexadecimal digits",
    ),
    (
        "an escape in an escape",
        "https://api.example.com/v1/zones/%2%65",
        "two hexadecimal digits",
    ),
    (
        "an escape with a sign",
        "https://api.example.com/v1/zones/%+2",
        "two hexadecimal digits",
    ),
    (
        "a broken escape in the query",
        "https://api.example.com/v1/zones/?%zz",
        "two hexadecimal digits",
    ),
    (
        "escaped slashes with dots",
        "https://api.example.com/v1/zones/..%2f..%2fadmin",
        "hides a dot segment",
    ),
    (
        "escaped slashes and dots",
        "https://api.example.com/v1/zones/%2e%2e%2fadmin",
        "hides a dot segment",
    ),
    (
        "escaped backslashes with dots",
        "https://api.example.com/v1/zones/..%5c..%5cadmin",
        "hides a dot segment",
    ),
    (
        "dots escaped twice",
        "https://api.example.com/v1/zones/%252e%252e/admin",
        "hides a dot segment",
    ),
    (
        "slashes escaped twice",
        "https://api.example.com/v1/zones/..%252fadmin",
        "hides a dot segment",
    ),
    (
        "dots escaped four times",
        "https://api.example.com/v1/zones/%2525252e%2525252e/",
        "hides a dot segment",
    ),
    (
        "dots escaped twelve times",
        "https://api.example.com/v1/zones/%252525252525252525252525/",
        "hides a dot segment",
    ),
    (
        "dots with parameters",
        "https://api.example.com/v1/zones/..;/admin",
        "hides a dot segment",
    ),
    (
        "dots with an escaped parameter",
        "https://api.example.com/v1/zones/..%3b/admin",
        "hides a dot segment",
    ),
    (
        "wide dots",
        "https://api.example.com/v1/zones/\u{ff0e}\u{ff0e}/admin",
        "hides a dot segment",
    ),
    (
        "a two dot leader",
        "https://api.example.com/v1/zones/\u{2025}/admin",
        "hides a dot segment",
    ),
    (
        "wide slashes",
        "https://api.example.com/v1/zones/..\u{ff0f}admin",
        "hides a dot segment",
    ),
    (
        "an escaped zero byte",
        "https://api.example.com/v1/zones/%00",
        "hides a dot segment",
    ),
    (
        "an escaped line break",
        "https://api.example.com/v1/zones/%0d%0aX:%20y",
        "hides a dot segment",
    ),
    (
        "a line break escaped twice",
        "https://api.example.com/v1/zones/%250a",
        "hides a dot segment",
    ),
    (
        "an overlong dot",
        "https://api.example.com/v1/zones/%c0%ae%c0%ae/admin",
        "not UTF-8",
    ),
    (
        "an overlong slash",
        "https://api.example.com/v1/zones/..%c0%afadmin",
        "not UTF-8",
    ),
    (
        "an overlong dot in three bytes",
        "https://api.example.com/v1/zones/%e0%80%ae/",
        "not UTF-8",
    ),
    (
        "half a surrogate",
        "https://api.example.com/v1/zones/%ed%a0%80",
        "not UTF-8",
    ),
];

/// Paths outside the rule, once they are in their normal form.
const DENIED: &[Row] = &[
    (
        "a path outside the rule",
        "https://api.example.com/admin",
        "no path of",
    ),
    (
        "a path above the rule",
        "https://api.example.com/v1/",
        "no path of",
    ),
    (
        "the path of the rule without its slash",
        "https://api.example.com/v1/zones",
        "no path of",
    ),
    (
        "half a segment",
        "https://api.example.com/v1/zonesadmin",
        "no path of",
    ),
    (
        "the path in capitals",
        "https://api.example.com/V1/ZONES/",
        "no path of",
    ),
    (
        "a slash too many",
        "https://api.example.com//v1/zones/",
        "no path of",
    ),
    (
        "a slash too many inside",
        "https://api.example.com/v1//zones/",
        "no path of",
    ),
    (
        "dot segments",
        "https://api.example.com/v1/zones/../../admin",
        "no path of",
    ),
    (
        "escaped dot segments",
        "https://api.example.com/v1/zones/%2e%2e/%2E%2e/admin",
        "no path of",
    ),
    (
        "half-escaped dot segments",
        "https://api.example.com/v1/zones/.%2e/admin",
        "no path of",
    ),
    (
        "dot segments at the end",
        "https://api.example.com/v1/zones/..",
        "no path of",
    ),
    (
        "more dot segments than segments",
        "https://api.example.com/../../../v1/zones/../x",
        "no path of",
    ),
    (
        "an escaped slash in the prefix",
        "https://api.example.com/v1%2Fzones/",
        "no path of",
    ),
    (
        "parameters in the prefix",
        "https://api.example.com/v1;x/zones/",
        "no path of",
    ),
    (
        "the path in the query",
        "https://api.example.com/?/v1/zones/",
        "no path of",
    ),
    (
        "the path in the fragment",
        "https://api.example.com/#/v1/zones/",
        "no path of",
    ),
    (
        "an absolute URL for a path",
        "https://api.example.com/http://evil.example/v1/zones/",
        "no path of",
    ),
];

pub(super) fn attacks() -> Vec<Attack> {
    let refused = of_urls(REFUSED, Check, "invalid");
    refused.chain(of_urls(DENIED, Rule, "denied")).collect()
}
