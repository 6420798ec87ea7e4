use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::*;
use windlass_base::seams::{Rng, Spawn};

const WHOLE: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HALF: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n";

fn router() -> Router {
    let long = || async { "x".repeat(1 << 20) };
    Router::new()
        .route("/", get(|| async { "well" }))
        .route("/long", get(long))
}

#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn seams() -> Seams {
    Seams {
        clock: Clock::starting_at(jiff::Timestamp::UNIX_EPOCH),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(Handle::current()),
    }
}

/// A client of one connection that the port serves, and the seconds after which the port ends it.
async fn ends_after(talk: impl AsyncFnOnce(&mut DuplexStream)) -> u64 {
    let clock = seams().clock;
    let (mut client, server) = duplex(4 << 10);
    let began = clock.now();
    let server = converse(server, router(), clock, || {});
    let ended = async {
        server.await;
        clock.now() - began
    };
    let client = async {
        talk(&mut client).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        time = ended => time.as_secs(),
        () = client => unreachable!("the client stays"),
    }
}

async fn answer(client: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"well") {
        assert_ne!(client.read_buf(&mut text).await.unwrap(), 0, "no answer");
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_slow_is_cut_off() {
    let clock = seams().clock;
    let head = HEAD.as_secs();
    assert_eq!(ends_after(async |_| {}).await, head, "nothing was sent");
    let half = async |client: &mut DuplexStream| client.write_all(HALF).await.unwrap();
    assert_eq!(ends_after(half).await, head, "half a head");
    let drop_by_drop = async |client: &mut DuplexStream| {
        for byte in HALF {
            client.write_all(&[*byte]).await.unwrap();
            clock.sleep(Duration::from_secs(3)).await;
        }
    };
    assert_eq!(ends_after(drop_by_drop).await, head, "a byte now and then");
    let idle = async |client: &mut DuplexStream| {
        client.write_all(WHOLE).await.unwrap();
        assert!(answer(client).await.starts_with("HTTP/1.1 200"));
        clock.sleep(Duration::from_secs(20)).await;
        client.write_all(WHOLE).await.unwrap();
        answer(client).await;
    };
    let next = IDLE.as_secs();
    assert_eq!(ends_after(idle).await, 20 + next, "idle after two requests");
    let half_again = async |client: &mut DuplexStream| {
        client.write_all(WHOLE).await.unwrap();
        answer(client).await;
        clock.sleep(Duration::from_secs(50)).await;
        client.write_all(HALF).await.unwrap();
    };
    assert_eq!(
        ends_after(half_again).await,
        50 + head,
        "half a head after a whole request"
    );
    let deaf = async |client: &mut DuplexStream| {
        let request = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n";
        client.write_all(request).await.unwrap();
    };
    let write = WRITE.as_secs();
    assert_eq!(ends_after(deaf).await, write, "its answer is not taken");
}

#[tokio::test]
async fn who_sends_half_a_request_makes_room_for_others() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seams = seams();
    let port = seams.spawn.task(serve(listener, router(), seams.clone()));
    let connect = async |sends: &[u8]| {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(sends).await.unwrap();
        client
    };
    let mut busy = connect(WHOLE).await;
    answer(&mut busy).await;
    let mut idle = connect(WHOLE).await;
    answer(&mut idle).await;
    let mut halves = Vec::new();
    for number in 0..300 {
        halves.push(connect(HALF).await);
        // One client asks again and again on the same connection.
        if number % 20 == 0 {
            busy.write_all(WHOLE).await.unwrap();
            answer(&mut busy).await;
        }
    }
    let mut new = connect(WHOLE).await;
    assert!(answer(&mut new).await.starts_with("HTTP/1.1 200"));
    // By now all of them have been accepted. Two of those that are open have asked something.
    let kept = halves.split_off(300 + 2 - CONNECTIONS);
    for client in &mut halves {
        let read = client.read(&mut [0]).await;
        assert!(!matches!(read, Ok(1..)), "nothing was asked");
    }
    assert!(!matches!(idle.read(&mut [0]).await, Ok(1..)));
    for client in &kept {
        let read = client.try_read(&mut [0]);
        let waits = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(read.as_ref().is_err_and(waits), "{read:?}");
    }
    // A port that is closed closes its connections.
    drop(port);
    for mut client in kept {
        assert!(!matches!(client.read(&mut [0]).await, Ok(1..)));
    }
    assert!(!matches!(busy.read(&mut [0]).await, Ok(1..)));
}

#[test]
fn the_thing_that_was_not_used_for_longest_goes_first() {
    let mut recent = Recent::default();
    for thing in ["a", "b", "c", "d"] {
        let id = recent.next();
        recent.insert(id, thing);
    }
    recent.used(1);
    recent.used(3);
    assert_eq!(recent.remove(4), Some("d"));
    recent.used(4);
    let order: Vec<_> = std::iter::from_fn(|| recent.take_oldest()).collect();
    assert_eq!(order, ["b", "a", "c"]);
}
