//! A Lease on the embedded server, in virtual time.

use std::time::Duration;

use futures::future::join;
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::*;
use crate::seams::{Clock, Rng, Spawn, first};

const SECOND: Duration = Duration::from_secs(1);

struct World {
    server: Server,
    seams: Seams,
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn new() -> Self {
        let start = "2026-11-21T09:30:00Z".parse().unwrap();
        let seams = Seams {
            clock: Clock::starting_at(start),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(tokio::runtime::Handle::current()),
        };
        let clock = seams.clock;
        let server = Server::new(server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(1),
        });
        Self { server, seams }
    }

    fn lease(&self, identity: &str) -> Lease {
        let client = kube::Client::new(self.server.clone(), "default");
        let seams = self.seams.clone();
        let api = Api::new(client, seams.clone());
        let times = Times::default();
        Lease::new(api, seams, "default", "greeter", identity, times)
    }

    async fn wait(&self, duration: Duration) {
        self.seams.clock.sleep(duration).await;
    }

    /// The next request of this verb for a lease meets the fault.
    fn next(&self, verb: Verb, fault: Fault) {
        self.server.faults().switch_on(Switch {
            name: format!("{verb:?}"),
            on: Matcher {
                verb: Some(verb),
                plural: Some("leases".to_owned()),
                user: None,
            },
            from: 0,
            times: 1,
            fault,
        });
    }
}

async fn holder_of(lease: &Lease) -> String {
    lease.read().await.unwrap().unwrap().holder
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_given_up_though_a_renewal_is_still_under_way() {
    let world = World::new();
    let lease = world.lease("a");
    lease.acquire(Watched::default()).await;
    // The server takes its time with the last renewal: it lands between the ending host's read and write.
    world.next(Verb::Get, Fault::LateAnswer(2 * SECOND));
    let late = async {
        world.wait(SECOND).await;
        world.lease("a").renew(None).await.unwrap().unwrap()
    };
    join(lease.release(), late).await;
    assert_eq!(holder_of(&lease).await, "");
}

#[tokio::test(start_paused = true)]
async fn who_watched_a_dead_holder_need_not_watch_it_again() {
    let world = World::new();
    world.lease("dead").acquire(Watched::default()).await;
    let next = world.lease("next");
    let mut watched = Watched::default();
    assert_eq!(next.holder(&mut watched).await.unwrap(), None);
    let began = world.seams.clock.now();
    next.acquire(watched).await;
    assert_eq!(world.seams.clock.now() - began, Duration::ZERO);
    assert_eq!(holder_of(&next).await, "next");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_up_while_it_is_watched_has_no_holder() {
    let world = World::new();
    let (held, asking) = (world.lease("host"), world.lease("asking"));
    held.acquire(Watched::default()).await;
    let ends = async {
        world.wait(SECOND).await;
        held.release().await;
    };
    let mut watched = Watched::default();
    let (holder, ()) = join(asking.holder(&mut watched), ends).await;
    assert_eq!(holder.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_is_named() {
    let world = World::new();
    let (held, asking) = (world.lease("host"), world.lease("asking"));
    held.acquire(Watched::default()).await;
    let mut watched = Watched::default();
    let asked = asking.holder(&mut watched);
    match first(held.hold(), asked).await {
        crate::seams::Either::Right(holder) => assert_eq!(holder.unwrap().unwrap(), "host"),
        crate::seams::Either::Left(()) => panic!("the lease is lost"),
    }
}
