//! What is in a namespace goes, kind by kind
//! (kubernetes `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::client::{At, Client, Failed};
use crate::controllers::feed::Meta;
use crate::meta;
use crate::registry::{Registry, Resource};
use crate::store::{Entry, NamespacedName};

/// How long finalizers are given, in seconds.
const FINALIZERS_TAKE: i64 = 15;

/// What a pass over a namespace's contents came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Emptied {
    /// How many objects remain, by `plural.group`.
    pub(super) remaining: BTreeMap<String, usize>,
    /// How many objects remain because of a finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// What went wrong.
    pub(super) errors: Vec<String>,
    /// In how many seconds what remains may have gone; 0 if nothing does.
    pub(super) estimate: i64,
}

/// Deletes everything in a namespace: pods first, and the rest when they have gone.
pub(super) fn delete(client: Client<'_>, registry: &Registry, namespace: &Value) -> Emptied {
    let name = meta::text(namespace, "name");
    let deleted_at: Option<Timestamp> = meta::text(namespace, "deletionTimestamp").parse().ok();
    let now = client.server.seams().clock.wall();
    let age = deleted_at.map_or(0, |at| now.duration_since(at).as_secs());
    let mut emptied = Emptied::default();
    let all = preferred(registry);
    let (pods, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|resource| resource.group.is_empty() && resource.plural == "pods");
    for resource in pods {
        emptied.add(resource, delete_kind(client, resource, name, age));
    }
    if !emptied.remaining.is_empty() {
        // The real one does not say what remains as long as pods do.
        emptied.remaining.clear();
        emptied.finalizers.clear();
        return emptied;
    }
    for resource in rest {
        emptied.add(resource, delete_kind(client, resource, name, age));
    }
    emptied
}

/// Each resource that lies in namespaces and can be deleted, in one version.
fn preferred(registry: &Registry) -> Vec<&Arc<Resource>> {
    let mut chosen: Vec<&Arc<Resource>> = Vec::new();
    for resource in registry.all() {
        let deletable = resource.has_verb("delete");
        let known = chosen.iter().any(|known| known.place() == resource.place());
        if resource.namespaced && deletable && !known {
            chosen.push(resource);
        }
    }
    chosen
}

/// What remains of a kind.
#[derive(Debug, Default)]
struct Rest {
    count: usize,
    finalizers: BTreeMap<String, usize>,
    estimate: i64,
    error: Option<String>,
}

fn delete_kind(client: Client<'_>, resource: &Resource, namespace: &str, age: i64) -> Rest {
    let entries = || {
        client
            .server
            .store()
            .list(&resource.place(), Some(namespace))
            .entries
    };
    let held = entries();
    if held.is_empty() {
        return Rest::default();
    }
    let mut rest = Rest {
        estimate: grace(resource, &held)
            .filter(|seconds| *seconds > age)
            .unwrap_or(0),
        ..Rest::default()
    };
    let nobody = NamespacedName::new(namespace, "");
    let background = json!({ "propagationPolicy": "Background" });
    if let Err(Failed::Refused(why)) = client.delete_all(At::new(resource, &nobody), &background) {
        rest.error = Some(why);
        return rest;
    }
    let held = entries();
    rest.count = held.len();
    for entry in &held {
        for finalizer in Meta::of(entry).finalizers {
            *rest.finalizers.entry(finalizer).or_default() += 1;
        }
    }
    if rest.estimate == 0 && rest.count > 0 {
        if rest.finalizers.is_empty() {
            let Resource {
                group,
                version,
                plural,
                ..
            } = resource;
            rest.error = Some(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, \
                 Resource={plural}"
            ));
        } else {
            rest.estimate = FINALIZERS_TAKE;
        }
    }
    rest
}

/// How many seconds the pods of a namespace are given.
fn grace(resource: &Resource, held: &[Arc<Entry>]) -> Option<i64> {
    if !resource.group.is_empty() || resource.plural != "pods" {
        return None;
    }
    let seconds = held.iter().filter_map(|entry| {
        let pod = entry.value();
        let phase = pod.pointer("/status/phase").and_then(Value::as_str);
        let seconds = pod
            .pointer("/spec/terminationGracePeriodSeconds")
            .and_then(Value::as_i64);
        seconds.filter(|_| !matches!(phase, Some("Succeeded" | "Failed")))
    });
    seconds.max()
}

impl Emptied {
    fn add(&mut self, resource: &Resource, rest: Rest) {
        self.errors.extend(rest.error);
        self.estimate = self.estimate.max(rest.estimate);
        if rest.count > 0 {
            self.remaining.insert(
                format!("{}.{}", resource.plural, resource.group),
                rest.count,
            );
        }
        for (finalizer, count) in rest.finalizers {
            *self.finalizers.entry(finalizer).or_default() += count;
        }
    }
}
