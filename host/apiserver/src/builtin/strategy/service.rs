//! Addresses and ports of services (kubernetes `pkg/registry/core/service`).

mod families;
mod ports;
mod update;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, fault, is_empty, put};
use crate::builtin::default::objects;
use crate::builtin::validate::validate_service_addresses;
use crate::json::text;
use crate::status::{Cause, Named, Refusal};

pub(super) use update::drop_dependent;

/// Addresses are given out from 10.0.0.0/16; the first ones only to those who ask for them.
const FIRST: u64 = 0x100;
const LAST: u64 = 0xfffe;
/// What a dry run shows.
const DRY_ADDRESS: &str = "10.0.0.0";

/// Gives a service what it needs; `old` is the service before an update.
pub(super) fn allocate(
    service: &mut Fields,
    old: Option<&Fields>,
    write: BuiltInWrite<'_>,
) -> Result<(), Refusal> {
    let metadata = service.get("metadata").and_then(Value::as_object);
    let name = metadata
        .map(|metadata| text(metadata, "name").to_owned())
        .unwrap_or_default();
    let before = old.and_then(|old| old.get("spec")?.as_object());
    let Some(spec) = super::object(service, "spec") else {
        return Ok(());
    };
    update::follow(spec, before);
    let invalid = |causes: Vec<Cause>| Refusal::invalid(SERVICE, &name, causes);
    if needs_address(spec) {
        families::set_policy(spec, before);
        let whole = json!({ "spec": spec });
        let old = before.map(|old| json!({ "spec": old }));
        let wrong = validate_service_addresses(&whole, old.as_ref());
        if !wrong.is_empty() {
            return Err(invalid(wrong));
        }
        families::set(spec, before).map_err(invalid)?;
    }
    // It was once a default of each type; since then names in DNS are read without.
    let scope = text(spec, "internalTrafficPolicy");
    if !needs_address(spec) && matches!(scope, "Cluster" | "Local") {
        spec.remove("internalTrafficPolicy");
    }
    let taken = Taken::by_others(write, &name);
    if needs_address(spec) && before.is_none_or(|old| !needs_address(old)) {
        set_addresses(spec, &taken, write).map_err(|cause| invalid(vec![cause]))?;
    }
    ports::set(spec, before, taken.ports, write).map_err(|wrong| match wrong {
        ports::PortError::Field(cause) => invalid(vec![cause]),
        ports::PortError::Refused(refusal) => refusal,
    })
}

const SERVICE: Named<'static> = Named {
    group: "",
    resource: "Service",
};

/// What other services have.
struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<u64>,
}

impl Taken {
    fn by_others(write: BuiltInWrite<'_>, name: &str) -> Self {
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
            if let Some(spec) = service.get("spec").and_then(Value::as_object) {
                taken.ports.extend(ports::of(spec));
            }
        }
        taken
    }
}

fn needs_address(spec: &Fields) -> bool {
    text(spec, "type") != "ExternalName"
}

fn needs_health_port(spec: &Fields) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

fn set_addresses(spec: &mut Fields, taken: &Taken, write: BuiltInWrite<'_>) -> Result<(), Cause> {
    let given = text(spec, "clusterIP").to_owned();
    if given == "None" {
        return Ok(());
    }
    let address = if given.is_empty() && write.is_dry_run {
        DRY_ADDRESS.to_owned()
    } else if given.is_empty() {
        free_address(taken, write)
    } else {
        if !write.is_dry_run && taken.addresses.contains(&given) {
            let why = format!("failed to allocate IP {given}: provided IP is already allocated");
            return Err(Cause::invalid("spec.clusterIPs", &json!([given]), &why));
        }
        given
    };
    spec.insert("clusterIPs".to_owned(), json!([address]));
    spec.insert("clusterIP".to_owned(), address.into());
    Ok(())
}

/// An address that nobody has: a random one, or else the next.
fn free_address(taken: &Taken, write: BuiltInWrite<'_>) -> String {
    let start = write.rng.below(LAST - FIRST);
    let candidates = (0..=LAST - FIRST).map(|step| FIRST + (start + step) % (LAST - FIRST + 1));
    let mut addresses = candidates.map(|number| format!("10.0.{}.{}", number >> 8, number & 0xff));
    let free = addresses.find(|address| !taken.addresses.contains(address));
    free.unwrap_or_else(|| DRY_ADDRESS.to_owned())
}

#[cfg(test)]
mod tests;
