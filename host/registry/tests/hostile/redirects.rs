//! Redirects of blobs: where they may lead, and what goes along.

use std::sync::Arc;

use windlass_controlplane::lying::{Reply, Seen};
use windlass_registry::*;

use super::fake::*;
use super::world::{kind, local};

fn redirect(to: &str) -> Reply {
    Reply::status("307 Temporary Redirect", &format!("Location: {to}\r\n"))
}

/// A registry whose layer is elsewhere.
async fn redirecting(to: String) -> Server {
    lying(move |seen| (seen.target == blob_path(LAYER)).then(|| redirect(&to))).await
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_is_not_named() {
    let network = Network::new(&[
        ("inner.example", &["10.0.0.1"]),
        ("mixed.example", &["1.1.1.1", "127.0.0.1"]),
        ("meta.example", &["169.254.169.254"]),
        ("mapped.example", &["::ffff:127.0.0.1"]),
    ]);
    let victim = serving(|_| Reply::ok("", LAYER)).await;
    let plain = format!("http://{}/", victim.host);
    // (where to, variant, what the error says)
    for (to, variant, want) in [
        ("https://10.0.0.1/", "Unreachable", "a private address"),
        (
            "https://192.168.1.1:8443/x",
            "Unreachable",
            "a private address",
        ),
        ("https://[fd00::1]/", "Unreachable", "a private address"),
        ("https://127.0.0.1:1/", "Unreachable", "a loopback address"),
        ("https://2130706433/", "Unreachable", "a loopback address"),
        ("https://0x7f.1/", "Unreachable", "a loopback address"),
        ("https://[::1]/", "Unreachable", "a loopback address"),
        (
            "https://[::ffff:127.0.0.1]/",
            "Unreachable",
            "a loopback address",
        ),
        (
            "https://169.254.169.254/latest/",
            "Unreachable",
            "a metadata server",
        ),
        (
            "https://[fd00:ec2::254]/",
            "Unreachable",
            "a metadata server",
        ),
        (
            "https://169.254.1.1/",
            "Unreachable",
            "a link-local address",
        ),
        ("https://0.0.0.0/", "Unreachable", "an unspecified address"),
        ("https://inner.example/", "Unreachable", "a private address"),
        (
            "https://mixed.example/",
            "Unreachable",
            "a loopback address",
        ),
        ("https://meta.example/", "Unreachable", "a metadata server"),
        (
            "https://mapped.example/",
            "Unreachable",
            "a loopback address",
        ),
        ("//10.0.0.1/", "Refused", "to plain HTTP"),
        (&plain, "Refused", "to plain HTTP"),
        ("http://169.254.169.254/", "Refused", "to plain HTTP"),
        ("file:///etc/passwd", "Refused", "the scheme `file`"),
        ("ftp://example.com/", "Refused", "the scheme `ftp`"),
        ("javascript:0", "Refused", "the scheme `javascript`"),
        ("https://u:p@example.com/", "Refused", "a user"),
        ("https://", "Refused", "not a URL"),
    ] {
        let server = redirecting(to.to_owned()).await;
        network.dialled.lock().clear();
        let client = Client::new(watched(&[&server], &network));
        let error = client.pull(&greeter(&server)).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{to}: {error}");
        assert!(error.to_string().contains(want), "{to}: {error}");
        assert_eq!(network.hosts(), [&*server.host], "{to}");
    }
    assert!(victim.seen().is_empty());
}

#[tokio::test]
async fn a_named_host_still_has_no_metadata() {
    let network = Network::new(&[("store.example", &["169.254.169.254"])]);
    let server = redirecting("https://store.example/".to_owned()).await;
    let client = Client::new(local(watched(&[&server], &network), "store.example"));
    let error = client.pull(&greeter(&server)).await.unwrap_err();
    assert_eq!(kind(&error), "Unreachable", "{error}");
    assert!(
        error.to_string().contains("no setting allows it"),
        "{error}"
    );
}

#[tokio::test]
async fn three_redirects_are_followed_and_no_more() {
    for (hops, is_followed) in [(0, true), (1, true), (3, true), (4, false)] {
        let server = lying(move |seen| {
            let path = blob_path(LAYER);
            let (target, at) = seen
                .target
                .split_once("?at=")
                .unwrap_or((&seen.target, "0"));
            let at: usize = at.parse().unwrap();
            match target == path {
                true if at < hops => Some(redirect(&format!("{path}?at={}", at + 1))),
                true => Some(Reply::ok("", LAYER)),
                false => None,
            }
        })
        .await;
        match pull(&server).await {
            Ok(pulled) => assert!(is_followed && pulled.component == LAYER),
            Err(error) => {
                assert!(!is_followed && kind(&error) == "Refused", "{error}");
                assert!(error.to_string().contains("more than 3 times"), "{error}");
            }
        }
    }
    let server = redirecting(blob_path(LAYER)).await;
    assert_eq!(kind(&pull(&server).await.unwrap_err()), "Refused");
    assert_eq!(server.seen().len(), 3 + 4);
}

#[tokio::test]
async fn only_blobs_are_redirected() {
    for (method, path) in [("HEAD", TAG_PATH.to_owned()), ("GET", manifest_path())] {
        let server = lying(move |seen| {
            (seen.method == method && seen.target == path).then(|| redirect("/"))
        })
        .await;
        let error = pull(&server).await.unwrap_err();
        assert_eq!(kind(&error), "Refused", "{error}");
        assert!(
            error.to_string().contains("only followed for blobs"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_credential_goes_along() {
    let store = serving(|_| Reply::ok("", LAYER)).await;
    let to = format!("http://{}/layer?signature=secret", store.host);
    let server = lying(move |seen| match seen.header("authorization") {
        None => Some(Reply::status(
            "401 Unauthorized",
            "WWW-Authenticate: Basic realm=\"r\"\r\n",
        )),
        Some(_) => (seen.target == blob_path(LAYER)).then(|| redirect(&to)),
    })
    .await;
    let network = Network::new(&[]);
    let mut settings = watched(&[&server, &store], &network);
    settings
        .credentials
        .insert(&server.host, Credentials::new("ada", "s3cret"));
    settings
        .credentials
        .insert(&store.host, Credentials::new("ada", "other"));
    let pulled = Client::new(settings).pull(&greeter(&server)).await.unwrap();
    assert_eq!(pulled.component, LAYER);
    let seen = store.seen();
    assert_eq!(seen.len(), 1);
    for name in ["authorization", "cookie", "referer"] {
        assert_eq!(seen[0].header(name), None);
    }
}

#[tokio::test]
async fn a_store_that_asks_for_credentials_gets_none() {
    for (status, variant) in [
        ("401 Unauthorized", "Unavailable"),
        ("403 Forbidden", "Unavailable"),
        ("404 Not Found", "Unavailable"),
        ("503 Busy", "Unavailable"),
        ("400 Bad", "Refused"),
    ] {
        let challenge = "WWW-Authenticate: Basic realm=\"r\"\r\n";
        let store = serving(move |_| Reply::status(status, challenge)).await;
        let server = redirecting(format!("http://{}/?signature=secret", store.host)).await;
        let mut settings = watched(&[&server, &store], &Network::new(&[]));
        settings
            .credentials
            .insert(&store.host, Credentials::new("ada", "s3cret"));
        let error = Client::new(settings)
            .pull(&greeter(&server))
            .await
            .unwrap_err();
        assert_eq!(kind(&error), variant, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(store.seen().len(), 1);
        assert_eq!(store.seen()[0].header("authorization"), None);
    }
}

#[tokio::test]
async fn who_was_elsewhere_does_not_come_back_with_credentials() {
    // registry -> store -> registry: the last request has no credential.
    let last = "/v2/private/secret";
    let server = Arc::new(parking_lot::Mutex::new(String::new()));
    let back = Arc::clone(&server);
    let store = serving(move |_| redirect(&format!("http://{}{last}", back.lock()))).await;
    let to = format!("http://{}/", store.host);
    let registry = lying(move |seen| {
        if seen.target == last {
            return Some(Reply::ok("", LAYER));
        }
        match seen.header("authorization") {
            None => Some(Reply::status(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"r\"\r\n",
            )),
            Some(_) => (seen.target == blob_path(LAYER)).then(|| redirect(&to)),
        }
    })
    .await;
    registry.host.clone_into(&mut server.lock());
    let mut settings = watched(&[&registry, &store], &Network::new(&[]));
    settings
        .credentials
        .insert(&registry.host, Credentials::new("ada", "s3cret"));
    Client::new(settings)
        .pull(&greeter(&registry))
        .await
        .unwrap();
    let seen = registry.seen();
    let seen = seen.iter().find(|seen| seen.target == last).unwrap();
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn https_stays_https() {
    let store = serving(|_| Reply::ok("", LAYER)).await;
    let to = format!("http://{}/", store.host);
    let manifest = manifest().to_string().into_bytes();
    let handler = move |seen: &Seen| match seen.target == blob_path(LAYER) {
        true => redirect(&to),
        false => honest(&manifest, seen),
    };
    let server = Server::secure(handler).await.unwrap();
    let mut settings = watched(&[&store], &Network::new(&[]));
    let host = HostSettings {
        allow_local: true,
        ca: server.ca.clone().map(String::into_bytes),
        ..HostSettings::default()
    };
    settings.hosts.insert(server.host.clone(), host);
    let error = Client::new(settings)
        .pull(&greeter(&server))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
    assert!(error.to_string().contains("to plain HTTP"), "{error}");
    assert_eq!((server.seen().len(), store.seen().len()), (4, 0));
}
