//! A request from a guest's thread, which has neither I/O nor timers.

use tokio::runtime::Handle;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::*;
use crate::seams::{Spawn, guest_threads};

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
