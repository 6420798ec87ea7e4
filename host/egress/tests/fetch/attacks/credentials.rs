//! Secrets that a guest would send where their owners did not say.

use super::Attack;
use crate::world::Stop::Secret;
use crate::world::get;

/// (name, url, the annotation of the chosen Secret, the reason)
const ROWS: &[(&str, &str, &str, &str)] = &[
    (
        "a Secret without an annotation",
        "https://chosen.example/",
        "",
        "does not name",
    ),
    (
        "a Secret for another origin",
        "https://chosen.example/",
        "https://other.example",
        "does not name",
    ),
    (
        "a Secret for another port",
        "https://chosen.example/",
        "https://chosen.example:8443",
        "does not name",
    ),
    (
        "a Secret for http",
        "https://chosen.example/",
        "http://chosen.example",
        "does not name",
    ),
    (
        "a Secret for a wildcard",
        "https://chosen.example/",
        "https://*.example",
        "does not name",
    ),
    (
        "a Secret for everything",
        "https://chosen.example/",
        "*",
        "does not name",
    ),
    (
        "a Secret for a name without a scheme",
        "https://chosen.example/",
        "chosen.example",
        "does not name",
    ),
    (
        "a Secret for a longer name",
        "https://chosen.example/",
        "https://chosen.example.evil.example",
        "does not name",
    ),
    (
        "a Secret for a name below",
        "https://chosen.example/",
        "https://x.chosen.example",
        "does not name",
    ),
    (
        "a Secret for a URL",
        "https://chosen.example/",
        "https://chosen.example/v1",
        "does not name",
    ),
    (
        "a Secret for a lookalike",
        "https://chosen.example/",
        "https://ch\u{43e}sen.example",
        "does not name",
    ),
    (
        "a Secret where the rule has no credentials",
        "https://named.example/",
        "https://named.example",
        "no credentials",
    ),
    (
        "a Secret in the clear",
        "http://plain.example/",
        "http://plain.example",
        "no credentials",
    ),
];

pub(super) fn attacks() -> Vec<Attack> {
    let attack = |(name, url, origins, reason): &(&'static str, &str, &str, &'static str)| Attack {
        name,
        fetch: get(url).credential(origins),
        addresses: vec!["93.184.216.34"],
        stop: Secret,
        error: "denied",
        reason,
    };
    ROWS.iter().map(attack).collect()
}
