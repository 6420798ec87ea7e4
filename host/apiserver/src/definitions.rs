//! What is served because of CustomResourceDefinitions: brought up to date whenever one is written.

use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::crd::{self, names};
use crate::fields::{self, Set, Writer};
use crate::registry::{Origin, Registry, Resource};
use crate::server::Server;
use crate::store::{Entry, Key, Place, Write};

/// Who writes the status of definitions.
const MANAGER: &str = "kube-apiserver";
const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// Whether the objects of a resource are definitions.
pub fn is_crd(resource: &Resource) -> bool {
    resource.plural == "customresourcedefinitions" && resource.group == "apiextensions.k8s.io"
}

/// Where definitions lie.
pub fn place() -> Place {
    Place {
        group: "apiextensions.k8s.io".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    }
}

/// Accepts names, establishes what has them, and serves what is established.
pub(crate) fn follow(server: &Server) {
    let now = server.seams().clock.wall();
    let all = || -> Vec<(Arc<Entry>, Value)> {
        let entries = server.store().list(&place(), None).entries.into_iter();
        entries
            .map(|entry| (Arc::clone(&entry), entry.value()))
            .collect()
    };
    // Each step is a write of its own, as on the real server.
    let held = all();
    for (entry, definition) in &held {
        let group = definition.pointer("/spec/group");
        let same = held.iter().map(|(_, other)| other);
        let same = same.filter(|other| other.pointer("/spec/group") == group);
        write(
            server,
            entry,
            definition,
            names::accept(definition, same, now),
        );
    }
    for step in [names::approve, names::establish] {
        for (entry, definition) in all() {
            write(server, &entry, &definition, step(&definition, now));
        }
    }
    let mut resources = builtin::resources();
    let served = server.registry();
    for (entry, definition) in all() {
        let same = |resource: &&Arc<Resource>| match &resource.origin {
            Origin::Custom { crd, .. } => *crd == *entry.key.name,
            Origin::BuiltIn => false,
        };
        let before = served.all().iter().find(same);
        let before = before.and_then(|resource| resource.kept.as_ref());
        resources.extend(
            crd::resources(&definition, before)
                .into_iter()
                .map(Arc::new),
        );
    }
    server.serve(Registry::new(resources));
}

/// Writes a new status; another write that came first is followed in its turn.
fn write(server: &Server, entry: &Arc<Entry>, old: &Value, new: Option<Value>) {
    let Some(new) = new else {
        return;
    };
    let writer = Writer {
        manager: MANAGER,
        api_version: API_VERSION,
        kind: "CustomResourceDefinition",
        versions: &[API_VERSION],
        schemas: &[],
        subresource: "status",
        now: server.seams().clock.wall(),
    };
    let anything = crate::schema::anything();
    let registry = server.registry();
    let resource = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let schema = resource
        .and_then(|resource| resource.schema())
        .unwrap_or(&anything);
    let new = fields::update(Some(old), new, schema.view(), &writer, &Set::default());
    let key: Key = entry.key.clone();
    let _ = server
        .store()
        .write(&place(), key, Some(entry.revision), Write::Put(new));
}
