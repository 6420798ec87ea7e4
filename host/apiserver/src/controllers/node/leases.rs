//! Leases: by one the node says that it lives, by others it sees who else controls the cluster.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::KUBELET;
use super::scheduler::micros;
use crate::controllers::client::{At, Client, Failed, core};
use crate::meta;
use crate::server::Server;
use crate::store::NamespacedName;

const GROUP: &str = "coordination.k8s.io";
/// How long the node counts as alive after it has said so.
const SECONDS: i64 = 40;

/// Whether somebody leads a component of the control plane, such as `kube-scheduler`, by its Lease.
pub(super) fn is_led(server: &Server, component: &str) -> bool {
    let registry = server.registry();
    let Some(leases) = registry.find(GROUP, "v1", "leases") else {
        return false;
    };
    let key = NamespacedName::new("kube-system", component);
    let held = server.store().get(&leases.place(), &key);
    held.is_some_and(|held| is_current(&held.value(), server.seams().clock.wall()))
}

fn is_current(lease: &Value, now: Timestamp) -> bool {
    let text = |at: &str| {
        lease
            .pointer(at)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let seconds = lease
        .pointer("/spec/leaseDurationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let renewed: Option<Timestamp> = text("/spec/renewTime").parse().ok();
    let ends =
        renewed.and_then(|renewed| renewed.checked_add(SignedDuration::from_secs(seconds)).ok());
    !text("/spec/holderIdentity").is_empty() && ends.is_some_and(|ends| now < ends)
}

/// Says that this node lives, as a kubelet does.
pub(super) fn renew(server: &Server, name: &str) -> Result<(), Failed> {
    let registry = server.registry();
    let leases = registry.find(GROUP, "v1", "leases").ok_or(Failed::Absent)?;
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let node = server
        .store()
        .get(&nodes.place(), &NamespacedName::new("", name))
        .ok_or(Failed::Absent)?
        .value();
    let key = NamespacedName::new("kube-node-lease", name);
    let agent = KUBELET;
    let client = Client { server, agent };
    let spec = json!({
        "holderIdentity": name,
        "leaseDurationSeconds": SECONDS,
        "renewTime": micros(server),
    });
    if server.store().get(&leases.place(), &key).is_some() {
        return client.merge(At::new(leases, &key), &json!({ "spec": spec }));
    }
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": name, "uid": meta::text(&node, "uid") });
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": name, "namespace": "kube-node-lease", "ownerReferences": [owner] },
        "spec": spec,
    });
    client.create(At::new(leases, &key), &lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_led_while_its_lease_lasts() {
        let lease = |holder: &str| {
            json!({ "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-11-21T09:30:00.000000Z",
            } })
        };
        let at = |text: &str| text.parse().unwrap();
        assert!(is_current(&lease("a"), at("2026-11-21T09:30:14Z")));
        assert!(!is_current(&lease("a"), at("2026-11-21T09:30:15Z")));
        assert!(!is_current(&lease(""), at("2026-11-21T09:30:14Z")));
        assert!(!is_current(&json!({}), at("2026-11-21T09:30:14Z")));
    }
}
