//! What a pod asks of a node, and what the pods on a node take.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::builtin::quantity::Amount;
use crate::builtin::resources;
use crate::json::{list, text};

/// One of something, in billionths.
pub(super) const ONE: i128 = 1_000_000_000;

/// A port of the node: its protocol, its address (empty for all), and its number.
type Port = (String, String, i64);

/// What a pod asks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::controllers::node) struct PodRequests {
    /// In billionths, by resource.
    pub(super) requests: BTreeMap<String, i128>,
    pub(super) ports: BTreeSet<Port>,
}

/// What the pods on a node take.
#[derive(Clone, Debug, Default)]
pub(in crate::controllers::node) struct Usage {
    pub(super) pods: i128,
    requests: BTreeMap<String, i128>,
    ports: BTreeSet<Port>,
}

fn amount(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => Amount::parse(text).map(Amount::nanos),
        Value::Number(number) => Amount::parse(&number.to_string()).map(Amount::nanos),
        _ => None,
    }
}

/// How much of a resource the pods of a node may have.
pub(super) fn allocatable(node: &Value, resource: &str) -> i128 {
    let all = node.pointer("/status/allocatable");
    let found = all.and_then(|all| all.get(resource));
    found.and_then(amount).unwrap_or(0)
}

impl PodRequests {
    /// What a pod with this spec asks (component-helpers `resource/helpers.go`): its containers, or what the
    /// pod as a whole says, and its overhead.
    pub(in crate::controllers::node) fn of(spec: &Value) -> Self {
        let mut requests = BTreeMap::new();
        let containers = list(spec, "containers")
            .iter()
            .chain(list(spec, "initContainers"));
        let named = containers
            .filter_map(|container| container.pointer("/resources/requests")?.as_object());
        let names: BTreeSet<&String> = named.flat_map(|named| named.keys()).collect();
        if let Value::Object(fields) = spec {
            for name in names {
                let sum = resources::requests(fields, name);
                let sum = sum.and_then(|sum| Amount::parse(&sum));
                requests.insert(name.clone(), sum.map_or(0, Amount::nanos));
            }
        }
        let whole = spec
            .pointer("/resources/requests")
            .and_then(Value::as_object);
        for (name, value) in whole.into_iter().flatten() {
            requests.insert(name.clone(), amount(value).unwrap_or(0));
        }
        let overhead = spec.get("overhead").and_then(Value::as_object);
        for (name, value) in overhead.into_iter().flatten() {
            *requests.entry(name.clone()).or_default() += amount(value).unwrap_or(0);
        }
        Self {
            requests,
            ports: ports(spec),
        }
    }
}

fn ports(spec: &Value) -> BTreeSet<Port> {
    let all = list(spec, "containers")
        .iter()
        .flat_map(|container| list(container, "ports"));
    let of_node = all.filter_map(|port| {
        let number = port
            .get("hostPort")?
            .as_i64()
            .filter(|number| *number > 0)?;
        let protocol = match text(port, "protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        let address = match text(port, "hostIP") {
            "0.0.0.0" => "",
            address => address,
        };
        Some((protocol.to_owned(), address.to_owned(), number))
    });
    of_node.collect()
}

impl Usage {
    /// Adds a pod.
    pub(in crate::controllers::node) fn add(&mut self, requests: &PodRequests) {
        self.pods += 1;
        for (name, amount) in &requests.requests {
            *self.requests.entry(name.clone()).or_default() += amount;
        }
        self.ports.extend(requests.ports.iter().cloned());
    }

    pub(super) fn of(&self, resource: &str) -> i128 {
        self.requests.get(resource).copied().unwrap_or(0)
    }

    /// Whether a pod has the port already, at the same address or at all of them.
    pub(super) fn takes(&self, (protocol, address, number): &Port) -> bool {
        self.ports.iter().any(|(held, at, taken)| {
            let meets = at.is_empty() || address.is_empty() || at == address;
            held == protocol && taken == number && meets
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_asks_for_its_containers_its_own_requests_and_its_overhead() {
        let spec = json!({
            "containers": [
                { "resources": { "requests": { "cpu": "500m", "example.com/gpu": "1" } } },
                { "resources": { "requests": { "cpu": "1" } } },
            ],
            "initContainers": [{ "resources": { "requests": { "memory": "1Gi" } } }],
            "overhead": { "cpu": "100m" },
        });
        let requests = PodRequests::of(&spec);
        let want = [
            ("cpu", ONE * 16 / 10),
            ("example.com/gpu", ONE),
            ("memory", ONE << 30),
        ];
        let want = want.map(|(name, amount)| (name.to_owned(), amount));
        assert_eq!(requests.requests, BTreeMap::from(want));
        let whole = json!({ "resources": { "requests": { "cpu": "4" } }, "containers": spec["containers"] });
        assert_eq!(PodRequests::of(&whole).requests["cpu"], ONE * 4);
    }
}
