//! Deadlines, in tokio's time: the server pauses it once it has read a request.

use std::time::Duration;

use serde_json::json;
use windlass_egress::{Error, Sent};

use super::server::{Reply, Server};
use super::world::{Setup, World, get};

const URL: &str = "https://api.example.com/";

#[tokio::test]
async fn an_answer_begins_within_ten_seconds() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 103 Early Hints\r\n\r\n",
    ] {
        let server = Server::start(move |_| Reply::stall(bytes)).await;
        let world = World::of(&server);
        let failure = world.failure(get(URL)).await;
        assert_eq!((failure.error, failure.sent), (Error::Timeout, Sent::Maybe));
        assert!(failure.reason.contains("10 s"), "{}", failure.reason);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_whole_exchange_ends_with_the_call() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\n\r\nhalf",
    ] {
        let server = Server::start(move |_| Reply::stall(bytes)).await;
        let mut world = World::of(&server);
        world.deadline = Duration::from_secs(5);
        let failure = world.failure(get(URL)).await;
        assert_eq!((failure.error, failure.sent), (Error::Timeout, Sent::Maybe));
        assert!(failure.reason.contains("deadline"), "{}", failure.reason);
        assert_eq!(world.client.idle(), 0);
        tokio::time::resume();
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_time_is_over_is_not_sent() {
    // The name has no address that answers: time runs on at once.
    struct Never;
    impl windlass_egress::Resolve for Never {
        fn resolve<'a>(&'a self, _name: &'a str) -> windlass_egress::Resolving<'a> {
            Box::pin(std::future::pending())
        }
    }
    let mut setup = Setup::new(json!({"allow": [{"origin": "https://api.example.com"}]}));
    setup.settings.resolver = std::sync::Arc::new(Never);
    let failure = setup.build().failure(get(URL)).await;
    assert_eq!((failure.error, failure.sent), (Error::Timeout, Sent::No));
}

#[tokio::test(start_paused = true)]
async fn a_first_address_that_is_silent_leaves_time_for_the_second() {
    use windlass_egress::{Dial, Dialing};
    struct FirstIsSilent(std::net::SocketAddr);
    impl Dial for FirstIsSilent {
        fn dial(&self, address: std::net::SocketAddr) -> Dialing<'_> {
            Box::pin(async move {
                if address.ip().to_string() == "1.1.1.1" {
                    std::future::pending::<()>().await;
                }
                tokio::time::resume();
                tokio::net::TcpStream::connect(self.0).await
            })
        }
    }
    let server = Server::start(|_| Reply::ok("body")).await;
    let mut setup = Setup::new(json!({"allow": [{"origin": "http://api.example.com"}]}));
    setup.settings.dialer = std::sync::Arc::new(FirstIsSilent(server.address));
    let world = setup.build();
    world
        .names
        .set("api.example.com", &[&["1.1.1.1", "1.0.0.1"]]);
    let answer = world.answer(get("http://api.example.com/")).await;
    assert_eq!(answer.address.to_string(), "1.0.0.1:80");
}
