//! What is wrong with the addresses of services, and with who may reach them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ONLY_BALANCERS, is_headless};
use crate::addresses;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;

const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
const FAMILIES: &[&str] = &["IPv4", "IPv6"];

/// `ValidateServiceClusterIPsRelatedFields`; what was fine in `old` still is.
pub(in super::super) fn addresses(spec: &Spot<'_>, old: &Value, causes: &mut Causes) {
    if spec.of("type").text() == "ExternalName" {
        return;
    }
    let all = spec.of("clusterIPs");
    one_and_all(&spec.of("clusterIP"), &all, causes);
    let mut seen = BTreeSet::new();
    for family in spec.of("ipFamilies").items() {
        if !FAMILIES.contains(&family.text()) {
            family.unsupported(FAMILIES, causes);
        }
        if !seen.insert(family.text().to_owned()) {
            family.duplicate(causes);
        }
    }
    spec.of("ipFamilyPolicy").one_of_if_set(POLICIES, causes);
    let mut are_fine = true;
    for (index, address) in all.items().enumerate() {
        let before = causes.len();
        if index > 0 || address.text() != "None" {
            legacy(&address, old.get("clusterIPs"), addresses::ip, causes);
        } else if all.len() > 1 {
            all.invalid("'None' must be the first and only value", causes);
        }
        are_fine &= causes.len() == before;
    }
    if all.len() > 2 {
        all.invalid("may only hold up to 2 values", causes);
    }
    if are_fine {
        families(spec, causes);
    }
}

fn one_and_all(one: &Spot<'_>, all: &Spot<'_>, causes: &mut Causes) {
    let first = all.items().next().map(|first| first.text().to_owned());
    match (one.text(), first.as_deref()) {
        ("", None) => {}
        ("", Some(_)) => {
            all.invalid("must be empty when `clusterIP` is not specified", causes);
        }
        (_, None) => all.required("", causes),
        (one, Some(first)) if one != first => {
            all.invalid("first value must match `clusterIP`", causes);
        }
        _ => {}
    }
}

/// Addresses are of different families, those that are named for them.
fn families(spec: &Spot<'_>, causes: &mut Causes) {
    let all = spec.of("clusterIPs");
    if all.len() > 1
        && !addresses::are_dual_stack(
            all.items()
                .map(|one| one.value().as_str().unwrap_or_default()),
        )
    {
        let why = "may specify no more than one IP for each IP family";
        all.invalid(why, causes);
    }
    if is_headless(spec) {
        return;
    }
    let families = spec.of("ipFamilies");
    for (index, (address, family)) in all.items().zip(families.items()).enumerate() {
        let family = family.text();
        let is_v6 = addresses::is_v6(address.text());
        if (family == "IPv4" && is_v6) || (family == "IPv6" && !is_v6) {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            address.invalid(&why, causes);
        }
    }
}

/// Judges a text that stays as it is if the old object has it.
fn legacy(
    text: &Spot<'_>,
    held: Option<&Value>,
    rule: fn(&str) -> Vec<String>,
    causes: &mut Causes,
) {
    let held = held.and_then(Value::as_array);
    if !held.is_some_and(|held| held.contains(text.value())) {
        text.fits(rule, causes);
    }
}

pub(super) fn external_ips(spec: &Spot<'_>, old: &Value, causes: &mut Causes) {
    for address in spec.of("externalIPs").items() {
        let before = causes.len();
        legacy(&address, old.get("externalIPs"), addresses::ip, causes);
        if causes.len() == before {
            address.fits(addresses::endpoint, causes);
        }
    }
}

/// Who may reach a load balancer: a field, or else an annotation with commas.
pub(super) fn source_ranges(service: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let is_balancer = service.of("spec.type").text() == "LoadBalancer";
    let ranges = service.of("spec.loadBalancerSourceRanges");
    let said = service.of("metadata.annotations");
    let said = said.key(RANGES);
    let judge = |at: &str, range: &str, causes: &mut Causes| {
        let wrong = addresses::cidr(range);
        let cause = |why: &String| Cause::invalid(at, &range.into(), why);
        causes.extend(wrong.iter().map(cause));
    };
    if !ranges.is_empty() {
        let field = "spec.LoadBalancerSourceRanges";
        if !is_balancer {
            causes.push(Cause::forbidden(field, ONLY_BALANCERS));
        }
        let held: Vec<&str> = old
            .map(|old| old.of("spec.loadBalancerSourceRanges").value())
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|range| Some(range.as_str()?.trim()))
            .collect();
        for (index, range) in ranges.items().enumerate() {
            let range = range.text().trim();
            if !held.contains(&range) {
                judge(&format!("{field}[{index}]"), range, causes);
            }
        }
    } else if said.is_set() {
        if !is_balancer {
            said.forbidden(ONLY_BALANCERS, causes);
        }
        let held = old.and_then(|old| old.of("metadata.annotations").value().get(RANGES));
        if held != Some(said.value()) && !said.text().trim().is_empty() {
            for range in said.text().split(',') {
                judge(&said.path(), range.trim(), causes);
            }
        }
    }
}

/// Of addresses and their families the first stays, and the second can only come and go.
pub(super) fn keep_first(
    new: &Spot<'_>,
    old: &Spot<'_>,
    one: &str,
    field: &str,
    causes: &mut Causes,
) {
    let (policy, new, old) = (new.of("ipFamilyPolicy"), new.of(field), old.of(field));
    let (wanted, held) = (new.len(), old.len());
    let both = if wanted == held { held } else { 1 };
    let pairs = new.items().zip(old.items()).take(both);
    for (index, (wanted, held)) in pairs.enumerate() {
        if wanted.value() != held.value() {
            let index = if field == "clusterIPs" { index } else { 0 };
            let place = format!("{}[{index}]", new.path());
            causes.push(Cause::invalid(
                place,
                new.value(),
                "may not change once set",
            ));
        }
    }
    if wanted == 0 && held > 0 {
        let place = format!("{}[0]", new.path());
        let why = format!("primary {one} can not be unset");
        causes.push(Cause::invalid(place, new.value(), &why));
    }
    if wanted == 1 && held > 1 && policy.text() != "SingleStack" {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {one}");
        policy.invalid(&why, causes);
    }
}
