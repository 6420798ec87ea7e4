//! A request from a guest's thread, which has neither I/O nor timers; and how an answer is read.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::runtime::Handle;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::*;
use windlass_base::memory::{Bounds, Budget};
use windlass_base::seams::{Spawn, guest_threads};

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
async fn a_call_on_a_guests_thread_can_wait_before_it_asks_again() {
    let guests = guest_threads(1).unwrap();
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::seeded(1),
        spawn: Spawn::on_threads(Handle::current(), guests.handle().clone()),
    };
    let clock = seams.clock;
    let server = Server::new(server::Seams {
        clock: server::Clock::new(move || clock.wall()),
        rng: server::Rng::seeded(1),
    });
    let api = Api::new(kube::Client::new(server, "default"), seams.clone());
    let call = seams.spawn.guest(async move {
        api.pause(Duration::from_millis(1)).await;
    });
    let waited = call.await;
    guests.shutdown_background();
    assert!(waited.is_ok(), "{waited:?}");
}

#[tokio::test]
async fn an_answer_counts_while_it_is_read_and_no_more_of_it_is_read_than_there_is_room_for() {
    let chunk = || Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; 1 << 20])));
    // With room for so many chunks beside the account, which has room for four.
    let rows: [(usize, usize, bool, usize); 4] = [
        (0, 64, false, 5),
        (0, 4, true, 4),
        (3, 64, false, 8),
        (3, 7, true, 7),
    ];
    for (held, chunks, fits, wanted) in rows {
        let read = Arc::new(AtomicUsize::new(0));
        let count = read.clone();
        let counted = (0..chunks).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            chunk()
        });
        let body = StreamBody::new(futures::stream::iter(counted));
        let (soft, hard) = (8 << 20, 16 << 20);
        let account = Account::new(Budget::new(usize::MAX), Bounds { soft, hard });
        let paying = (account.clone(), held << 20);
        let answer = whole(body, LARGEST_ANSWER, Some(&paying)).await;
        match answer {
            Ok((bytes, charge)) => {
                assert!(fits && bytes.len() == wanted << 20);
                let counted = 2 * (wanted.saturating_sub(held) << 20);
                assert_eq!(account.used(), counted, "until it is taken apart");
                drop(charge);
            }
            Err(error) => assert!(!fits && matches!(error, ApiError::NoRoom(_)), "{error}"),
        }
        assert_eq!((read.load(Ordering::Relaxed), account.used()), (wanted, 0));
    }
}
