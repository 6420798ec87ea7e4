//! What Leases cost at rest.

use futures::future::{join_all, select};

use super::*;

impl World {
    /// How often a request was sent, by method and what it was about.
    fn sent(&self) -> Vec<(&'static str, usize)> {
        let asked = self.asked.lock();
        let count = |method: Method, part: &str, but: &str| {
            let is_meant = |(of, uri): &&(Method, String)| {
                *of == method && uri.contains(part) && (but.is_empty() || !uri.contains(but))
            };
            asked.iter().filter(is_meant).count()
        };
        let session = "/leases/windlass-session-";
        let counts = [
            ("renewals", count(Method::PUT, session, "")),
            ("lists", count(Method::GET, "/leases?labelSelector", "")),
            ("reads", count(Method::GET, "/leases/", "")),
            ("plugin writes", count(Method::PUT, "/leases/", session)),
        ];
        assert_eq!(
            counts.iter().map(|(_, count)| count).sum::<usize>(),
            asked.len()
        );
        counts.into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_plugins_at_rest_cost_one_heartbeat_and_one_list_each_two_seconds() {
    let world = World::new();
    let (holder, standby) = (world.lease("a"), world.lease("b"));
    let of = |held: &Held| {
        let lease = |number| Lease::new(&held.session, &format!("plugin-{number}"));
        (0..100).map(lease).collect::<Vec<_>>()
    };
    let (held, wanted) = (of(&holder), of(&standby));
    join_all(
        held.iter()
            .map(|lease| lease.acquire(ObservedLease::default(), |_| {})),
    )
    .await;
    let holds = join_all(held.iter().map(|lease| Box::pin(lease.hold())));
    let waits = join_all(
        wanted
            .iter()
            .map(|lease| Box::pin(lease.acquire(ObservedLease::default(), |_| {}))),
    );
    let rests = async {
        world.wait(11 * SECOND).await;
        world.asked.lock().clear();
        world.wait(60 * SECOND).await;
        world.sent()
    };
    tokio::select! {
        biased;
        _ = select(holds, waits) => panic!("a lease is lost"),
        sent = rests => {
            // Of both hosts.
            let want = [("renewals", 60), ("lists", 60), ("reads", 0), ("plugin writes", 0)];
            assert_eq!(sent, want);
        }
    }
}
