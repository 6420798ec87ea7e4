//! What the node says about itself.

use serde_json::{Value, json};

use super::{KUBELET, NAME};
use crate::controllers::client::{At, Client, Failed, core};
use crate::meta;
use crate::seams::Seams;
use crate::server::Server;
use crate::store::NamespacedName;

/// The node's address, of those that documents use.
pub(super) const ADDRESS: &str = "192.0.2.10";

/// Creates the node's object, unless it is there.
pub(super) fn register(server: &Server) -> Result<(), Failed> {
    let registry = server.registry();
    let nodes = core(&registry, "nodes").ok_or(Failed::Absent)?;
    let key = NamespacedName::new("", NAME);
    if server.store().get(&nodes.place(), &key).is_some() {
        return Ok(());
    }
    let client = Client {
        server,
        agent: KUBELET,
    };
    let own = node(NAME, server.seams());
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

/// The node's object.
fn node(name: &str, seams: &Seams) -> Value {
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
        "spec": { "podCIDR": "10.244.0.0/16", "podCIDRs": ["10.244.0.0/16"] },
        "status": {
            "addresses": [
                { "type": "InternalIP", "address": ADDRESS },
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
