//! The ports of nodes that a service has (`service/storage/alloc.go` and `service/portallocator`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, fault, needs_health_port, objects};
use crate::json::text;
use crate::status::{Cause, Refusal};

const PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;
/// The first port that a dry run shows.
const DRY_PORT: u64 = 32_769;
const ALLOCATED: &str = "provided port is already allocated";
const OUTSIDE: &str =
    "provided port is not in the valid range. The range of valid ports is 30000-32767";

/// Why a service gets no ports.
pub(super) enum PortError {
    /// A field is wrong.
    Field(Cause),
    /// The request is.
    Refused(Refusal),
}

/// Whether services of this type have ports of nodes.
pub(super) fn has(spec: &Fields) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

/// Whether ports are allocated that nobody asks for.
pub(super) fn allocates(spec: &Fields) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)),
        _ => false,
    }
}

/// The port of nodes for a port; 0 is none.
pub(super) fn of_node(port: &Fields) -> u64 {
    port.get("nodePort").and_then(Value::as_u64).unwrap_or(0)
}

fn list(spec: &Fields) -> impl Iterator<Item = &Fields> {
    let ports = spec.get("ports").and_then(Value::as_array);
    ports.into_iter().flatten().filter_map(Value::as_object)
}

/// The ports of nodes of all ports.
pub(super) fn of_nodes(spec: &Fields) -> BTreeSet<u64> {
    let all = list(spec).map(of_node);
    all.filter(|number| *number != 0).collect()
}

fn health(spec: &Fields) -> u64 {
    let held = spec.get("healthCheckNodePort").and_then(Value::as_u64);
    held.unwrap_or(0)
}

/// All ports of nodes, also the one for health checks.
pub(super) fn of(spec: &Fields) -> BTreeSet<u64> {
    let mut all = of_nodes(spec);
    all.extend(Some(health(spec)).filter(|number| *number != 0));
    all
}

/// What is taken, and what this write takes.
struct Allocation<'a> {
    taken: BTreeSet<u64>,
    own: BTreeSet<u64>,
    write: BuiltInWrite<'a>,
}

impl Allocation<'_> {
    /// Takes a port; says why it cannot. A dry run does not look at the range.
    fn take(&mut self, number: u64) -> Result<(), &'static str> {
        if !self.write.is_dry_run && !PORTS.contains(&number) {
            return Err(OUTSIDE);
        }
        if self.taken.contains(&number) || !self.own.insert(number) {
            return Err(ALLOCATED);
        }
        Ok(())
    }

    /// Takes any port: a random one, or else the next. A dry run only counts.
    fn take_any(&mut self) -> Result<u64, PortError> {
        let number = if self.write.is_dry_run {
            Some(self.own.last().map_or(DRY_PORT, |last| last + 1))
        } else {
            let count = PORTS.end() - PORTS.start() + 1;
            let start = self.write.rng.below(count);
            let mut candidates = (0..count).map(|step| PORTS.start() + (start + step) % count);
            candidates.find(|number| !self.taken.contains(number) && !self.own.contains(number))
        };
        let number = number.ok_or_else(|| {
            let why = "Internal error occurred: failed to allocate a nodePort: range is full";
            PortError::Refused(fault(why))
        })?;
        self.own.insert(number);
        Ok(number)
    }

    fn take_at(&mut self, index: usize, number: u64) -> Result<(), PortError> {
        self.take(number).map_err(|why| {
            let field = format!("spec.ports[{index}].nodePort");
            PortError::Field(Cause::invalid(field, &number.into(), why))
        })
    }
}

/// Gives a service its ports; `old` is the service before an update, `taken` what others have.
pub(super) fn set(
    spec: &mut Fields,
    old: Option<&Fields>,
    mut taken: BTreeSet<u64>,
    write: BuiltInWrite<'_>,
) -> Result<(), PortError> {
    if let Some(old) = old {
        taken.extend(of(old));
    }
    let own = BTreeSet::new();
    let mut allocation = Allocation { taken, own, write };
    if has(spec) {
        match old {
            None => create(spec, &mut allocation)?,
            Some(old) => update(spec, &of_nodes(old), &mut allocation)?,
        }
    }
    let had_health = old.is_some_and(needs_health_port);
    if needs_health_port(spec) && !had_health {
        match health(spec) {
            0 => {
                let number = allocation.take_any()?;
                spec.insert("healthCheckNodePort".to_owned(), number.into());
            }
            number => allocation.take(number).map_err(|why| {
                PortError::Refused(fault(format!(
                    "Internal error occurred: failed to allocate requested HealthCheck NodePort \
                     {number}: {why}"
                )))
            })?,
        }
    }
    Ok(())
}

/// `initNodePorts`: ports with the same number share one of the nodes.
fn create(spec: &mut Fields, allocation: &mut Allocation<'_>) -> Result<(), PortError> {
    let allocates = allocates(spec);
    let number = |port: &Fields| port.get("port").and_then(Value::as_u64).unwrap_or(0);
    let asked: Vec<(u64, u64)> = list(spec)
        .map(|port| (number(port), of_node(port)))
        .filter(|(_, of_node)| *of_node != 0)
        .collect();
    let mut given: Vec<(u64, u64)> = Vec::new();
    for (index, port) in objects(spec, "ports").enumerate() {
        let (number, wanted) = (number(port), of_node(port));
        if wanted == 0 && !allocates {
            continue;
        }
        let same = |pairs: &[(u64, u64)]| {
            let found = pairs.iter().find(|(found, _)| *found == number);
            found.map(|(_, of_node)| *of_node)
        };
        let chosen = match (same(&given), same(&asked)) {
            (Some(held), _) if wanted == 0 || wanted == held => held,
            (Some(_), _) => {
                allocation.take_at(index, wanted)?;
                wanted
            }
            (None, Some(asked)) => {
                allocation.take_at(index, asked)?;
                given.push((number, asked));
                asked
            }
            (None, None) => {
                let any = allocation.take_any()?;
                given.push((number, any));
                any
            }
        };
        port.insert("nodePort".to_owned(), chosen.into());
    }
    Ok(())
}

/// `updateNodePorts`: what the service had is its own.
fn update(
    spec: &mut Fields,
    had: &BTreeSet<u64>,
    allocation: &mut Allocation<'_>,
) -> Result<(), PortError> {
    let allocates = allocates(spec);
    let mut pairs: BTreeSet<(String, u64)> = BTreeSet::new();
    for (index, port) in objects(spec, "ports").enumerate() {
        let number = match of_node(port) {
            0 if !allocates => continue,
            0 => allocation.take_any()?,
            number => {
                if !had.contains(&number) && !allocation.own.contains(&number) {
                    allocation.take_at(index, number)?;
                }
                number
            }
        };
        port.insert("nodePort".to_owned(), number.into());
        let protocol = text(port, "protocol").to_owned();
        if !pairs.insert((protocol.clone(), number)) {
            let why = format!("duplicate nodePort: {{{protocol} {number}}}");
            return Err(PortError::Refused(Refusal::unknown(why)));
        }
    }
    Ok(())
}
