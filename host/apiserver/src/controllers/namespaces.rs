//! The life of namespaces: what each has from the beginning, and how it goes with all that is in it.

mod contents;
mod status;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Agent, At, Client, Failed, core};
use super::feed::{Meta, Seen};
use super::queue::Queue;
use crate::json::texts_at;
use crate::meta;
use crate::options::controllers as names;
use crate::registry::{Registry, Resource};
use crate::seams::Instant;
use crate::server::Server;
use crate::store::{Entry, NamespacedName};
use contents::Emptied;

const AGENT: Agent = Agent {
    program: "kube-controller-manager",
    user: "system:serviceaccount:kube-system:namespace-controller",
};
const ACCOUNTS: Agent = Agent {
    user: "system:serviceaccount:kube-system:service-account-controller",
    ..AGENT
};
const PUBLISHER: Agent = Agent {
    user: "system:serviceaccount:kube-system:root-ca-cert-publisher",
    ..AGENT
};
/// The finalizer in `spec.finalizers` that this controller takes away.
const KUBERNETES: &str = "kubernetes";
/// The service account that each namespace has.
const ACCOUNT: &str = "default";
/// The ConfigMap that each namespace has.
const ROOT_CA: &str = "kube-root-ca.crt";
const ABOUT: &str = "kubernetes.io/description";
const ABOUT_ROOT_CA: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using \
     internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
     guaranteed across distributions of Kubernetes clusters.";
/// How soon a change in a namespace that is going away is looked at.
const SOON: Duration = Duration::from_millis(50);

/// The controllers of namespaces, of default service accounts, and of the published root certificates.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// Namespaces that may lack something.
    furnish: Queue<Box<str>>,
    /// Namespaces that are going away.
    empty: Queue<Box<str>>,
    /// Those of them whose contents have been looked at.
    emptying: BTreeSet<Box<str>>,
}

impl Namespaces {
    /// Notes whom an event is about.
    pub(super) fn observe(&mut self, server: &Server, seen: &Seen) {
        let now = server.seams().clock.instant();
        let NamespacedName { namespace, name } = &seen.thing.key;
        let empties = server.options().controllers.runs(names::NAMESPACES);
        if seen.is("", "namespaces") {
            if seen.is_gone() {
                self.emptying.remove(name);
            } else if !seen.meta.is_deleting() {
                self.furnish.add(name.clone());
            } else if empties && !seen.before.is_deleting() {
                self.empty
                    .add_at(name.clone(), now + server.options().namespace_delay);
            }
            return;
        }
        let account = seen.is("", "serviceaccounts") && seen.is_gone() && &**name == ACCOUNT;
        let root_ca = seen.is("", "configmaps") && &**name == ROOT_CA;
        if account || root_ca {
            self.furnish.add(namespace.clone());
        }
        if self.emptying.contains(namespace) {
            self.empty.add_at(namespace.clone(), now + SOON);
        }
    }

    /// Works on one namespace; says whether there was one.
    pub(super) fn work(&mut self, server: &Server) -> bool {
        let now = server.seams().clock.instant();
        if let Some(name) = self.furnish.take(now) {
            match furnish(server, &name) {
                Ok(()) | Err(Failed::Absent) => self.furnish.succeeded(&name),
                Err(_) => self.furnish.failed(name, now),
            }
            return true;
        }
        let Some(name) = self.empty.take(now) else {
            return false;
        };
        match self.empty(server, &name) {
            Ok(again) => {
                self.empty.succeeded(&name);
                if let Some(again) = again {
                    self.empty.add_at(name, now + again);
                }
            }
            Err(Failed::Absent) => self.empty.succeeded(&name),
            Err(_) => self.empty.failed(name, now),
        }
        true
    }

    /// When there is something to do again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.furnish.due().into_iter().chain(self.empty.due()).min()
    }

    /// Takes a step towards the end of a namespace; answers when to look again.
    fn empty(&mut self, server: &Server, name: &str) -> Result<Option<Duration>, Failed> {
        let registry = server.registry();
        let (resource, entry) = namespace(server, &registry, name)?;
        let client = Client {
            server,
            agent: AGENT,
        };
        let object = entry.value();
        if !meta::is_deleting(&object) || finalizers(&object).is_empty() {
            return Ok(None);
        }
        self.emptying.insert(name.into());
        let emptied = contents::delete(client, &registry, &object);
        let (_, entry) = namespace(server, &registry, name)?;
        let mut object = entry.value();
        if status::update(&mut object, &emptied, server.seams().clock.wall()) {
            client.replace(At::status(resource, &entry.key), &object)?;
        }
        if !emptied.errors.is_empty() {
            return Err(Failed::Refused(emptied.errors.join(", ")));
        }
        match again(&emptied) {
            None => finalize(client, &registry, name).map(|()| None),
            again => Ok(again),
        }
    }
}

