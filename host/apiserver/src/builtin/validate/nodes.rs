//! What is wrong with nodes (`ValidateNode` and `ValidateNodeUpdate`).

use std::collections::BTreeSet;

use super::spot::{Causes, Spot};
use crate::builtin::quantity::Amount;
use crate::status::Cause;
use crate::status::shown::quoted;
use crate::{addresses, names};

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
const ONE_RANGE: &str = "may specify no more than one CIDR for each IP family";
const FIXED_RANGE: &str = "node updates may not change podCIDR except from \"\" to valid";
const FIXED_PROVIDER: &str = "node updates may not change providerID except from \"\" to valid";
/// Of these a node has whole numbers (`IsIntegerResourceName`).
const WHOLE: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Judges a node.
pub(super) fn node(node: &Spot<'_>, causes: &mut Causes) {
    taints(node, causes);
    resources(node, causes);
    let swap = node.of("status.nodeInfo.swap.capacity");
    if swap.number().is_some_and(|bytes| bytes <= 0) {
        let (field, why) = (
            "metadata.nodeSwapStatus.capacity",
            "must be greater than zero",
        );
        causes.push(Cause::invalid(field, swap.value(), why));
    }
    let ranges = node.of("spec.podCIDRs");
    for range in ranges.items() {
        range.fits(addresses::cidr, causes);
    }
    if ranges.len() > 1 {
        pair(&ranges, causes);
    }
}

/// Two ranges are one of each family.
fn pair(ranges: &Spot<'_>, causes: &mut Causes) {
    let texts = ranges
        .value()
        .as_array()
        .into_iter()
        .flatten()
        .map(|range| range.as_str().unwrap_or_default());
    let are_dual = addresses::are_dual_stack_cidrs(texts.clone());
    if let Some((index, bad)) = texts
        .enumerate()
        .find(|(_, text)| addresses::parse_cidr(text).is_none())
    {
        let why = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: \
             <nil> (invalid CIDR address: {bad})"
        );
        causes.push(Cause::internal(ranges.path(), &why));
    }
    if !are_dual || ranges.len() > 2 {
        ranges.invalid(ONE_RANGE, causes);
    }
}

/// Judges what a node has become; its status too.
pub(super) fn update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    resources(new, causes);
    let mut seen = BTreeSet::new();
    for address in new.of("status.addresses").items() {
        let (kind, text) = (address.of("type"), address.of("address"));
        if !seen.insert((kind.text().to_owned(), text.text().to_owned())) {
            let (kind, text) = (quoted(kind.text()), quoted(text.text()));
            let shown = format!("{{\"Type\":{kind},\"Address\":{text}}}");
            causes.push(Cause::duplicate_as(address.path(), &shown, ""));
        }
    }
    let (ranges, held) = (new.of("spec.podCIDRs"), old.of("spec.podCIDRs"));
    if ranges.len() != held.len() && !held.is_empty() {
        ranges.forbidden(FIXED_RANGE, causes);
    } else {
        for (range, held) in ranges.items().zip(held.items()) {
            if range.value() != held.value() {
                ranges.forbidden(FIXED_RANGE, causes);
            }
        }
    }
    let (provider, held) = (new.of("spec.providerID"), old.of("spec.providerID"));
    if !held.is_empty() && provider.text() != held.text() {
        provider.forbidden(FIXED_PROVIDER, causes);
    }
    taints(new, causes);
    let (outside, held) = (new.of("spec.externalID"), old.of("spec.externalID"));
    if outside.text() != held.text() {
        outside.forbidden("may not be updated", causes);
    }
}

/// `validateNodeTaints`, which tells them of the metadata.
fn taints(node: &Spot<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for (index, taint) in node.of("spec.taints").items().enumerate() {
        let at = |field: &str| format!("metadata.taints[{index}]{field}");
        let (key, value, effect) = (taint.of("key"), taint.of("value"), taint.of("effect"));
        for why in names::label_key(key.text()) {
            causes.push(Cause::invalid(at(".key"), &key.text().into(), &why));
        }
        let wrong = names::label_value(value.text());
        if !wrong.is_empty() {
            causes.push(Cause::invalid(
                at(".value"),
                value.value(),
                &wrong.join(";"),
            ));
        }
        if effect.is_empty() {
            causes.push(Cause::required(at(".effect"), ""));
        } else if !EFFECTS.contains(&effect.text()) {
            let all: Vec<String> = EFFECTS.iter().map(|text| (*text).to_owned()).collect();
            causes.push(Cause::unsupported(at(".effect"), effect.value(), &all));
        }
        if !seen.insert((key.text().to_owned(), effect.text().to_owned())) {
            let added = taint.of("timeAdded");
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                quoted(key.text()),
                quoted(value.text()),
                quoted(effect.text()),
                added.value()
            );
            let why = "taints must be unique by key and effect pair";
            causes.push(Cause::duplicate_as(at(""), &shown, why));
        }
    }
}

/// What a node has is not below zero, and some of it is whole (`ValidateNodeResources`).
fn resources(node: &Spot<'_>, causes: &mut Causes) {
    for list in ["capacity", "allocatable"] {
        let status = node.of("status");
        let amounts = status.of(list);
        for (name, amount) in amounts.entries() {
            let Some(held) = Amount::parse(amount.text()) else {
                continue;
            };
            let at = format!("status.{list}.{name}");
            if held.is_negative() {
                let why = "must be greater than or equal to 0";
                causes.push(Cause::invalid(at.clone(), amount.value(), why));
            }
            let is_whole = WHOLE.contains(&name) || is_extended(name);
            if is_whole && !held.is_whole() {
                causes.push(Cause::invalid(at, amount.value(), "must be an integer"));
            }
        }
    }
}

/// Whether a resource is one that this cluster adds (`IsExtendedResourceName`).
pub(crate) fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native
        && !name.starts_with("requests.")
        && names::label_key(&format!("requests.{name}")).is_empty()
}
