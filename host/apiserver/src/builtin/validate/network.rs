//! What is wrong with ingresses and slices of endpoints.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const PATH_TYPES: &[&str] = &["Exact", "ImplementationSpecific", "Prefix"];
const BAD_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const BAD_ENDS: [&str; 2] = ["/..", "/."];
const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const CLASS: &str = "kubernetes.io/ingress.class";
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;

pub(super) fn ingress(ingress: &Spot<'_>, is_new: bool, causes: &mut Causes) {
    let spec = ingress.of("spec");
    let (rules, default) = (spec.of("rules"), spec.of("defaultBackend"));
    if rules.is_empty() && !default.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid(spec.path(), rules.value(), why));
    }
    if default.is_set() {
        backend(&default, causes);
    }
    for rule in rules.items() {
        let host = rule.of("host");
        if host.text().parse::<IpAddr>().is_ok() {
            host.invalid("must be a DNS name, not an IP address", causes);
        }
        host.fits_if_set(names::host, causes);
        let http = rule.of("http");
        if http.is_set() && http.of("paths").is_empty() {
            http.of("paths").required("", causes);
        }
        http.of("paths")
            .items()
            .for_each(|path| self::path(&path, causes));
    }
    for tls in spec.of("tls").items() {
        for host in tls.of("hosts").items() {
            host.fits(names::host, causes);
        }
        tls.of("secretName").fits_if_set(names::subdomain, causes);
    }
    let class = spec.of("ingressClassName");
    if class.is_set() {
        class.fits(names::subdomain, causes);
    }
    let said = ingress.of("metadata.annotations");
    let said = said.key(CLASS);
    if is_new && said.is_set() && class.is_set() && said.value() != class.value() {
        let why = "must match `ingressClassName` when both are specified";
        let field = format!("annotations.{CLASS}");
        causes.push(Cause::invalid(field, said.value(), why));
    }
}

fn path(path: &Spot<'_>, causes: &mut Causes) {
    let (kind, place) = (path.of("pathType"), path.of("path"));
    if !kind.is_set() {
        return kind.required("pathType must be specified", causes);
    }
    let is_loose = kind.text() == "ImplementationSpecific";
    kind.one_of(PATH_TYPES, causes);
    if PATH_TYPES.contains(&kind.text()) {
        let text = place.text();
        let wrong = |why: &str| Cause::invalid(place.path(), &text.into(), why);
        let may_be_empty = is_loose && text.is_empty();
        if !may_be_empty && !text.starts_with('/') {
            causes.push(wrong("must be an absolute path"));
        }
        if !is_loose {
            for bad in BAD_SEQUENCES.iter().filter(|bad| text.contains(**bad)) {
                causes.push(wrong(&format!("must not contain '{bad}'")));
            }
            for bad in BAD_ENDS.iter().filter(|bad| text.ends_with(**bad)) {
                causes.push(wrong(&format!("cannot end with '{bad}'")));
            }
        }
    }
    backend(&path.of("backend"), causes);
}

fn backend(backend: &Spot<'_>, causes: &mut Causes) {
    let (resource, service) = (backend.of("resource"), backend.of("service"));
    let wrong = |why: &str| Cause::invalid(backend.path(), &"".into(), why);
    match (resource.is_set(), service.is_set()) {
        (true, true) => causes.push(wrong("cannot set both resource and service backends")),
        (false, false) => causes.push(wrong("resource or service backend is required")),
        (true, false) => {
            resource
                .of("apiGroup")
                .fits_if_set(names::subdomain, causes);
            for field in ["kind", "name"] {
                resource.of(field).named(names::path_segment, causes);
            }
        }
        (false, true) => {
            service.of("name").named(names::label, causes);
            let (name, number) = (service.of("port.name"), service.of("port.number"));
            let has_number = number.number().is_some_and(|number| number != 0);
            match (name.is_empty(), has_number) {
                (false, true) => causes.push(wrong("cannot set both port name & port number")),
                (false, false) => name.fits(names::port, causes),
                (true, true) => number.port(causes),
                (true, false) => {
                    backend.required("port name or number is required", causes);
                }
            }
        }
    }
}

