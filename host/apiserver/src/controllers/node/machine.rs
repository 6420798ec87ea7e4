//! What the node says about itself.

use serde_json::{Value, json};

use crate::seams::Seams;
use crate::write::meta;

/// The node's address, of those that documents use.
pub(super) const ADDRESS: &str = "192.0.2.10";

/// The node's object.
pub(super) fn node(name: &str, seams: &Seams) -> Value {
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
