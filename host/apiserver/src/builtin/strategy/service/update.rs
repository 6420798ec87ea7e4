//! What an update of a service keeps of what was given to it, and drops with its old type.

use serde_json::{Value, json};

use super::super::object;
use super::{Fields, is_empty, needs_address, needs_health_port, objects, ports};
use crate::json::text;

/// Whether a service of some type needs a field.
type Needs = fn(&Fields) -> bool;

/// Fills in the addresses and ports that a client leaves out, and brings `clusterIP` and `clusterIPs` in
/// line (`patchAllocatedValues` and `normalizeClusterIPs` of `service/storage/storage.go`).
pub(super) fn follow(spec: &mut Fields, old: Option<&Fields>) {
    let one = text(spec, "clusterIP").to_owned();
    let Some(old) = old else {
        if !one.is_empty() && spec.get("clusterIPs").is_none_or(is_empty) {
            spec.insert("clusterIPs".to_owned(), json!([one]));
        }
        return;
    };
    keep(spec, old);
    let (one, held) = (text(spec, "clusterIP").to_owned(), text(old, "clusterIP"));
    let all = |spec: &Fields| spec.get("clusterIPs").cloned().unwrap_or_default();
    if one == held && is_empty(&all(spec)) && !is_empty(&all(old)) {
        spec.insert("clusterIPs".to_owned(), all(old));
    }
    if one != held && all(spec) == all(old) {
        let all = if one.is_empty() {
            Value::Null
        } else {
            json!([one])
        };
        spec.insert("clusterIPs".to_owned(), all);
    }
}

fn keep(spec: &mut Fields, old: &Fields) {
    let copy = |spec: &mut Fields, field: &str| {
        if spec.get(field).is_none_or(is_empty)
            && let Some(value) = old.get(field)
        {
            spec.insert(field.to_owned(), value.clone());
        }
    };
    if needs_address(spec) && needs_address(old) {
        copy(spec, "clusterIP");
        copy(spec, "clusterIPs");
    }
    if ports::allocates(spec) && ports::allocates(old) {
        keep_ports(spec, old);
    }
    if needs_health_port(spec) && needs_health_port(old) {
        copy(spec, "healthCheckNodePort");
    }
}

/// A port keeps its number by its name, unless another port wants that.
fn keep_ports(spec: &mut Fields, old: &Fields) {
    let before: Vec<&Fields> = old
        .get("ports")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let given = ports::of_nodes(spec);
    for port in objects(spec, "ports").filter(|port| ports::of_node(port) == 0) {
        let mut same = before.iter().rev();
        let same = same.find(|held| text(**held, "name") == text(port, "name"));
        let number = same.map_or(0, |held| ports::of_node(held));
        if number != 0 && !given.contains(&number) {
            port.insert("nodePort".to_owned(), number.into());
        }
    }
}

/// Drops what only the old type needs, unless the client changes it (`dropTypeDependentFields` of
/// `service/strategy.go`).
pub(in super::super) fn drop_dependent(service: &mut Fields, old: &Fields) {
    let Some(old) = old.get("spec").and_then(Value::as_object) else {
        return;
    };
    let Some(spec) = object(service, "spec") else {
        return;
    };
    if needs_address(old) && !needs_address(spec) {
        drop_addresses(spec, old);
    }
    let had = ports::of_nodes(old);
    let adds = ports::of_nodes(spec)
        .iter()
        .any(|number| !had.contains(number));
    if ports::has(old) && !ports::has(spec) && !adds {
        objects(spec, "ports").for_each(|port| {
            port.remove("nodePort");
        });
    }
    let dependent: [(&str, Needs); 4] = [
        ("healthCheckNodePort", needs_health_port),
        ("allocateLoadBalancerNodePorts", is_balancer),
        ("loadBalancerClass", is_balancer),
        ("externalTrafficPolicy", is_reached),
    ];
    for (field, needs) in dependent {
        if needs(old) && !needs(spec) && spec.get(field) == old.get(field) {
            spec.remove(field);
        }
    }
    if !is_balancer(spec)
        && let Some(status) = object(service, "status")
    {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}

fn is_balancer(spec: &Fields) -> bool {
    text(spec, "type") == "LoadBalancer"
}

fn drop_addresses(spec: &mut Fields, old: &Fields) {
    let same = |spec: &Fields, field: &str| spec.get(field) == old.get(field);
    if same(spec, "clusterIP") && same(spec, "clusterIPs") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    for field in ["ipFamilies", "ipFamilyPolicy"] {
        if same(spec, field) {
            spec.remove(field);
        }
    }
}

/// Whether somebody outside of the cluster reaches it (`ExternallyAccessible`).
fn is_reached(spec: &Fields) -> bool {
    let has_addresses = spec.get("externalIPs").is_some_and(|all| !is_empty(all));
    ports::has(spec) || (text(spec, "type") == "ClusterIP" && has_addresses)
}
