//! How safe a pod is when its node runs short.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Fields;
use crate::builtin::quantity::{Amount, sum};

const RESOURCES: [&str; 2] = ["cpu", "memory"];

type Amounts = BTreeMap<&'static str, Option<Amount>>;

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(crate) fn class(spec: &Fields) -> &'static str {
    let own = spec.get("resources").filter(|own| !own.is_null());
    let containers = ["containers", "initContainers"]
        .map(|list| spec.get(list))
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten();
    let containers = containers.filter_map(|container| container.get("resources"));
    let all: Vec<&Value> = match own {
        Some(own) => vec![own],
        None => containers.collect(),
    };
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut all_limited = true;
    for resources in all {
        add(&mut requests, resources.get("requests"));
        let found = add(&mut limits, resources.get("limits"));
        all_limited &= found == RESOURCES.len();
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let count = match own {
        Some(_) => limits.len(),
        // As many containers as there are, each must be limited.
        None => RESOURCES.len(),
    };
    if all_limited && count == RESOURCES.len() && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds what is more than nothing; says how many resources that were.
fn add(amounts: &mut Amounts, found: Option<&Value>) -> usize {
    let mut count = 0;
    for resource in RESOURCES {
        let amount = found.and_then(|found| found.get(resource)?.as_str());
        let amount = amount
            .and_then(Amount::parse)
            .filter(|amount| amount.is_positive());
        if amount.is_some() {
            count += 1;
            let so_far = amounts.entry(resource).or_default();
            *so_far = sum(*so_far, amount);
        }
    }
    count
}
