//! Which requests share a connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use windlass_egress::{Error, Scheme, Sent};

use super::server::{Reply, Server};
use super::world::{Setup, World, get};

const URL: &str = "https://api.example.com/";

fn connections(server: &Server) -> Vec<usize> {
    server.seen().iter().map(|seen| seen.connection).collect()
}

#[tokio::test]
async fn a_connection_is_used_again_until_the_other_side_closes_it() {
    let server = Server::start(|seen| match seen.target.as_str() {
        "/close" => Reply::close("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        "/said" => Reply::with("Connection: close\r\n", b""),
        "/old" => Reply::close("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
        _ => Reply::ok("body"),
    })
    .await;
    let world = World::of(&server);
    let mut reused = Vec::new();
    for path in ["a", "b", "said", "c", "old", "d", "e"] {
        reused.push(world.answer(get(&format!("{URL}{path}"))).await.reused);
        let is_over = ["said", "old"].contains(&path);
        assert_eq!(world.client.idle(), usize::from(!is_over), "{path}");
    }
    assert_eq!(reused, [false, true, true, false, true, false, true]);
    assert_eq!(connections(&server), [0, 0, 0, 1, 1, 2, 2]);
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_ends_the_connection() {
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
    let server = Server::start(move |_| Reply::keep(format!("{twice}{poison}"))).await;
    let world = World::of(&server);
    for _ in 0..3 {
        assert_eq!(world.answer(get(URL)).await.body, b"a");
    }
    assert_eq!(connections(&server), [0, 1, 2]);
}

#[tokio::test]
async fn a_body_that_is_not_read_to_its_end_ends_the_connection() {
    let server = Server::start(|seen| match seen.target.as_str() {
        "/large" => Reply::keep("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
        _ => Reply::ok(""),
    })
    .await;
    let world = World::of(&server);
    assert_eq!(
        world.failure(get(&format!("{URL}large"))).await.error,
        Error::TooLarge
    );
    world.answer(get(URL)).await;
    assert_eq!(connections(&server), [0, 1]);
}

#[tokio::test]
async fn connections_are_closed_when_they_are_old_or_when_the_host_says_so() {
    let server = Server::start(|_| Reply::ok("")).await;
    let world = World::of(&server);
    world.answer(get(URL)).await;
    world.client.close_old();
    assert_eq!(world.client.idle(), 1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    world.client.close_old();
    assert_eq!(world.client.idle(), 0);
    tokio::time::resume();
    world.answer(get(URL)).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    world.answer(get(URL)).await;
    assert_eq!(
        connections(&server),
        [0, 1, 2],
        "an old one is not used, also if nobody closed it"
    );
    world.client.close_all();
    assert_eq!(world.client.idle(), 0);
}

#[tokio::test]
async fn origins_addresses_and_credentials_have_connections_of_their_own() {
    let server = Server::start(|_| Reply::ok("")).await;
    let inject = json!([{"header": "X-Token", "value": "{token}"}]);
    let rules = json!({"allow": [
        {"origin": "https://a.example", "credentials": "same-namespace", "inject": inject},
        {"origin": "https://b.example"},
        {"origin": "http://c.example"},
    ]});
    let mut world = Setup::new(rules)
        .local("https://a.example", &server, Scheme::Http)
        .local("https://b.example", &server, Scheme::Http)
        .build();
    *world.dialer.server.lock() = Some(server.address);
    world
        .names
        .set("c.example", &[&["1.1.1.1"], &["1.0.0.1"], &["1.1.1.1"]]);
    let a = || get("https://a.example/");
    let chosen = || a().credential("https://a.example");
    world.secrets.insert("token".to_owned(), b"first".to_vec());
    world.answer(a()).await;
    world.answer(chosen()).await;
    world.answer(chosen()).await;
    world.secrets.insert("token".to_owned(), b"second".to_vec());
    world.answer(chosen()).await;
    world.answer(a()).await;
    assert_eq!(connections(&server), [0, 1, 1, 2, 0]);
    world.client.close_all();
    world.answer(get("https://b.example/")).await;
    for _ in 0..3 {
        world.answer(get("http://c.example/")).await;
    }
    assert_eq!(
        connections(&server)[5..],
        [3, 4, 5, 4],
        "the third lookup has the first address again"
    );
}

#[tokio::test]
async fn at_most_four_connections_are_open() {
    let open = std::sync::Arc::new(AtomicUsize::new(0));
    let now = std::sync::Arc::clone(&open);
    let server = Server::start(move |_| {
        now.fetch_add(1, Ordering::Relaxed);
        Reply::ok("")
    })
    .await;
    let origins: Vec<String> = (0..8)
        .map(|number| format!("https://h{number}.example"))
        .collect();
    let allow: Vec<_> = origins
        .iter()
        .map(|origin| json!({"origin": origin}))
        .collect();
    let setup = Setup::new(json!({"allow": allow}));
    let world = origins
        .iter()
        .fold(setup, |setup, origin| {
            setup.local(origin, &server, Scheme::Http)
        })
        .build();
    let fetches = origins
        .iter()
        .map(|origin| world.answer(get(&format!("{origin}/"))));
    let mut fetches: Vec<_> = fetches.map(Box::pin).collect();
    let mut left = fetches.len();
    std::future::poll_fn(|context| {
        fetches.retain_mut(|fetch| fetch.as_mut().poll(context).is_pending());
        left = fetches.len();
        assert!(world.client.idle() <= 4);
        if left == 0 {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    assert_eq!(open.load(Ordering::Relaxed), 8);
    assert_eq!(world.client.idle(), 4);
}

#[tokio::test]
async fn requests_beyond_the_fourth_wait_and_are_not_sent_if_none_ends() {
    let server = Server::start(|_| Reply::keep("")).await;
    let mut world = World::of(&server);
    // Otherwise the last one could begin when the first one ends.
    world.ends = Some(tokio::time::Instant::now() + Duration::from_secs(5));
    let mut fetches: Vec<_> = (0..5).map(|_| Box::pin(world.failure(get(URL)))).collect();
    std::future::poll_fn(|context| {
        for fetch in &mut fetches {
            assert!(fetch.as_mut().poll(context).is_pending());
        }
        context.waker().wake_by_ref();
        match server.seen().len() {
            4 => std::task::Poll::Ready(()),
            _ => std::task::Poll::Pending,
        }
    })
    .await;
    // The connections of another plugin are its own.
    let answers = Server::start(|_| Reply::ok("hello")).await;
    let neighbor = World::of(&answers).fetch(get(URL)).await.unwrap();
    assert_eq!(neighbor.body, b"hello");
    // The deadline of the first plugin's requests is the next event.
    tokio::time::pause();
    let mut sent = Vec::new();
    std::future::poll_fn(|context| {
        fetches.retain_mut(|fetch| match fetch.as_mut().poll(context) {
            std::task::Poll::Ready(failure) => {
                assert_eq!(failure.error, Error::Timeout);
                sent.push(failure.sent);
                false
            }
            std::task::Poll::Pending => true,
        });
        if fetches.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    assert_eq!(server.seen().len(), 4);
    assert_eq!(sent.iter().filter(|sent| **sent == Sent::No).count(), 1);
}

#[tokio::test]
async fn a_fetch_that_is_dropped_closes_its_connection() {
    let server = Server::start(|_| Reply::keep("")).await;
    let world = World::of(&server);
    let mut fetch = Box::pin(world.fetch(get(URL)));
    std::future::poll_fn(|context| {
        assert!(fetch.as_mut().poll(context).is_pending());
        context.waker().wake_by_ref();
        if server.seen().is_empty() {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    drop(fetch);
    assert_eq!(world.client.idle(), 0);
}

#[tokio::test]
async fn nothing_is_sent_if_there_is_no_server() {
    let server = Server::start(|_| Reply::ok("")).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    let world = World::of(&server);
    drop(world);
    let rules =
        json!({"allow": [{"origin": "http://h.example"}, {"origin": "http://gone.example"}]});
    let world = Setup::new(rules).build();
    world.names.set("h.example", &[&["1.1.1.1"]]);
    world.names.set("gone.example", &[&[]]);
    *world.dialer.server.lock() = Some(closed);
    for url in ["http://h.example/", "http://gone.example/"] {
        let failure = world.failure(get(url).method("GET")).await;
        assert_eq!(
            (failure.error, failure.sent),
            (Error::Unavailable, Sent::No),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_is_not_used() {
    let close = std::sync::Arc::new(tokio::sync::Notify::new());
    for late in ["", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"] {
        let closed = std::sync::Arc::clone(&close);
        let server = Server::start(move |seen| match seen.connection {
            0 => Reply::later(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                &closed,
                late,
            ),
            _ => Reply::ok("body"),
        })
        .await;
        let rules =
            json!({"allow": [{"origin": "https://a.example"}, {"origin": "https://b.example"}]});
        let world = Setup::new(rules)
            .local("https://a.example", &server, Scheme::Http)
            .local("https://b.example", &server, Scheme::Http)
            .build();
        world.answer(get("https://a.example/")).await;
        close.notify_one();
        // A whole exchange on another connection: what the server did before it has come in.
        for _ in 0..2 {
            world.answer(get("https://b.example/")).await;
        }
        let answer = world.answer(get("https://a.example/")).await;
        assert_eq!((answer.body, answer.reused), (b"body".to_vec(), false));
        assert_eq!(connections(&server), [0, 1, 1, 2]);
    }
}

#[tokio::test]
async fn a_request_on_an_old_connection_may_have_been_sent_and_is_not_sent_again() {
    let server = Server::start(|seen| match seen.target.as_str() {
        "/" => Reply::ok(""),
        _ => Reply::close(""),
    })
    .await;
    let world = World::of(&server);
    world.answer(get(URL)).await;
    let failure = world.failure(get(&format!("{URL}gone"))).await;
    assert_eq!(
        (failure.error, failure.sent),
        (Error::Unavailable, Sent::Maybe)
    );
    assert_eq!(connections(&server), [0, 0]);
}

#[tokio::test]
async fn a_request_after_the_deadline_is_not_sent() {
    let server = Server::start(|_| Reply::ok("")).await;
    let mut world = World::of(&server);
    world.answer(get(URL)).await;
    world.deadline = Duration::ZERO;
    let failure = world.failure(get(URL)).await;
    assert_eq!((failure.error, failure.sent), (Error::Timeout, Sent::No));
    assert_eq!(server.seen().len(), 1);
}
