//! What the nodes say about themselves.

use serde_json::{Value, json};

use super::{KUBELET, MANAGER, name_of, number_of};
use crate::controllers::client::{At, Client, Failed, core};
use crate::json::text_at;
use crate::seams::Seams;
use crate::server::Server;
use crate::store::NamespacedName;
use crate::{conditions, meta};

/// Where a node has the annotation `nodes.windlass.dev/simulate`: with `down`, it stops.
pub const SIMULATE: &str = "/metadata/annotations/nodes.windlass.dev~1simulate";

/// Why a node that is down is not ready.
const LOST: &str = "NodeStatusUnknown";

/// The address of a node: of those that documents use, and that benchmarks use.
pub fn address(name: &str) -> String {
    match number_of(name) {
        None | Some(0 | 1) => "192.0.2.10".to_owned(),
        Some(number) => {
            let [_, _, middle, low] = number.to_be_bytes();
            format!("198.18.{middle}.{low}")
        }
    }
}

/// Creates the objects of the nodes that are not there.
pub(super) fn register(server: &Server) -> Result<(), Failed> {
    (1..=server.options().nodes).try_for_each(|number| register_one(server, number))
}

fn register_one(server: &Server, number: u32) -> Result<(), Failed> {
    let registry = server.registry();
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let name = name_of(number);
    let key = NamespacedName::new("", &name);
    if server.store().get(&nodes.place(), &key).is_some() {
        return Ok(());
    }
    let client = Client {
        server,
        agent: KUBELET,
    };
    let own = node(number, server.seams());
    client.create(At::new(nodes, &key), &own)?;
    let held = server
        .store()
        .get(&nodes.place(), &key)
        .ok_or(Failed::Absent)?;
    let mut object = held.value();
    if let Some(status) = own.get("status") {
        meta::put(&mut object, "status", status.clone());
    }
    client.replace(At::status(nodes, &key), &object)
}

/// Makes the condition `Ready` of a node fit what somebody wants of it. Returns whether it is down.
///
/// A control plane notices after 40 s that nobody hears of a node. Here it does so at once.
pub(super) fn follow_power(server: &Server, key: &NamespacedName) -> Result<bool, Failed> {
    let registry = server.registry();
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let held = server.store().get(&nodes.place(), key);
    let mut node = held.ok_or(Failed::Absent)?.value();
    let is_down = text_at(&node, SIMULATE) == "down";
    let (status, reason, message, agent) = if is_down {
        let message = "Kubelet stopped posting node status.";
        ("Unknown", LOST, message, MANAGER)
    } else {
        (
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
            KUBELET,
        )
    };
    // What somebody else says about the node stays.
    let ready = conditions::get(&node, "Ready").and_then(|ready| ready.get("reason"));
    if (ready.and_then(Value::as_str) == Some(LOST)) == is_down {
        return Ok(is_down);
    }
    let now = meta::time(server.seams().clock.wall());
    let condition = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    conditions::put(&mut node, condition);
    let client = Client { server, agent };
    client.replace(At::status(nodes, key), &node)?;
    Ok(is_down)
}

/// The object of a node.
pub fn node(number: u32, seams: &Seams) -> Value {
    let name = name_of(number);
    let [_, _, high, low] = number.saturating_sub(1).to_be_bytes();
    let pods = format!("10.{}.{low}.0/24", 244_u8.saturating_add(high));
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let now = meta::time(seams.clock.wall());
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let room = json!({
        "cpu": "8",
        "ephemeral-storage": "100Gi",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "32Gi",
        "pods": "110",
    });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": architecture,
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": architecture,
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
        },
        "spec": { "podCIDR": pods, "podCIDRs": [pods] },
        "status": {
            "addresses": [
                { "type": "InternalIP", "address": address(&name) },
                { "type": "Hostname", "address": name },
            ],
            "allocatable": room,
            "capacity": room,
            "conditions": [
                condition(
                    "MemoryPressure",
                    "False",
                    "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available",
                ),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition(
                    "PIDPressure",
                    "False",
                    "KubeletHasSufficientPID",
                    "kubelet has sufficient PID available",
                ),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
            "nodeInfo": {
                "architecture": architecture,
                "bootID": seams.rng.uid(),
                "containerRuntimeVersion": "windlass://0.1.0",
                "kernelVersion": "simulated",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.36.4",
                "machineID": seams.rng.uid().replace('-', ""),
                "operatingSystem": "linux",
                "osImage": "Windlass (simulated)",
                "systemUUID": seams.rng.uid(),
            },
        },
    })
}
