//! Aggregated ClusterRoles: their rules are those of the roles that they select.

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed};
use super::feed::Seen;
use super::queue::Queue;
use crate::meta;
use crate::rbac::{Rule, aggregation};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::NamespacedName;

const AGENT: Agent = Agent {
    program: "clusterrole-aggregation-controller",
    user: "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
};
const GROUP: &str = "rbac.authorization.k8s.io";

/// The controller of aggregated roles.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Whether to look at all of them: any may select any.
    queue: Queue<()>,
}

impl Roles {
    /// Notes whether an event is about a ClusterRole.
    pub(super) fn observe(&mut self, seen: &Seen) {
        if seen.is(GROUP, "clusterroles") {
            self.queue.add(());
        }
    }

    /// Looks at all roles if there is a reason to; says whether there was.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        if self.queue.take(now).is_none() {
            return false;
        }
        match aggregate(server) {
            Ok(()) => self.queue.succeeded(&()),
            Err(_) => self.queue.failed((), now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }
}

fn aggregate(server: &Server) -> Result<(), Failed> {
    let registry = server.registry();
    let resource = registry
        .find(GROUP, "v1", "clusterroles")
        .ok_or(Failed::Absent)?;
    let entries = server.store().list(&resource.place(), None).entries;
    let all: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
    let client = Client {
        server,
        agent: AGENT,
    };
    for role in &all {
        let Some(rules) =
            aggregation::rules(role, &all).filter(|rules| *rules != Rule::all_of(role))
        else {
            continue;
        };
        let rules: Vec<Value> = rules.iter().map(Rule::to_value).collect();
        let name = meta::text(role, "name");
        let applied = json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "metadata": { "name": name },
            "rules": rules,
        });
        client.apply(At::new(resource, &NamespacedName::new("", name)), &applied)?;
    }
    Ok(())
}
