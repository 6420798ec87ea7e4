//! Ways out of fetch, by name. Each names what stops it, and none reaches a server.
//!
//! The table is tested too: with one defence taken away, it reports attacks that get through.

mod addresses;
mod answers;
mod credentials;
mod hosts;
mod messages;
mod paths;
mod sequences;
mod urls;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use windlass_egress::{ApiServerAddresses, Origin, Resolve, Resolving};

use super::world::{Fetch, Names, Setup, Stop, get};

/// One way out.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) fetch: Fetch,
    /// What `plain.example` and `private.example` resolve to.
    pub(crate) addresses: Vec<&'static str>,
    /// Where it is stopped.
    pub(crate) stop: Stop,
    /// The error of the guest.
    pub(crate) error: &'static str,
    /// A part of the operator's reason.
    pub(crate) reason: &'static str,
}

/// A URL as an attack: its name, the URL, and the reason.
pub(crate) type Row = (&'static str, &'static str, &'static str);

/// Attacks that are all in the URL.
pub(crate) fn of_urls(
    rows: &[Row],
    stop: Stop,
    error: &'static str,
) -> impl Iterator<Item = Attack> {
    rows.iter().map(move |(name, url, reason)| Attack {
        name,
        fetch: get(url),
        addresses: vec!["93.184.216.34"],
        stop,
        error,
        reason,
    })
}

/// A defence that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Nothing,
    /// Only the first address of a name is checked.
    AllAddresses,
    /// Only the last one is.
    FirstAddress,
    /// Private addresses are not told from public ones.
    Private,
    /// The list of the API server's addresses is empty.
    ApiServer,
    /// Rules have no paths.
    Paths,
    /// Rules have all methods.
    Methods,
    /// All secrets consent.
    Consent,
}

/// Names whose addresses are shown in part.
struct Partial(Arc<Names>, Missing);

impl Resolve for Partial {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let all = self.0.resolve(name).await?;
            Ok(match self.1 {
                Missing::AllAddresses => all.into_iter().take(1).collect(),
                Missing::FirstAddress => all.into_iter().next_back().into_iter().collect(),
                _ => all,
            })
        })
    }
}

fn rules(missing: Missing) -> Value {
    let is_private = missing == Missing::Private;
    let methods = match missing {
        Missing::Methods => json!([
            "GET", "PUT", "HEAD", "POST", "DELETE", "PATCH", "OPTIONS", "PROPFIND"
        ]),
        _ => json!(["GET", "PUT"]),
    };
    let mut zones = json!({"origin": "https://api.example.com", "methods": methods});
    if missing != Missing::Paths {
        zones["paths"] = json!(["/v1/zones/"]);
    }
    json!({"allow": [
        zones,
        {"origin": "http://plain.example", "allowPrivate": is_private},
        {"origin": "http://private.example", "allowPrivate": true},
        {"origin": "http://private.example:6443", "allowPrivate": true},
        {
            "origin": "https://chosen.example",
            "credentials": "same-namespace",
            "inject": [{"header": "Authorization", "value": "Bearer {token}"}],
        },
        {
            "origin": "https://named.example",
            "inject": [{"header": "Authorization", "value": "Bearer {token}", "secret": {"name": "api"}}],
        },
    ]})
}

/// What becomes of an attack: nothing if it is stopped as it says.
async fn outcome(attack: &Attack, missing: Missing) -> Result<(), String> {
    let mut setup = Setup::new(rules(missing));
    let names = setup.names();
    setup.settings.resolver = Arc::new(Partial(Arc::clone(&names), missing));
    if missing != Missing::ApiServer {
        let sockets = [
            "10.96.0.1:443",
            "10.96.0.1:80",
            "[fd00:96::1]:443",
            "[fd00:96::1]:80",
            "10.1.1.1:6443",
        ];
        setup.settings.servers = Arc::new(ApiServerAddresses {
            sockets: sockets.map(|socket| socket.parse().unwrap()).into(),
            problem: None,
        });
    }
    let mut world = setup.build();
    world.secrets.insert("token".to_owned(), b"s3cret".to_vec());
    world.dialer.is_off.store(true, Ordering::Relaxed);
    for name in ["api.example.com", "chosen.example", "named.example"] {
        world.names.set(name, &[&["93.184.216.34"]]);
    }
    for name in ["plain.example", "private.example"] {
        world.names.set(name, &[&attack.addresses]);
    }
    let mut fetch = attack.fetch.clone();
    if missing == Missing::Consent && fetch.credential.is_some() {
        // The annotation of the Secret says what the request needs.
        let url = fetch.url.split('/').take(3).collect::<Vec<_>>().join("/");
        fetch.credential = Origin::parse(&url).ok().map(|origin| origin.to_string());
    }
    let answer = world.fetch(fetch).await;
    let dialled = world.dialer.dialled.lock().clone();
    if !dialled.is_empty() {
        return Err(format!("{} got out: {dialled:?}", attack.name));
    }
    match answer {
        Ok(answer) => Err(format!("{} has an answer: {answer:?}", attack.name)),
        Err((stop, failure)) => {
            let got = (stop, failure.error.label(), failure.reason.as_str());
            let is_as_named = got.0 == attack.stop
                && got.1 == attack.error
                && got.2.contains(attack.reason)
                && failure.sent == windlass_egress::Sent::No
                && !format!("{failure:?}").contains("s3cret");
            is_as_named
                .then_some(())
                .ok_or_else(|| format!("{} is stopped by {got:?}", attack.name))
        }
    }
}

fn all() -> Vec<Attack> {
    [
        urls::attacks(),
        hosts::attacks(),
        paths::attacks(),
        messages::attacks(),
        addresses::attacks(),
        credentials::attacks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

async fn escaped(missing: Missing) -> Vec<String> {
    let mut escaped = Vec::new();
    for attack in all() {
        escaped.extend(outcome(&attack, missing).await.err());
    }
    escaped
}

#[tokio::test]
async fn no_way_leads_out() {
    let attacks = all();
    let names: BTreeSet<&str> = attacks.iter().map(|attack| attack.name).collect();
    assert_eq!(
        names.len(),
        attacks.len(),
        "each attack has a name of its own"
    );
    assert!(attacks.len() >= 200, "{} attacks", attacks.len());
    let escaped = escaped(Missing::Nothing).await;
    assert!(escaped.is_empty(), "{escaped:#?}");
}

#[tokio::test]
async fn the_table_finds_each_defence_that_is_missing() {
    for (missing, attack) in [
        (Missing::AllAddresses, "a public address before loopback"),
        (Missing::FirstAddress, "loopback before a public address"),
        (Missing::Private, "10/8 got out"),
        (Missing::ApiServer, "the API server by its address got out"),
        (Missing::Paths, "a path outside the rule got out"),
        (
            Missing::Methods,
            "a method that the rule does not name got out",
        ),
        (Missing::Consent, "a Secret without an annotation got out"),
    ] {
        let escaped = escaped(missing).await;
        let is_found = escaped.iter().any(|text| text.starts_with(attack));
        assert!(is_found, "{missing:?}: {escaped:#?}");
    }
}