/// How long to wait for what remains.
fn again(emptied: &Emptied) -> Option<Duration> {
    let seconds = emptied.estimate;
    (seconds > 0).then(|| Duration::from_secs(seconds.unsigned_abs() / 2 + 1))
}

fn namespace<'a>(
    server: &Server,
    registry: &'a Registry,
    name: &str,
) -> Result<(&'a Arc<Resource>, Arc<Entry>), Failed> {
    let resource = core(registry, "namespaces").ok_or(Failed::Absent)?;
    let held = server
        .store()
        .get(&resource.place(), &NamespacedName::new("", name));
    Ok((resource, held.ok_or(Failed::Absent)?))
}

fn finalizers(namespace: &Value) -> Vec<&str> {
    texts_at(namespace, "/spec/finalizers").collect()
}

/// Lets an empty namespace go, as far as this controller is concerned.
fn finalize(client: Client<'_>, registry: &Registry, name: &str) -> Result<(), Failed> {
    let (resource, entry) = namespace(client.server, registry, name)?;
    let mut object = entry.value();
    let rest: BTreeSet<&str> = finalizers(&object)
        .into_iter()
        .filter(|name| *name != KUBERNETES)
        .collect();
    let rest = json!(rest);
    meta::set_in(&mut object, "spec", "finalizers", Some(rest));
    let at = At {
        subresource: Some("finalize"),
        ..At::new(resource, &entry.key)
    };
    client.replace(at, &object)
}

/// Gives a namespace what each has.
fn furnish(server: &Server, name: &str) -> Result<(), Failed> {
    let registry = server.registry();
    let (_, entry) = namespace(server, &registry, name)?;
    if Meta::of(&entry).is_deleting() {
        return Ok(());
    }
    let controllers = &server.options().controllers;
    let accounts = core(&registry, "serviceaccounts").ok_or(Failed::Absent)?;
    let key = NamespacedName::new(name, ACCOUNT);
    let furnishes = controllers.runs(names::SERVICE_ACCOUNTS);
    if furnishes && server.store().get(&accounts.place(), &key).is_none() {
        let client = Client {
            server,
            agent: ACCOUNTS,
        };
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": ACCOUNT, "namespace": name },
        });
        client.create(At::new(accounts, &key), &account)?;
    }
    match &server.options().ca {
        Some(ca) if controllers.runs(names::ROOT_CERTIFICATES) => {
            publish(server, &registry, name, ca)
        }
        _ => Ok(()),
    }
}

/// Keeps the server's root certificates in a namespace.
fn publish(server: &Server, registry: &Registry, namespace: &str, ca: &str) -> Result<(), Failed> {
    let maps = core(registry, "configmaps").ok_or(Failed::Absent)?;
    let key = NamespacedName::new(namespace, ROOT_CA);
    let at = At::new(maps, &key);
    let client = Client {
        server,
        agent: PUBLISHER,
    };
    let data = json!({ "ca.crt": ca });
    let Some(held) = server.store().get(&maps.place(), &key) else {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": ROOT_CA, "namespace": namespace, "annotations": { ABOUT: ABOUT_ROOT_CA },
            },
            "data": data,
        });
        return client.create(at, &map);
    };
    let mut object = held.value();
    let mut annotations = meta::get(&object, "annotations")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let about = annotations
        .get(ABOUT)
        .and_then(Value::as_str)
        .unwrap_or_default();
    if object.get("data") == Some(&data) && !about.is_empty() {
        return Ok(());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(ABOUT.to_owned(), ABOUT_ROOT_CA.into());
    }
    meta::set(&mut object, "annotations", Some(annotations));
    if let Some(object) = object.as_object_mut() {
        object.insert("data".to_owned(), data);
    }
    client.replace(at, &object)
}
