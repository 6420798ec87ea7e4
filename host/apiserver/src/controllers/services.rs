//! APIServices: one for each group and version that is served (kube-aggregator `pkg/controllers/autoregister`
//! and kubernetes `pkg/controlplane/controller/crdregistration`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed};
use super::feed::Seen;
use super::queue::Queue;
use crate::meta;
use crate::registry::{Origin, Registry};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::NamespacedName;

const AGENT: Agent = Agent {
    program: "kube-apiserver",
    user: "system:apiserver",
};
const GROUP: &str = "apiregistration.k8s.io";
/// Whom the server keeps in line, and how long.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// How groups come one after another (kubernetes `pkg/controlplane/apiserver/aggregator.go`). Its own group has
/// no APIService.
const PRIORITIES: &[(&str, i32)] = &[
    ("", 18_000),
    ("apps", 17_800),
    ("events.k8s.io", 17_750),
    ("authentication.k8s.io", 17_700),
    ("authorization.k8s.io", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates.k8s.io", 17_300),
    ("networking.k8s.io", 17_200),
    ("policy", 17_100),
    ("rbac.authorization.k8s.io", 17_000),
    ("storage.k8s.io", 16_800),
    ("apiextensions.k8s.io", 16_700),
    ("admissionregistration.k8s.io", 16_700),
    ("scheduling.k8s.io", 16_600),
    ("coordination.k8s.io", 16_500),
    ("node.k8s.io", 16_300),
    ("discovery.k8s.io", 16_200),
    ("resource.k8s.io", 16_200),
    ("flowcontrol.apiserver.k8s.io", 16_100),
];

/// The controller of APIServices.
#[derive(Debug)]
pub(super) struct Services {
    /// Whether to look at all of them.
    queue: Queue<()>,
}

impl Default for Services {
    fn default() -> Self {
        let mut queue = Queue::default();
        queue.add(());
        Self { queue }
    }
}

impl Services {
    /// Other kinds are served than before.
    pub(super) fn kinds_changed(&mut self) {
        self.queue.add(());
    }

    /// Notes whether an event is about an APIService.
    pub(super) fn observe(&mut self, seen: &Seen) {
        if seen.is(GROUP, "apiservices") {
            self.queue.add(());
        }
    }

    /// Looks at all APIServices if there is a reason to; says whether there was.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        if self.queue.take(now).is_none() {
            return false;
        }
        match follow(server) {
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

fn follow(server: &Server) -> Result<(), Failed> {
    let registry = server.registry();
    let resource = registry
        .find(GROUP, "v1", "apiservices")
        .ok_or(Failed::Absent)?;
    let client = Client {
        server,
        agent: AGENT,
    };
    let wanted = wanted(&registry);
    let place = resource.place();
    for (name, service) in &wanted {
        let key = NamespacedName::new("", name);
        if server.store().get(&place, &key).is_none() {
            client.create(At::new(resource, &key), service)?;
        }
    }
    for entry in server.store().list(&place, None).entries {
        let held = entry.value();
        let managed = meta::get(&held, "labels").and_then(|labels| labels.get(MANAGED));
        let managed = managed.is_some_and(|managed| managed == "true");
        if managed && !wanted.contains_key(&*entry.key.name) {
            client.delete(At::new(resource, &entry.key), &json!({}))?;
        }
    }
    Ok(())
}

/// What is there for the kinds that are served, by name.
fn wanted(registry: &Registry) -> BTreeMap<String, Value> {
    let mut services = BTreeMap::new();
    for resource in registry.all() {
        let (group, version) = (resource.group.as_str(), resource.version.as_str());
        let built_in = resource.origin == Origin::BuiltIn;
        let known = PRIORITIES.iter().find(|(name, _)| *name == group);
        let (of_group, of_version) = match (known, built_in) {
            (_, false) => (1000, 100),
            (None, true) => continue,
            (Some((_, priority)), true) => (*priority, version_priority(group, version)),
        };
        let mut spec = json!({
            "version": version,
            "groupPriorityMinimum": of_group,
            "versionPriority": of_version,
        });
        if !group.is_empty() {
            meta::put(&mut spec, "group", group);
        }
        let name = format!("{version}.{group}");
        let managed = if built_in { "onstart" } else { "true" };
        let service = json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": { "name": name, "labels": { MANAGED: managed } },
            "spec": spec,
        });
        services.insert(name, service);
    }
    services
}

fn version_priority(group: &str, version: &str) -> i32 {
    match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("resource.k8s.io" | "flowcontrol.apiserver.k8s.io", "v1") => 21,
        _ => 15,
    }
}
