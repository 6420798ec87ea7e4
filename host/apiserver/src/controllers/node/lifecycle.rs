//! The taints that follow from what a node says about itself, and from a cordon (kubernetes
//! `pkg/controller/nodelifecycle/node_lifecycle_controller.go`, `doNoScheduleTaintingPass`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::MANAGER;
use super::pods::status;
use crate::controllers::client::{At, Client, Failed, core};
use crate::json::{list_at, text};
use crate::server::Server;
use crate::store::NamespacedName;
use crate::{conditions, meta};

const EFFECT: &str = "NoSchedule";
const CORDON: &str = "node.kubernetes.io/unschedulable";
/// Conditions, the status that is bad, and the taint of it.
const CONDITIONS: [(&str, &str, &str); 6] = [
    ("Ready", "False", "node.kubernetes.io/not-ready"),
    ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
    (
        "MemoryPressure",
        "True",
        "node.kubernetes.io/memory-pressure",
    ),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The taints that a node should have, unless it has them.
fn taints(node: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let conditions = list_at(node, "/status/conditions");
    let is = |kind: &str, status: &str| {
        let mut all = conditions.iter();
        all.any(|held| text(held, "type") == kind && text(held, "status") == status)
    };
    let bad = CONDITIONS
        .iter()
        .filter(|(kind, status, _)| is(kind, status));
    let mut wanted: Vec<&str> = bad.map(|(_, _, taint)| *taint).collect();
    if node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        wanted.push(CORDON);
    }
    let held = list_at(node, "/spec/taints");
    let is_own = |taint: &Value| {
        let key = text(taint, "key");
        let known = key == CORDON || CONDITIONS.iter().any(|(_, _, known)| *known == key);
        known && text(taint, "effect") == EFFECT
    };
    let own: Vec<&str> = { held.iter().filter(|taint| is_own(taint)) }
        .map(|taint| text(taint, "key"))
        .collect();
    let mut added = wanted
        .iter()
        .filter(|key| !own.contains(key))
        .map(|key| json!({ "key": key, "effect": EFFECT, "timeAdded": meta::time(now) }))
        .peekable();
    let stays = |taint: &&Value| !is_own(taint) || wanted.contains(&text(taint, "key"));
    if added.peek().is_none() && held.iter().all(|taint| stays(&taint)) {
        return None;
    }
    let kept = held.iter().filter(stays).cloned();
    Some(kept.chain(added).collect())
}

/// Gives a node the taints that it should have.
pub(super) fn follow(server: &Server, key: &NamespacedName) -> Result<(), Failed> {
    let registry = server.registry();
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let held = server.store().get(&nodes.place(), key);
    let node = held.ok_or(Failed::Absent)?.value();
    let Some(taints) = taints(&node, server.seams().clock.wall()) else {
        return Ok(());
    };
    let agent = MANAGER;
    let patch = json!({
        "metadata": { "resourceVersion": meta::text(&node, "resourceVersion") },
        "spec": { "taints": taints },
    });
    Client { server, agent }.merge(At::new(nodes, key), &patch)
}

/// Says on a pod that nobody hears of its node, unless it says so.
pub(super) fn lose(server: &Server, key: &NamespacedName, pod: Value) -> Result<(), Failed> {
    if !conditions::is_true(&pod, "Ready") {
        return Ok(());
    }
    let registry = server.registry();
    let pods = core(&registry, "pods").ok_or(Failed::Absent)?;
    let lost = status::lost(pod, server.seams().clock.wall());
    let agent = MANAGER;
    Client { server, agent }.replace(At::status(pods, key), &lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_follow_conditions_and_cordons_and_others_stay() {
        let now = "2026-11-21T09:30:00Z".parse().unwrap();
        let keys = |taints: Vec<Value>| -> Vec<String> {
            taints
                .iter()
                .map(|taint| text(taint, "key").to_owned())
                .collect()
        };
        let ready = |status: &str| json!([{ "type": "Ready", "status": status }]);
        let mine = json!({ "key": "mine", "effect": "NoSchedule" });
        let fresh = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
        let evicts = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoExecute" });
        let node = |spec: Value, status: &str| json!({ "spec": spec, "status": { "conditions": ready(status) } });
        let all = node(json!({ "taints": [mine, fresh, evicts] }), "True");
        assert_eq!(
            keys(taints(&all, now).unwrap()),
            ["mine", "node.kubernetes.io/not-ready"]
        );
        assert_eq!(
            taints(&node(json!({ "taints": [mine] }), "True"), now),
            None
        );
        assert_eq!(
            taints(&node(json!({ "taints": [fresh] }), "False"), now),
            None
        );
        let cordoned = taints(&node(json!({ "unschedulable": true }), "True"), now).unwrap();
        assert_eq!(
            cordoned,
            [json!({ "key": CORDON, "effect": "NoSchedule", "timeAdded": "2026-11-21T09:30:00Z" })]
        );
        let back = node(json!({ "taints": cordoned }), "True");
        assert_eq!(taints(&back, now), Some(Vec::new()));
    }
}
