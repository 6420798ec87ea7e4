//! What kube-controller-manager does that users of an API server depend on, as one future.
//!
//! - It reads what happens in the store, and writes by requests, as any client does.
//! - Each controller notes what an event asks for in its queue, and works on one key at a time; what a key
//!   needs is decided from the state of then, so no event is lost and none has to be seen.
//! - It does not spawn, and waits by the store's bell and the clock seam alone: under paused time the same
//!   seed gives the same history.

pub(crate) mod client;
mod compaction;
mod crds;
mod disruption;
mod expiry;
mod feed;
mod garbage;
mod namespaces;
pub mod node;
mod protection;
mod queue;
mod quotas;
mod roles;
mod services;

use std::convert::Infallible;
use std::pin::pin;

use futures::future::{Either, select};

use crate::options::{self, controllers as names};
use crate::seams::Instant;
use crate::server::Server;
use compaction::Compaction;
use crds::Crds;
use disruption::Disruption;
use expiry::Expiry;
use feed::{Feed, News, Seen};
use garbage::Garbage;
use namespaces::Namespaces;
use node::SimulatedNode;
use protection::Protection;
use quotas::Quotas;
use roles::Roles;
use services::Services;

/// Keys worked on before others get their turn.
const TURNS: usize = 32;

impl Server {
    /// Runs the controllers until it is dropped: garbage collection, the life of namespaces and of
    /// CRDs, aggregated roles, APIServices, disruption budgets, quotas, the protection of claims, volumes and their classes, the age of
    /// Events and of the store's own events, and the simulated node if there is one. Those that are kube-controller-manager's run as [`Options::controllers`](crate::options::Options) says.
    pub fn controllers(&self) -> impl Future<Output = Infallible> + Send + 'static {
        run(self.clone())
    }
}

async fn run(server: Server) -> Infallible {
    let clock = server.seams().clock.clone();
    let mut feed = Feed::new(&server);
    let mut controllers = ControllerSet::new(&server);
    loop {
        for news in feed.take() {
            controllers.learn(&server, &news);
        }
        if controllers.work(&server, TURNS) {
            // Requests are answered in between, and what they change is seen.
            tokio::task::yield_now().await;
            continue;
        }
        let changed = pin!(feed.changed());
        match controllers.due() {
            None => changed.await,
            Some(due) => match select(changed, pin!(clock.sleep_until(due))).await {
                Either::Left(_) | Either::Right(_) => {}
            },
        }
    }
}

#[derive(Debug)]
struct ControllerSet {
    garbage: Option<Garbage>,
    namespaces: Namespaces,
    crds: Crds,
    roles: Option<Roles>,
    services: Services,
    disruption: Option<Disruption>,
    expiry: Expiry,
    compaction: Compaction,
    protection: Protection,
    quotas: Option<Quotas>,
    node: Option<SimulatedNode>,
}

impl ControllerSet {
    fn new(server: &Server) -> Self {
        let options = server.options();
        let runs = |name: &str| options.controllers.runs(name);
        Self {
            garbage: runs(names::GARBAGE).then(Garbage::default),
            namespaces: Namespaces::default(),
            crds: Crds::default(),
            roles: runs(names::CLUSTER_ROLES).then(Roles::default),
            services: Services::default(),
            disruption: runs(names::DISRUPTION).then(Disruption::default),
            expiry: Expiry::default(),
            compaction: Compaction::default(),
            protection: Protection::new(runs),
            quotas: runs(names::QUOTAS).then(Quotas::default),
            node: (options.node != options::Node::Absent).then(SimulatedNode::default),
        }
    }

    fn learn(&mut self, server: &Server, news: &News) {
        match news {
            News::Lost => {
                let node = self.node.as_ref().map(SimulatedNode::again);
                *self = Self {
                    node,
                    compaction: std::mem::take(&mut self.compaction),
                    ..Self::new(server)
                };
            }
            News::Kinds => {
                if let Some(garbage) = &mut self.garbage {
                    garbage.kinds_changed();
                }
                self.services.kinds_changed();
            }
            News::Object(seen) => self.observe(server, seen),
        }
    }

    fn observe(&mut self, server: &Server, seen: &Seen) {
        if let Some(garbage) = &mut self.garbage {
            garbage.observe(server, seen);
        }
        self.namespaces.observe(server, seen);
        self.crds.observe(server, seen);
        if let Some(roles) = &mut self.roles {
            roles.observe(seen);
        }
        self.services.observe(seen);
        if let Some(disruption) = &mut self.disruption {
            disruption.observe(server, seen);
        }
        self.expiry.observe(server, seen);
        self.protection.observe(seen);
        if let Some(quotas) = &mut self.quotas {
            quotas.observe(server, seen);
        }
        if let Some(node) = &mut self.node {
            node.observe(server, seen);
        }
    }

    /// Works on up to `turns` keys of each controller; says whether there may be more.
    fn work(&mut self, server: &Server, turns: usize) -> bool {
        self.compaction.work(server);
        let mut worked = false;
        for _ in 0..turns {
            let mut any = self.namespaces.work(server);
            any |= self.crds.work(server);
            any |= { self.garbage.as_mut() }.is_some_and(|garbage| garbage.work(server));
            any |= { self.roles.as_mut() }.is_some_and(|roles| roles.work(server));
            any |= self.services.work(server);
            any |= { self.disruption.as_mut() }.is_some_and(|disruption| disruption.work(server));
            any |= self.expiry.work(server);
            any |= self.protection.work(server);
            any |= { self.quotas.as_mut() }.is_some_and(|quotas| quotas.work(server));
            any |= { self.node.as_mut() }.is_some_and(|node| node.work(server));
            if !any {
                break;
            }
            worked = true;
        }
        worked
    }

    /// When there is something to do again, if nothing happens until then.
    fn due(&self) -> Option<Instant> {
        let all = [
            self.garbage.as_ref().and_then(Garbage::due),
            self.namespaces.due(),
            self.crds.due(),
            self.roles.as_ref().and_then(Roles::due),
            self.services.due(),
            self.disruption.as_ref().and_then(Disruption::due),
            self.expiry.due(),
            self.compaction.due(),
            self.protection.due(),
            self.quotas.as_ref().and_then(Quotas::due),
            self.node.as_ref().and_then(SimulatedNode::due),
        ];
        all.into_iter().flatten().min()
    }
}
