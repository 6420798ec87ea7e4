//! ResourceQuotas: what is used is counted again when a quota is there or something goes (kubernetes
//! `pkg/controller/resourcequota`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::client::{Agent, At, Client, Failed};
use super::feed::Seen;
use super::queue::Queue;
use crate::admission::{amounts, quota};
use crate::json::get;
use crate::registry::Registry;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::{EventType, GroupResource, NamespacedName};

const AGENT: Agent = Agent {
    program: "kube-controller-manager",
    user: "system:serviceaccount:kube-system:resourcequota-controller",
};

/// The controller of ResourceQuotas.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    /// The quotas that there are, by namespace.
    known: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    queue: Queue<NamespacedName>,
}

impl Quotas {
    /// Notes the quotas that an event changes the use of.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        let key = &seen.thing.key;
        if seen.is("", "resourcequotas") {
            self.follow(server, seen.change, key);
        }
        let Some(names) = self.known.get(&key.namespace) else {
            return;
        };
        if !frees(server, seen) {
            return;
        }
        for name in names {
            let quota = NamespacedName::new(&key.namespace, name);
            let held = server
                .store()
                .get(&quota::place(), &quota)
                .map(|held| held.value());
            let hard = held.as_ref().map(|held| get(get(held, "spec"), "hard"));
            if hard.is_some_and(|hard| quota::tracks(&seen.thing.place, hard)) {
                self.queue.add(quota);
            }
        }
    }

    /// Notes a quota, and whether its status is of another spec.
    fn follow(&mut self, server: &Server, change: EventType, key: &NamespacedName) {
        let names = self.known.entry(key.namespace.clone()).or_default();
        if change == EventType::Deleted {
            names.remove(&key.name);
            if names.is_empty() {
                self.known.remove(&key.namespace);
            }
            return;
        }
        let is_new = names.insert(key.name.clone());
        let held = server
            .store()
            .get(&quota::place(), key)
            .map(|held| held.value());
        let differs = held.is_some_and(|held| {
            let hard = |part| amounts::read(get(get(&held, part), "hard"));
            hard("spec") != hard("status")
        });
        if is_new || differs {
            self.queue.add(key.clone());
        }
    }

    /// Counts what one quota limits; says whether there was one to count.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(key) = self.queue.take(now) else {
            return false;
        };
        match sync(server, &key) {
            Ok(()) | Err(Failed::Absent) => self.queue.succeeded(&key),
            Err(_) => self.queue.failed(key, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }
}

/// Whether an event may lower what is used: admission notes what raises it.
fn frees(server: &Server, seen: &Seen) -> bool {
    if seen.change == EventType::Deleted {
        return true;
    }
    let now = server.seams().clock.wall();
    let held = || server.store().get(&seen.thing.place, &seen.thing.key);
    match seen.thing.place.plural.as_str() {
        "pods" if seen.change == EventType::Modified => {
            held().is_some_and(|pod| quota::is_settled_pod(&pod.value(), now))
        }
        "services" | "persistentvolumeclaims" => seen.change == EventType::Modified,
        _ => false,
    }
}

fn sync(server: &Server, key: &NamespacedName) -> Result<(), Failed> {
    let registry = server.registry();
    let resource = registry.find("", "v1", "resourcequotas");
    let resource = resource.ok_or(Failed::Absent)?;
    let held = server.store().get(&quota::place(), key);
    let held = held.ok_or(Failed::Absent)?.value();
    let now = server.seams().clock.wall();
    let places = namespaced(&registry);
    let counted = quota::calculated(
        server.store(),
        places.into_iter(),
        &key.namespace,
        &held,
        now,
    );
    let status = get(&held, "status");
    let hard = amounts::read(get(get(&held, "spec"), "hard"));
    let mut used = amounts::read(get(status, "used"));
    used.extend(counted);
    let used = amounts::masked(&used, |name| hard.contains_key(name));
    let same = |field: &str, amounts: &amounts::Amounts| {
        get(status, field).is_object() && amounts::read(get(status, field)) == *amounts
    };
    if same("hard", &hard) && same("used", &used) {
        return Ok(());
    }
    let mut quota = held.clone();
    let status =
        json!({ "hard": get(get(&held, "spec"), "hard"), "used": amounts::written(&used) });
    crate::meta::put(&mut quota, "status", status);
    let client = Client {
        server,
        agent: AGENT,
    };
    client.replace(At::status(resource, key), &quota)
}

/// Where the objects of all kinds lie that are in namespaces.
fn namespaced(registry: &Registry) -> Vec<GroupResource> {
    let mut places: Vec<GroupResource> = Vec::new();
    for resource in registry.all().iter().filter(|resource| resource.namespaced) {
        let place = resource.place();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
