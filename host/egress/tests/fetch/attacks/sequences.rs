//! Ways out that take more than one request.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use windlass_egress::{ApiServerAddresses, ApiServers, Error, Known, PER_CALL, Scheme, Sent};

use crate::server::{Reply, Server};
use crate::world::{Setup, Stop, World, get};

const URL: &str = "http://plain.example/";

async fn world() -> (Server, World) {
    let server = Server::start(|_| Reply::ok("body")).await;
    let world = Setup::new(json!({"allow": [{"origin": "http://plain.example"}]})).build();
    *world.dialer.server.lock() = Some(server.address);
    (server, world)
}

#[tokio::test]
async fn a_name_that_changes_its_address_between_requests_is_checked_each_time() {
    let (server, world) = world().await;
    world.names.set(
        "plain.example",
        &[&["1.1.1.1"], &["127.0.0.1"], &["1.1.1.1", "10.0.0.1"]],
    );
    assert_eq!(
        world.answer(get(URL)).await.address.to_string(),
        "1.1.1.1:80"
    );
    for _ in 0..2 {
        let failure = world.failure(get(URL)).await;
        assert_eq!((failure.error, failure.sent), (Error::Denied, Sent::No));
    }
    assert_eq!(
        server.seen().len(),
        1,
        "not even the open connection is used"
    );
}

#[tokio::test]
async fn a_name_that_changes_its_address_within_a_request_is_looked_up_once() {
    let (_server, world) = world().await;
    world
        .names
        .set("plain.example", &[&["1.1.1.1"], &["169.254.169.254"]]);
    world.answer(get(URL)).await;
    let dialled = world.dialer.dialled.lock().clone();
    assert_eq!(
        dialled,
        ["1.1.1.1:80".parse().unwrap()],
        "the checked address is the dialled one"
    );
}

/// The addresses of API servers that come and go.
#[derive(Default)]
struct Changing(Mutex<ApiServerAddresses>);

impl ApiServers for Changing {
    fn addresses(&self) -> Known<'_> {
        Box::pin(std::future::ready(self.0.lock().clone()))
    }
}

#[tokio::test]
async fn a_connection_to_an_address_that_is_forbidden_since_is_not_used() {
    let server = Server::start(|_| Reply::ok("body")).await;
    let mut setup =
        Setup::new(json!({"allow": [{"origin": "http://plain.example", "allowPrivate": true}]}));
    let servers = Arc::new(Changing::default());
    setup.settings.servers = servers.clone();
    let world = setup.build();
    *world.dialer.server.lock() = Some(server.address);
    world.names.set("plain.example", &[&["10.96.0.1"]]);
    world.answer(get(URL)).await;
    servers.0.lock().sockets = vec!["10.96.0.1:80".parse().unwrap()];
    assert_eq!(world.failure(get(URL)).await.error, Error::Denied);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_twenty_first_request_of_a_call_is_not_sent() {
    let (server, world) = world().await;
    world.names.set("plain.example", &[&["1.1.1.1"]]);
    for _ in 0..PER_CALL {
        world.answer(get(URL)).await;
    }
    let (stop, failure) = world.fetch(get(URL)).await.unwrap_err();
    assert_eq!((stop, failure.sent), (Stop::Budget, Sent::No));
    assert_eq!(server.seen().len(), 20);
}

#[tokio::test]
async fn a_cookie_is_not_kept() {
    let server =
        Server::start(|_| Reply::with("Set-Cookie: session=1\r\nAlt-Svc: h3=\":443\"\r\n", b""))
            .await;
    let world = World::of(&server);
    for _ in 0..2 {
        world.answer(get("https://api.example.com/")).await;
    }
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("cookie").is_none())
    );
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_not_used() {
    // The tests of the crate run with whatever the environment says. What is dialled is the checked address alone.
    let (_server, world) = world().await;
    world.names.set("plain.example", &[&["1.1.1.1", "1.0.0.1"]]);
    world.answer(get(URL)).await;
    assert_eq!(world.dialer.dialled.lock().len(), 1);
}

#[tokio::test]
async fn a_local_server_stands_in_for_its_own_origin_alone() {
    let server = Server::start(|_| Reply::ok("body")).await;
    let rules = json!({"allow": [{"origin": "https://a.example"}, {"origin": "https://a.example:444"}, {"origin": "http://a.example"}]});
    let world = Setup::new(rules)
        .local("https://a.example", &server, Scheme::Http)
        .build();
    world.names.set("a.example", &[&["127.0.0.1"]]);
    world.answer(get("https://a.example/")).await;
    for url in ["https://a.example:444/", "http://a.example/"] {
        assert_eq!(world.failure(get(url)).await.error, Error::Denied, "{url}");
    }
    for (address, want) in [
        ("127.0.0.1:80", true),
        ("[::1]:80", true),
        ("10.0.0.1:80", false),
        ("1.1.1.1:80", false),
    ] {
        let local = windlass_egress::Local::new(address.parse().unwrap(), Scheme::Http);
        assert_eq!(local.is_some(), want, "{address}");
    }
}
