//! Shared connections to a server that does what a test says, over pipes.

mod server;

use futures::future::join_all;
use http_body_util::BodyExt;

use super::*;
use server::{Order, Server, Welcome};
use windlass_base::seams::Clock;

fn get(path: &'static str) -> Request<Body> {
    let uri = format!("https://server{path}");
    Request::get(uri).body(Body::empty()).unwrap()
}

/// Sends a request that the server answers.
async fn sent(
    shared: &SharedConnections<Server>,
    path: &'static str,
) -> (Response<Incoming>, StreamPermit) {
    match shared.send(get(path)).await.unwrap() {
        SendResult::Answered(response, place) => (response, place),
        SendResult::Refused(_) => panic!("the server speaks HTTP/2"),
    }
}

async fn all_sent(
    shared: &SharedConnections<Server>,
    count: usize,
) -> Vec<(Response<Incoming>, StreamPermit)> {
    join_all((0..count).map(|_| sent(shared, "/ticks"))).await
}

/// The next piece of an answer.
async fn piece(answer: &mut (Response<Incoming>, StreamPermit)) -> Option<hyper::Result<usize>> {
    let frame = answer.0.body_mut().frame().await?;
    Some(frame.map(|frame| frame.into_data().map_or(0, |data| data.len())))
}

#[test]
fn the_first_connection_that_has_room_takes_a_request() {
    let cases: [(&[(usize, usize)], _, _); 7] = [
        (&[], None, 0),
        (&[(0, 64)], Some(0), 1),
        (&[(64, 64)], None, 0),
        (&[(64, 64), (3, 64)], Some(1), 2),
        (&[(5, 5), (63, 64), (0, 64)], Some(1), 2),
        (&[(1, 64), (2, 64), (0, 64), (0, 64)], Some(0), 2),
        (&[(1, 64), (0, 64), (7, 64)], Some(0), 3),
    ];
    for (loads, taken_by, kept) in cases {
        let loads: Vec<Load> = loads
            .iter()
            .map(|&(taken, room)| Load { taken, room })
            .collect();
        let chosen = choose(&loads);
        assert_eq!(chosen, taken_by, "{loads:?}");
        let kept_then = chosen.map_or(0, |chosen| needed(&loads, chosen));
        assert_eq!(kept_then, kept, "{loads:?}");
    }
}

#[tokio::test]
async fn many_requests_at_once_share_few_connections() {
    let server = Server::new();
    let shared = server.shared();
    let mut answers = all_sent(&shared, 2 * STREAMS + 1).await;
    assert_eq!(server.opened(), 3);
    server.tick();
    for answer in &mut answers {
        assert_eq!(piece(answer).await.unwrap().unwrap(), 4);
    }
}

#[tokio::test]
async fn an_answer_that_is_dropped_leaves_its_place_to_another() {
    let server = Server::new();
    let shared = server.shared();
    let mut answers = Vec::new();
    for _ in 0..=STREAMS {
        answers.push(sent(&shared, "/ticks").await);
    }
    server.until_open(2).await;
    // One of the first connection, and the only one of the second.
    answers.truncate(STREAMS - 1);
    answers.push(sent(&shared, "/ticks").await);
    server.until_open(1).await;
    assert_eq!(server.opened(), 2);
}

#[tokio::test]
async fn a_server_that_allows_fewer_requests_gets_no_more() {
    let server = Server::allowing(10);
    let shared = server.shared();
    let mut answers = Vec::new();
    for _ in 0..25 {
        answers.push(sent(&shared, "/ticks").await);
    }
    assert_eq!(server.opened(), 3);
}

#[tokio::test]
async fn a_server_that_speaks_no_http2_is_asked_once() {
    let server = Server::new();
    server.welcome(Welcome::Http1);
    let shared = server.shared();
    for _ in 0..3 {
        let sent = shared.send(get("/ticks")).await.unwrap();
        assert!(matches!(sent, SendResult::Refused(_)));
    }
    assert_eq!(server.opened(), 1);
}

#[tokio::test]
async fn who_waits_for_a_connection_that_cannot_be_opened_is_told_why() {
    let server = Server::new();
    server.welcome(Welcome::Refused);
    let shared = server.shared();
    let failures = join_all((0..10).map(|_| shared.send(get("/ticks")))).await;
    for failure in failures {
        let error = failure.err().unwrap();
        let text = windlass_base::error::Chain(&*error).to_string();
        assert_eq!(text, "cannot connect: connection refused");
    }
    assert_eq!(server.opened(), 1);
    server.welcome(Welcome::Http2);
    sent(&shared, "/ticks").await;
}

#[tokio::test]
async fn who_gives_up_waiting_for_a_connection_does_not_keep_others_waiting() {
    let server = Server::new();
    server.welcome(Welcome::Never);
    let shared = server.shared();
    let waits = Box::pin(shared.send(get("/ticks")));
    assert!(waits.now_or_never().is_none());
    server.welcome(Welcome::Http2);
    sent(&shared, "/ticks").await;
}

#[tokio::test]
async fn a_connection_that_the_server_closes_finishes_what_it_has_and_gets_nothing_new() {
    let server = Server::new();
    let shared = server.shared();
    let mut old = sent(&shared, "/ticks").await;
    server.orders(Order::ShutDown);
    server.tick();
    assert_eq!(piece(&mut old).await.unwrap().unwrap(), 4);
    let mut new = sent(&shared, "/ticks").await;
    assert_eq!(server.opened(), 2);
    server.tick();
    for answer in [&mut old, &mut new] {
        assert_eq!(piece(answer).await.unwrap().unwrap(), 4);
    }
    drop(old);
    server.until_open(1).await;
}

#[tokio::test]
async fn what_was_sent_on_a_connection_that_breaks_ends_with_an_error() {
    let server = Server::new();
    let shared = server.shared();
    let mut answers = all_sent(&shared, 3).await;
    server.orders(Order::Break);
    for answer in &mut answers {
        assert!(piece(answer).await.unwrap().is_err());
    }
    sent(&shared, "/ticks").await;
    assert_eq!(server.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stands_still_is_given_up() {
    let server = Server::new();
    let shared = server.shared();
    let mut answer = sent(&shared, "/ticks").await;
    server.orders(Order::Freeze);
    assert!(piece(&mut answer).await.unwrap().is_err());
    sent(&shared, "/ticks").await;
    assert_eq!(server.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_whose_server_lives_is_kept() {
    let server = Server::new();
    let shared = server.shared();
    let mut answer = sent(&shared, "/ticks").await;
    Clock::system().sleep(SILENT * 100).await;
    server.tick();
    assert_eq!(piece(&mut answer).await.unwrap().unwrap(), 4);
    assert_eq!(server.opened(), 1);
}

#[tokio::test]
async fn readers_that_stand_still_take_no_room_from_others() {
    let server = Server::new();
    let shared = server.shared();
    let slow = join_all((1..STREAMS).map(|_| sent(&shared, "/flood"))).await;
    let mut quick = sent(&shared, "/flood").await;
    let mut read = 0;
    while read < 4 * CONNECTION_WINDOW as usize {
        read += piece(&mut quick).await.unwrap().unwrap();
    }
    assert_eq!(server.opened(), 1);
    drop(slow);
}
