//! Who learns credentials and tokens, and pushes.

use std::sync::Arc;

use windlass_controlplane::lying::{Reply, Seen};
use windlass_registry::*;

use super::fake::*;
use super::world::{artifact, kind};

fn challenge(text: &str) -> Reply {
    Reply::status("401 Unauthorized", &format!("WWW-Authenticate: {text}\r\n"))
}

fn basic() -> String {
    "Basic YWRhOnMzY3JldA==".to_owned()
}

/// Pulls with credentials for the registry.
async fn pull_as_ada(server: &Server, named: &[&Server]) -> Result<Pulled, Error> {
    let network = Network::new(&[]);
    let mut settings = watched(&[&[server], named].concat(), &network);
    settings
        .credentials
        .insert(&server.host, Credentials::new("ada", "s3cret"));
    let pulled = Client::new(settings).pull(&greeter(server)).await;
    let hosts = [&[server], named].concat();
    assert!(
        network
            .hosts()
            .iter()
            .all(|dialled| hosts.iter().any(|server| server.host == *dialled))
    );
    pulled
}

/// A registry that wants a token of `realm`: "REALM" is its own host.
async fn wants_token(realm: String, accepts: &'static str) -> Server {
    let own = Arc::new(parking_lot::Mutex::new(String::new()));
    let host = Arc::clone(&own);
    let server = lying(move |seen: &Seen| {
        if seen.target.starts_with("/token?") {
            return Some(Reply::ok("", br#"{"token": "t0ken"}"#));
        }
        let is_known = seen.header("authorization") == Some(accepts);
        let realm = realm.replace("OWN", &host.lock());
        (!is_known).then(|| {
            challenge(&format!(
                "Bearer realm=\"{realm}\",service=\"the registry\",scope=\"repository:other:*\""
            ))
        })
    })
    .await;
    server.host.clone_into(&mut own.lock());
    server
}

#[tokio::test]
async fn a_token_is_asked_for_what_is_pulled() {
    let server = wants_token("http://OWN/token".to_owned(), "Bearer t0ken").await;
    for is_ada in [true, false] {
        let pulled = match is_ada {
            true => pull_as_ada(&server, &[]).await,
            false => pull(&server).await,
        };
        assert_eq!(pulled.unwrap().component, LAYER);
    }
    let seen = server.seen();
    let tokens: Vec<&Seen> = seen
        .iter()
        .filter(|seen| seen.target.starts_with("/token"))
        .collect();
    assert_eq!(tokens.len(), 2, "one for each pull");
    let want = "/token?service=the+registry&scope=repository%3Aada%2Fgreeter%3Apull";
    assert!(tokens.iter().all(|seen| seen.target == want));
    assert_eq!(tokens[0].header("authorization"), Some(&*basic()));
    assert_eq!(tokens[1].header("authorization"), None);
    // The password is shown for the token alone.
    let with_password = seen
        .iter()
        .filter(|seen| seen.header("authorization") == Some(&*basic()));
    assert_eq!(with_password.count(), 1);
}

#[tokio::test]
async fn a_token_server_of_another_kind_gets_no_credential() {
    let victim = serving(|_| Reply::ok("", br#"{"token": "t0ken"}"#)).await;
    let plain = format!("http://{}/token", victim.host);
    // (realm, variant, what the error says)
    for (realm, variant, want) in [
        (&*plain, "Refused", "without https"),
        ("http://auth.example/token", "Refused", "without https"),
        ("file:///etc/passwd", "Refused", "neither https nor http"),
        ("https://10.0.0.1/token", "Unreachable", "a private address"),
        (
            "https://127.0.0.1:1/token",
            "Unreachable",
            "a loopback address",
        ),
        (
            "https://169.254.169.254/token",
            "Unreachable",
            "a metadata server",
        ),
        ("https://ada:x@127.0.0.1/token", "Refused", "a user"),
        ("token", "Refused", "not a URL"),
    ] {
        let server = wants_token(realm.to_owned(), "Bearer t0ken").await;
        let error = pull_as_ada(&server, &[]).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{realm}: {error}");
        assert!(error.to_string().contains(want), "{realm}: {error}");
        assert_eq!(server.seen().len(), 1);
    }
    assert!(victim.seen().is_empty());
    // A host that is named for it is asked.
    let server = wants_token(plain, "Bearer t0ken").await;
    assert!(pull_as_ada(&server, &[&victim]).await.is_ok());
    assert_eq!(victim.seen().len(), 1);
}

#[tokio::test]
async fn each_wrong_answer_of_a_token_server_is_an_error() {
    let large = format!("{{\"token\": \"{}\"}}", "t".repeat(65 << 10));
    // (answer, variant)
    for (reply, variant) in [
        (Reply::ok("", b"{}"), "Refused"),
        (Reply::ok("", b"{\"token\": \"\"}"), "Refused"),
        (Reply::ok("", b"{\"token\": \"a\\r\\nb\"}"), "Refused"),
        (Reply::ok("", b"[]"), "Refused"),
        (Reply::ok("", large.as_bytes()), "TooLarge"),
        (
            Reply::status(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"r\"\r\n",
            ),
            "Unauthorized",
        ),
        (Reply::status("403 Forbidden", ""), "Unauthorized"),
        (Reply::status("429 Busy", ""), "Unavailable"),
        (
            Reply::status("302 Found", "Location: https://example.com/\r\n"),
            "Refused",
        ),
        // Another token than the registry accepts.
        (
            Reply::ok("", b"{\"access_token\": \"other\"}"),
            "Unauthorized",
        ),
    ] {
        let answer = reply.clone();
        let tokens = serving(move |_| answer.clone()).await;
        let server = wants_token(format!("http://{}/", tokens.host), "Bearer t0ken").await;
        let error = pull_as_ada(&server, &[&tokens]).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{reply:?}: {error}");
        assert_eq!(tokens.seen().len(), 1, "{reply:?}");
    }
}

#[tokio::test]
async fn a_registry_that_always_asks_is_asked_twice() {
    for text in [
        "Basic realm=\"r\"",
        "bAsIc realm=\"r\", Digest realm=\"r\", nonce=\"n\"",
    ] {
        let server = lying(move |_| Some(challenge(text))).await;
        let error = pull_as_ada(&server, &[]).await.unwrap_err();
        assert_eq!(kind(&error), "Unauthorized", "{error}");
        assert_eq!(server.seen().len(), 2);
        let error = pull(&server).await.unwrap_err();
        assert_eq!(kind(&error), "Unauthorized", "{error}");
        assert!(error.to_string().contains("config.json"), "{error}");
        assert_eq!(server.seen().len(), 3);
    }
    let server = lying(|_| Some(Reply::status("401 Unauthorized", ""))).await;
    let error = pull_as_ada(&server, &[]).await.unwrap_err();
    assert_eq!((kind(&error), server.seen().len()), ("Unauthorized", 1));
}

/// Pushes to a registry that is named in the settings.
async fn push(server: &Server, named: &[&Server]) -> Result<Digest, Error> {
    let settings = watched(&[&[server], named].concat(), &Network::new(&[]));
    Client::new(settings)
        .push(&greeter(server), &artifact("one"))
        .await
}

/// A registry that takes all uploads at `to`.
async fn taking(to: String, kept_as: Option<Digest>) -> Server {
    serving(move |seen| match &*seen.method {
        "HEAD" => Reply::status("404 Not Found", ""),
        "POST" => Reply::status("202 Accepted", &format!("Location: {to}\r\n")),
        _ => {
            let kept = kept_as.map(|digest| format!("Docker-Content-Digest: {digest}\r\n"));
            Reply::status("201 Created", &kept.unwrap_or_default())
        }
    })
    .await
}

#[tokio::test]
async fn parts_are_uploaded_before_what_names_them() {
    let server = taking("/upload?state=a%20b".to_owned(), None).await;
    let digest = push(&server, &[]).await.unwrap();
    let lines = server.lines();
    let steps: Vec<&str> = lines
        .iter()
        .map(|line| line.split(['?', ':']).next().unwrap())
        .collect();
    let blob = [
        "HEAD /v2/ada/greeter/blobs/sha256",
        "POST /v2/ada/greeter/blobs/uploads/",
        "PUT /upload",
    ];
    let manifest = ["PUT /v2/ada/greeter/manifests/1"];
    assert_eq!(steps, [&blob[..], &blob, &manifest].concat());
    let layer = Digest::of(&artifact("one").component).hex();
    assert_eq!(
        lines[5],
        format!("PUT /upload?state=a%20b&digest=sha256%3A{layer}")
    );
    // Elsewhere, and again: the same digest.
    let other = taking("/".to_owned(), None).await;
    assert_eq!(push(&other, &[]).await.unwrap(), digest);
}

#[tokio::test]
async fn a_push_goes_nowhere_else() {
    let victim = taking("/".to_owned(), None).await;
    let plain = format!("http://{}/", victim.host);
    for to in [
        &*plain,
        "https://169.254.169.254/",
        "//10.0.0.1/",
        "file:///tmp/x",
        "http://",
    ] {
        let server = taking(to.to_owned(), None).await;
        let error = push(&server, &[&victim]).await.unwrap_err();
        assert_eq!(kind(&error), "Refused", "{to}: {error}");
        assert_eq!(server.lines().len(), 2, "{to}");
    }
    assert!(victim.seen().is_empty());
    let server = taking("/".to_owned(), Some(Digest::of(b"other"))).await;
    let error = push(&server, &[]).await.unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
    assert!(
        error.to_string().contains("keeps the manifest as"),
        "{error}"
    );
}

#[tokio::test]
async fn a_push_that_fails_says_why() {
    // (method, answer, variant)
    for (method, status, variant) in [
        ("HEAD", "500 Broken", "Unavailable"),
        ("HEAD", "403 Forbidden", "Denied"),
        ("POST", "403 Forbidden", "Denied"),
        ("POST", "307 Elsewhere", "Refused"),
        ("PUT", "413 Too Large", "TooLarge"),
        ("PUT", "429 Busy", "Unavailable"),
        ("PUT", "200 OK", "Refused"),
    ] {
        let server = serving(move |seen| match &*seen.method {
            other if other == method => Reply::status(status, ""),
            "HEAD" => Reply::status("404 Not Found", ""),
            _ => Reply::status("202 Accepted", "Location: /upload\r\n"),
        })
        .await;
        let error = push(&server, &[]).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{method} {status}: {error}");
    }
}
