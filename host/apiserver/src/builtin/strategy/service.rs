//! Addresses and ports of services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Fields, Write, fault, is_empty, put, text};
use crate::builtin::default::objects;
use crate::status::{Cause, Named, Refusal};

/// Addresses are given out from 10.0.0.0/16; the first ones only to those who ask for them.
const FIRST: u64 = 0x100;
const LAST: u64 = 0xfffe;
const PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;
/// What a dry run shows.
const DRY_ADDRESS: &str = "10.0.0.0";
const DRY_PORT: u64 = 32_769;

/// Gives a service what it needs; `old` is the service before an update.
pub(super) fn allocate(
    service: &mut Fields,
    old: Option<&Fields>,
    write: Write<'_>,
) -> Result<(), Refusal> {
    let metadata = service.get("metadata").and_then(Value::as_object);
    let name = metadata
        .map(|metadata| text(metadata, "name").to_owned())
        .unwrap_or_default();
    let Some(spec) = super::object(service, "spec") else {
        return Ok(());
    };
    let old = old.and_then(|old| old.get("spec")?.as_object());
    if let Some(old) = old {
        keep(spec, old);
        follow(spec, old);
    }
    let taken = Taken::by_others(write, &name);
    if text(spec, "type") != "ExternalName" {
        set_families(spec);
        set_addresses(spec, old, &taken, write).map_err(|cause| invalid(&name, cause))?;
    }
    set_ports(spec, &taken, write)?.map_or(Ok(()), |cause| Err(invalid(&name, cause)))
}

fn invalid(name: &str, cause: Cause) -> Refusal {
    let kind = Named {
        group: "",
        resource: "Service",
    };
    Refusal::invalid(kind, name, vec![cause])
}

/// What other services have.
struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<u64>,
}

impl Taken {
    fn by_others(write: Write<'_>, name: &str) -> Self {
        let mut taken = Self {
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
        };
        let services = Named {
            group: "",
            resource: "services",
        };
        for service in write.cluster.list(services) {
            let of = |path: &str| service.pointer(path).and_then(Value::as_str);
            if of("/metadata/name") == Some(name)
                && of("/metadata/namespace") == Some(write.namespace)
            {
                continue;
            }
            taken
                .addresses
                .extend(of("/spec/clusterIP").map(str::to_owned));
            let ports = service.pointer("/spec/ports").and_then(Value::as_array);
            let ports = ports
                .into_iter()
                .flatten()
                .filter_map(|port| port.get("nodePort"));
            let health = service.pointer("/spec/healthCheckNodePort");
            taken
                .ports
                .extend(ports.chain(health).filter_map(Value::as_u64));
        }
        taken
    }
}

fn needs_address(spec: &Fields) -> bool {
    matches!(
        text(spec, "type"),
        "ClusterIP" | "NodePort" | "LoadBalancer"
    )
}

fn needs_ports(spec: &Fields) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn needs_health_port(spec: &Fields) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// `patchAllocatedValues`: what an update leaves out stays.
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
    if text(spec, "type") != "ExternalName" && text(old, "type") != "ExternalName" {
        copy(spec, "ipFamilies");
        copy(spec, "ipFamilyPolicy");
    }
    if needs_health_port(spec) && needs_health_port(old) {
        copy(spec, "healthCheckNodePort");
    }
    if !(needs_ports(spec) && needs_ports(old)) {
        return;
    }
    let before = old.get("ports").and_then(Value::as_array);
    let before: Vec<&Fields> = before
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let given: Vec<Value> = objects(spec, "ports")
        .filter_map(|port| port.get("nodePort").cloned())
        .collect();
    for port in objects(spec, "ports") {
        let same = before
            .iter()
            .find(|found| text(found, "name") == text(port, "name"));
        let number = same.and_then(|found| found.get("nodePort"));
        if let Some(number) = number.filter(|number| !given.contains(number)) {
            put(port, "nodePort", number.clone());
        }
    }
}