pub(super) fn endpoint_slice(slice: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let kind = slice.of("addressType");
    kind.one_of(ADDRESS_TYPES, causes);
    let mut names_seen = BTreeSet::new();
    for port in slice.of("ports").items() {
        let name = port.of("name");
        name.fits_if_set(names::label, causes);
        if !names_seen.insert(name.text().to_owned()) {
            name.duplicate(causes);
        }
        port.of("protocol").one_of(PROTOCOLS, causes);
        port.of("appProtocol").fits_if_set(names::label_key, causes);
    }
    let endpoints = slice.of("endpoints");
    if old.is_none_or(|old| old.of("endpoints").value() != endpoints.value()) {
        self::endpoints(&endpoints, kind.text(), causes);
    }
    if let Some(old) = old {
        slice.fixed(old, &["addressType"], causes);
    }
}

fn endpoints(endpoints: &Spot<'_>, kind: &str, causes: &mut Causes) {
    if endpoints.len() > MOST_ENDPOINTS {
        let (path, most) = (endpoints.path(), MOST_ENDPOINTS as u64);
        return causes.push(Cause::too_many(path, endpoints.len(), most));
    }
    for endpoint in endpoints.items() {
        let addresses = endpoint.of("addresses");
        match addresses.len() {
            0 => addresses.required("must contain at least 1 address", causes),
            1..=MOST_ADDRESSES => {}
            count => {
                let most = MOST_ADDRESSES as u64;
                causes.push(Cause::too_many(addresses.path(), count, most));
            }
        }
        for address in addresses.items() {
            self::address(&address, &addresses, kind, causes);
        }
        endpoint
            .of("nodeName")
            .fits_if_set(names::subdomain, causes);
        endpoint.of("hostname").fits_if_set(names::label, causes);
        let topology = endpoint.of("deprecatedTopology");
        labels::map(&topology, &topology, causes);
    }
}

fn address(address: &Spot<'_>, all: &Spot<'_>, kind: &str, causes: &mut Causes) {
    if !matches!(kind, "IPv4" | "IPv6") {
        return;
    }
    let Ok(parsed) = address.text().parse::<IpAddr>() else {
        return address.fits(names::ip, causes);
    };
    if parsed.is_ipv4() != (kind == "IPv4") {
        let why = format!("must be an {kind} address");
        causes.push(Cause::invalid(all.path(), address.value(), &why));
    }
    if let Some(why) = unreachable(parsed) {
        address.invalid(&why, causes);
    }
}

/// Addresses at which no endpoint can be.
fn unreachable(address: IpAddr) -> Option<String> {
    let (is_local, is_local_group) = match address {
        IpAddr::V4(four) => {
            let [first, second, third, _] = four.octets();
            (four.is_link_local(), (first, second, third) == (224, 0, 0))
        }
        IpAddr::V6(six) => {
            let first = six.octets().first_chunk::<2>().copied().unwrap_or_default();
            (
                first[0] == 0xfe && first[1] & 0xc0 == 0x80,
                first == [0xff, 0x02],
            )
        }
    };
    let why = if address.is_unspecified() {
        return Some(format!("may not be unspecified ({address})"));
    } else if address.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    } else if is_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    } else if is_local_group {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Judges what external addresses of a load balancer an ingress has.
pub(super) fn ingress_status(ingress: &Spot<'_>, causes: &mut Causes) {
    for point in ingress.of("status.loadBalancer.ingress").items() {
        point.of("ip").fits_if_set(names::ip, causes);
        let host = point.of("hostname");
        host.fits_if_set(names::subdomain, causes);
        if let Value::String(text) = host.value()
            && text.parse::<IpAddr>().is_ok()
        {
            host.invalid("must be a DNS name, not an IP address", causes);
        }
    }
}
