//! What is wrong with endpoints and slices of them (kubernetes `apis/core/validation`,
//! `apis/discovery/validation`).

use std::collections::BTreeSet;

use super::labels;
use super::spot::{Causes, Spot};
use crate::status::Cause;
use crate::{addresses, names};

const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_PORTS: usize = 20_000;
const MOST_LABELS: usize = 16;
const MOST_HINTS: usize = 8;

type NameCheck = fn(&str) -> Vec<String>;

/// Judges endpoints; what was there already stays as it is.
pub(super) fn endpoints(endpoints: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let subsets = endpoints.of("subsets");
    if old.is_some_and(|old| old.of("subsets").value() == subsets.value()) {
        return;
    }
    for subset in subsets.items() {
        let lists = [subset.of("addresses"), subset.of("notReadyAddresses")];
        if lists.iter().all(Spot::is_empty) {
            let why = "must specify `addresses` or `notReadyAddresses`";
            subset.required(why, causes);
        }
        for list in &lists {
            list.items().for_each(|address| of_subset(&address, causes));
        }
        let ports = subset.of("ports");
        for port in ports.items() {
            let name = port.of("name");
            if name.is_empty() && ports.len() > 1 {
                name.required("", causes);
            }
            name.fits_if_set(names::label, causes);
            port.of("port").port(causes);
            port.of("protocol").one_of(PROTOCOLS, causes);
            let protocol = port.of("appProtocol");
            if protocol.is_set() {
                protocol.fits(names::label_key, causes);
            }
        }
    }
}

fn of_subset(address: &Spot<'_>, causes: &mut Causes) {
    let (ip, node) = (address.of("ip"), address.of("nodeName"));
    check_text(&ip, addresses::ip, causes);
    address.of("hostname").fits_if_set(names::label, causes);
    if node.is_set() {
        node.fits(names::subdomain, causes);
    }
    check_text(&ip, addresses::endpoint, causes);
}

/// Judges a text that is empty where there is none.
fn check_text(text: &Spot<'_>, rule: NameCheck, causes: &mut Causes) {
    for why in rule(text.text()) {
        causes.push(Cause::invalid(text.path(), &text.text().into(), &why));
    }
}

/// Judges a slice; its endpoints stay as they were, whatever they are.
pub(super) fn slice(slice: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let kind = slice.of("addressType");
    kind.one_of(ADDRESS_TYPES, causes);
    ports(&slice.of("ports"), causes);
    let endpoints = slice.of("endpoints");
    if old.is_none_or(|old| old.of("endpoints").value() != endpoints.value()) {
        of_slice(&endpoints, kind.text(), causes);
    }
    if let Some(old) = old {
        slice.fixed(old, &["addressType"], causes);
    }
}

/// Whether a list is longer than it may be, which is said.
fn is_too_long(list: &Spot<'_>, count: usize, most: usize, causes: &mut Causes) -> bool {
    if count > most {
        causes.push(Cause::too_many(list.path(), count, most as u64));
    }
    count > most
}

fn ports(ports: &Spot<'_>, causes: &mut Causes) {
    if is_too_long(ports, ports.len(), MOST_PORTS, causes) {
        return;
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.of("name");
        name.fits_if_set(names::label, causes);
        if !seen.insert(name.text().to_owned()) {
            name.duplicate(causes);
        }
        port.of("protocol").one_of(PROTOCOLS, causes);
        let protocol = port.of("appProtocol");
        if protocol.is_set() {
            protocol.fits(names::label_key, causes);
        }
    }
}

fn of_slice(endpoints: &Spot<'_>, kind: &str, causes: &mut Causes) {
    if is_too_long(endpoints, endpoints.len(), MOST_ENDPOINTS, causes) {
        return;
    }
    for endpoint in endpoints.items() {
        let all = endpoint.of("addresses");
        if all.is_empty() {
            all.required("must contain at least 1 address", causes);
        }
        is_too_long(&all, all.len(), MOST_ADDRESSES, causes);
        for address in all.items() {
            self::address(&address, &all, kind, causes);
        }
        let (node, host) = (endpoint.of("nodeName"), endpoint.of("hostname"));
        if node.is_set() {
            node.fits(names::subdomain, causes);
        }
        let topology = endpoint.of("deprecatedTopology");
        is_too_long(&topology, topology.entries().count(), MOST_LABELS, causes);
        labels::map(&topology, &topology, causes);
        if host.is_set() {
            host.fits(names::label, causes);
        }
        hints(&endpoint.of("hints"), causes);
    }
}

fn address(address: &Spot<'_>, all: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let rule = match kind {
        "IPv4" => addresses::ip,
        "IPv6" => addresses::canonical_ip,
        "FQDN" => return domain(address, causes),
        _ => return,
    };
    let before = causes.len();
    address.fits(rule, causes);
    if causes.len() > before {
        return;
    }
    if addresses::is_v6(address.text()) != (kind == "IPv6") {
        let why = format!("must be an {kind} address");
        causes.push(Cause::invalid(all.path(), address.value(), &why));
    }
    address.fits(addresses::endpoint, causes);
}

/// `IsFullyQualifiedDomainName`.
fn domain(address: &Spot<'_>, causes: &mut Causes) {
    if address.is_empty() {
        return address.required("", causes);
    }
    let text = address.text();
    let name = text.strip_suffix('.').unwrap_or(text);
    let mut wrong = |what: &str, why: &str| {
        causes.push(Cause::invalid(address.path(), &what.into(), why));
    };
    let whole = names::subdomain(name);
    if !whole.is_empty() {
        return wrong(name, &whole.join(","));
    }
    if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        return wrong(name, why);
    }
    let part = name.split('.').find(|part| !names::label(part).is_empty());
    if let Some(part) = part {
        wrong(part, &names::label(part).join(","));
    }
}

fn hints(hints: &Spot<'_>, causes: &mut Causes) {
    let rules: [(&str, NameCheck); 2] = [
        ("forZones", names::label_value),
        ("forNodes", names::subdomain),
    ];
    for (list, rule) in rules {
        let all = hints.of(list);
        if is_too_long(&all, all.len(), MOST_HINTS, causes) {
            return;
        }
        let mut seen = BTreeSet::new();
        for hint in all.items() {
            let name = hint.of("name");
            if !seen.insert(name.text().to_owned()) {
                name.duplicate(causes);
            }
            check_text(&name, rule, causes);
        }
    }
}