/// `normalizeClusterIPs`: who changes the one address means the first of all.
fn follow(spec: &mut Fields, old: &Fields) {
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

/// One family of addresses, unless nobody needs any.
fn set_families(spec: &mut Fields) {
    let is_free = text(spec, "clusterIP") == "None" && spec.get("selector").is_none_or(is_empty);
    let policy = if is_free {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    put(spec, "ipFamilyPolicy", policy);
    let dual = is_free && text(spec, "ipFamilyPolicy") != "SingleStack";
    let families = if dual {
        json!(["IPv4", "IPv6"])
    } else {
        json!(["IPv4"])
    };
    put(spec, "ipFamilies", families);
}

fn set_addresses(
    spec: &mut Fields,
    old: Option<&Fields>,
    taken: &Taken,
    write: Write<'_>,
) -> Result<(), Cause> {
    let given = text(spec, "clusterIP").to_owned();
    let kept = old.is_some_and(|old| text(old, "clusterIP") == given);
    let address = if given.is_empty() {
        match (write.is_dry_run, free_address(taken, write)) {
            (true, _) => DRY_ADDRESS.to_owned(),
            (false, address) => address,
        }
    } else {
        if given != "None" && !kept && taken.addresses.contains(&given) {
            let why = format!("failed to allocate IP {given}: provided IP is already allocated");
            return Err(Cause::invalid("spec.clusterIPs", &json!([given]), &why));
        }
        given
    };
    spec.insert("clusterIP".to_owned(), address.clone().into());
    if spec.get("clusterIPs").is_none_or(is_empty) {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    Ok(())
}

/// An address that nobody has: a random one, or else the next.
fn free_address(taken: &Taken, write: Write<'_>) -> String {
    let start = write.rng.below(LAST - FIRST);
    let candidates = (0..=LAST - FIRST).map(|step| FIRST + (start + step) % (LAST - FIRST + 1));
    let mut addresses = candidates.map(|number| format!("10.0.{}.{}", number >> 8, number & 0xff));
    let free = addresses.find(|address| !taken.addresses.contains(address));
    free.unwrap_or_else(|| DRY_ADDRESS.to_owned())
}

/// Ports of the nodes; a cause if one is taken.
fn set_ports(spec: &mut Fields, taken: &Taken, write: Write<'_>) -> Result<Option<Cause>, Refusal> {
    let mut used = taken.ports.clone();
    let allocates = match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)),
        _ => false,
    };
    let requested: Vec<(Option<Value>, u64)> = objects(spec, "ports")
        .filter_map(|port| Some((port.get("port").cloned(), port.get("nodePort")?.as_u64()?)))
        .collect();
    if needs_ports(spec) {
        for (index, port) in objects(spec, "ports").enumerate() {
            let same = requested
                .iter()
                .find(|(number, _)| number.as_ref() == port.get("port"));
            let number = match port.get("nodePort").and_then(Value::as_u64) {
                Some(0) | None if !allocates => continue,
                Some(number) if number > 0 => number,
                _ => match same {
                    Some((_, number)) if *number > 0 => *number,
                    _ => free_port(&used, write)?,
                },
            };
            if taken.ports.contains(&number) {
                let field = format!("spec.ports[{index}].nodePort");
                let why = "provided port is already allocated";
                return Ok(Some(Cause::invalid(field, &json!(number), why)));
            }
            port.insert("nodePort".to_owned(), number.into());
            used.insert(number);
        }
    }
    if needs_health_port(spec) && spec.get("healthCheckNodePort").is_none_or(is_empty) {
        let number = free_port(&used, write)?;
        spec.insert("healthCheckNodePort".to_owned(), number.into());
    }
    Ok(None)
}

fn free_port(used: &BTreeSet<u64>, write: Write<'_>) -> Result<u64, Refusal> {
    if write.is_dry_run {
        return Ok(DRY_PORT);
    }
    let count = PORTS.end() - PORTS.start() + 1;
    let start = write.rng.below(count);
    let mut candidates = (0..count).map(|step| PORTS.start() + (start + step) % count);
    let free = candidates.find(|number| !used.contains(number));
    free.ok_or_else(|| {
        fault("Internal error occurred: failed to allocate a nodePort: range is full")
    })
}
