//! What a pod asks for as a whole is enough for its containers.

use crate::builtin::quantity::{Amount, max, sum};
use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;

/// Judges the resources of a pod against those of its containers (`validatePodResourceConsistency`).
pub(super) fn judge(spec: &Spot<'_>, causes: &mut Causes) {
    let whole = spec.of("resources");
    for (list, are_huge) in [("requests", false), ("limits", true)] {
        for (name, held) in whole.of(list).entries() {
            if are_huge && !name.starts_with(super::HUGE) {
                continue;
            }
            let needed = needed(spec, list, name);
            if let (Some(needed), Some(amount)) = (needed, Amount::parse(held.text()))
                && needed.is_above(amount)
            {
                let why = format!(
                    "must be greater than or equal to aggregate container {list} of {}",
                    needed.text()
                );
                held.invalid(&why, causes);
            }
        }
    }
    let limits = whole.of("limits");
    for (index, container) in spec.of("containers").items().enumerate() {
        for (name, limit) in container.of("resources.limits").entries() {
            let most = limits.key(name);
            if let (Some(asked), Some(held)) =
                (Amount::parse(limit.text()), Amount::parse(most.text()))
                && asked.is_above(held)
            {
                let at = format!("{}.containers[{index}][{name}].limits", whole.path());
                let why = format!(
                    "must be less than or equal to pod limits of {}",
                    most.text()
                );
                causes.push(Cause::invalid(at, limit.value(), &why));
            }
        }
    }
}

/// What all containers ask for together; those that come first ask one after the other.
fn needed(spec: &Spot<'_>, list: &str, name: &str) -> Option<Amount> {
    let of = |container: &Spot<'_>| {
        let asked = container.of("resources").value().get(list)?.get(name)?;
        Amount::parse(asked.as_str()?)
    };
    let containers = spec.of("containers");
    let mut all = containers.items().fold(None, |all, one| sum(all, of(&one)));
    let (mut staying, mut first) = (None, None);
    for container in spec.of("initContainers").items() {
        let asked = of(&container);
        if container.of("restartPolicy").text() == "Always" {
            all = sum(all, asked);
            staying = sum(staying, asked);
            first = max(first, staying);
        } else {
            first = max(first, sum(asked, staying));
        }
    }
    max(all, first)
}
