//! Owners in another namespace than their dependent: they count as absent, and an event says so.

use serde_json::json;

use crate::controllers::client::{At, Client, core, resource_at};
use crate::controllers::feed::{Meta, Owner, Thing};
use crate::meta;
use crate::registry::Registry;
use crate::store::NamespacedName;

/// Whether an owner that is not where it should be is in another namespace.
pub(super) fn is_elsewhere(
    client: Client<'_>,
    registry: &Registry,
    dependent: &Thing,
    owner: &Owner,
) -> bool {
    let Some(resource) = registry.of_kind(&owner.api_version, &owner.kind) else {
        return false;
    };
    let Some(namespaces) = core(registry, "namespaces").filter(|_| resource.namespaced) else {
        return false;
    };
    let store = client.server.store();
    let namespaces = store.list(&namespaces.place(), None).entries;
    namespaces.iter().any(|namespace| {
        let key = NamespacedName::new(&namespace.key.name, &owner.name);
        let held =
            (key.namespace != dependent.key.namespace).then(|| store.get(&resource.place(), &key));
        held.flatten()
            .is_some_and(|held| Meta::of(&held).uid == owner.uid)
    })
}

/// Says in an event that an owner is in another namespace.
pub(super) fn tell(
    client: Client<'_>,
    registry: &Registry,
    dependent: &Thing,
    meta: &Meta,
    owner: &Owner,
) {
    let (Some(events), Some(resource)) = (
        core(registry, "events"),
        resource_at(registry, &dependent.place),
    ) else {
        return;
    };
    let (namespace, name) = (&*dependent.key.namespace, &*dependent.key.name);
    let seams = client.server.seams();
    let now = meta::time(seams.clock.wall());
    let key = NamespacedName::new(
        if namespace.is_empty() {
            "default"
        } else {
            namespace
        },
        "",
    );
    let mut involved = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind, "name": name, "uid": meta.uid,
    });
    if !namespace.is_empty() {
        meta::put(&mut involved, "namespace", namespace);
    }
    let Owner {
        api_version,
        kind,
        name: owner_name,
        uid,
        ..
    } = owner;
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": format!("{name}.{:016x}", seams.rng.number()), "namespace": &*key.namespace },
        "involvedObject": involved,
        "reason": "OwnerRefInvalidNamespace",
        "message": format!(
            "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {owner_name}, uid: {uid}] does \
             not exist in namespace {namespace:?}"
        ),
        "source": { "component": "garbage-collector-controller" },
        "reportingComponent": "garbage-collector-controller",
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Warning",
    });
    // An event that cannot be written is lost, as anywhere.
    let _ = client.create(At::new(events, &key), &event);
}
