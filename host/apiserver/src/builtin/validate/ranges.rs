//! Problems of addresses and ranges of addresses that are objects: IPAddresses and ServiceCIDRs.

use super::spot::{Causes, Spot};
use crate::status::Cause;
use crate::status::shown::quoted;
use crate::{addresses, names};

/// A cluster has addresses of two families.
const MOST_RANGES: usize = 2;

/// Judges an `IPAddress`; what it belongs to stays.
pub(super) fn ip_address(address: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let parent = address.of("spec.parentRef");
    if let Some(old) = old {
        if parent.value() != old.of("spec.parentRef").value() {
            let shown = in_go(&parent);
            let why = "field is immutable";
            causes.push(Cause::invalid_as(parent.path(), &shown, why));
        }
        return;
    }
    if !parent.is_set() {
        return parent.required("", causes);
    }
    parent.of("group").fits_if_set(names::subdomain, causes);
    for field in ["resource", "name"] {
        parent.of(field).named(names::path_segment, causes);
    }
    let namespace = parent.of("namespace");
    namespace.fits_if_set(names::path_segment, causes);
}

/// A reference as the real server shows its own form of one.
fn in_go(parent: &Spot<'_>) -> String {
    let fields = ["Group", "Resource", "Namespace", "Name"].map(|name| {
        let field = name.to_lowercase();
        format!("{name:?}:{}", quoted(parent.of(&field).text()))
    });
    format!("{{{}}}", fields.join(","))
}

/// Judges a `ServiceCIDR`; a second range may be added, and all else stays.
pub(super) fn service_cidr(range: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let cidrs = range.of("spec.cidrs");
    let Some(old) = old else {
        return ranges(&cidrs, causes);
    };
    let held = old.of("spec.cidrs");
    let is_longer = (held.len(), cidrs.len()) == (1, MOST_RANGES);
    if held.len() != cidrs.len() && !is_longer {
        let none = serde_json::json!([]);
        let shown = if cidrs.is_set() { cidrs.value() } else { &none };
        return causes.push(Cause::invalid(cidrs.path(), shown, "field is immutable"));
    }
    for (new, old) in cidrs.items().zip(held.items()) {
        new.fixed_itself(&old, causes);
    }
    if is_longer {
        ranges(&cidrs, causes);
    }
}

fn ranges(cidrs: &Spot<'_>, causes: &mut Causes) {
    match cidrs.len() {
        0 => return cidrs.required("at least one CIDR required", causes),
        1 | MOST_RANGES => {}
        _ => {
            let why = "may only hold up to 2 values";
            let shown = serde_json::json!({ "CIDRs": cidrs.value() });
            return causes.push(Cause::invalid(cidrs.path(), &shown, why));
        }
    }
    for cidr in cidrs.items() {
        cidr.fits(addresses::canonical_cidr, causes);
    }
    let texts: Vec<&str> = cidrs.items().map(|cidr| cidr.text()).collect();
    if let [first, second] = texts.as_slice()
        && let (Some((first, _)), Some((second, _))) =
            (addresses::parse_cidr(first), addresses::parse_cidr(second))
        && first.is_ipv4() == second.is_ipv4()
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        cidrs.invalid(why, causes);
    }
}
