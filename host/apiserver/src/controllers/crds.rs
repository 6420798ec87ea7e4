//! Deleted CRDs: their objects go first (apiextensions-apiserver `pkg/controller/finalizer`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed};
use super::feed::{Meta, Seen};
use super::queue::Queue;
use crate::conditions;
use crate::crd::names::{self, CLEANUP, Cleanup};
use crate::registry::{Origin, Registry, Resource};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::{GroupResource, NamespacedName};

const AGENT: Agent = Agent {
    program: "kube-apiserver",
    user: "system:apiserver",
};
/// How often the objects of a CRD are counted while they wait for finalizers.
const AGAIN: Duration = Duration::from_secs(5);

/// The controller that lets deleted CRDs go.
#[derive(Debug, Default)]
pub(super) struct Crds {
    queue: Queue<Box<str>>,
    /// Resources whose CRD waits for the last of their objects.
    ending: BTreeMap<GroupResource, Box<str>>,
}

impl Crds {
    /// Notes whom an event is about.
    pub(super) fn observe(&mut self, _server: &Server, seen: &Seen) {
        if seen.is("apiextensions.k8s.io", "customresourcedefinitions") {
            let name = &seen.thing.key.name;
            if seen.is_gone() {
                self.ending.retain(|_, crd| crd != name);
            } else if seen.meta.ends_with(CLEANUP) && !seen.before.ends_with(CLEANUP) {
                self.queue.add(name.clone());
            }
        } else if seen.is_gone()
            && let Some(crd) = self.ending.get(&seen.thing.place)
        {
            self.queue.add(crd.clone());
        }
    }

    /// Works on one CRD; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        let Some(name) = self.queue.take(now) else {
            return false;
        };
        match self.end(server, &name) {
            Ok(None) | Err(Failed::Absent) => self.queue.succeeded(&name),
            Ok(Some(again)) => self.queue.add_at(name, now + again),
            Err(Failed::Changed) => self.queue.add(name),
            Err(Failed::Refused(_)) => self.queue.failed(name, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }

    /// Takes a step towards the end of a CRD; answers when to look again.
    fn end(&mut self, server: &Server, name: &str) -> Result<Option<Duration>, Failed> {
        let registry = server.registry();
        let definitions = registry
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .ok_or(Failed::Absent)?;
        let key = NamespacedName::new("", name);
        let held = || {
            server
                .store()
                .get(&definitions.place(), &key)
                .ok_or(Failed::Absent)
        };
        let entry = held()?;
        let meta = Meta::of(&entry);
        if !meta.ends_with(CLEANUP) {
            return Ok(None);
        }
        let client = Client {
            server,
            agent: AGENT,
        };
        let say = |how_far| {
            let mut object = held()?.value();
            let before = object.clone();
            names::cleanup(&mut object, how_far, server.seams().clock.wall());
            if object == before {
                return Ok(());
            }
            client.replace(At::status(definitions, &key), &object)
        };
        say(Cleanup::InProgress)?;
        let Some(resource) = established(&registry, &entry.value(), name) else {
            say(Cleanup::NeverEstablished)?;
            return Ok(None);
        };
        delete_all(client, resource)?;
        if !server
            .store()
            .list(&resource.place(), None)
            .entries
            .is_empty()
        {
            self.ending.insert(resource.place(), name.into());
            return Ok(Some(AGAIN));
        }
        say(Cleanup::Completed)?;
        Ok(None)
    }
}

/// What a CRD serves, if it was ever established.
fn established<'a>(registry: &'a Registry, crd: &Value, name: &str) -> Option<&'a Arc<Resource>> {
    if !conditions::is_true(crd, "Established") {
        return None;
    }
    let mut all = registry.all().iter();
    all.find(|resource| matches!(&resource.origin, Origin::Custom { crd, .. } if crd == name))
}

/// Deletes all objects of a resource, a namespace at a time.
fn delete_all(client: Client<'_>, resource: &Resource) -> Result<(), Failed> {
    let entries = client.server.store().list(&resource.place(), None).entries;
    let namespaces: BTreeSet<&str> = entries.iter().map(|entry| &*entry.key.namespace).collect();
    for namespace in namespaces {
        client.delete_all(
            At::new(resource, &NamespacedName::new(namespace, "")),
            &json!({}),
        )?;
    }
    Ok(())
}
