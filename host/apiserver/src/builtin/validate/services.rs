//! What is wrong with services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const AFFINITIES: &[&str] = &["ClientIP", "None"];
const SCOPES: &[&str] = &["Cluster", "Local"];
const FAMILIES: &[&str] = &["IPv4", "IPv6"];
const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
/// What a name in DNS takes the place of.
const ADDRESSES: [&str; 3] = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"];
/// The longest time for which clients come back to the same pod: a day.
const MAX_AFFINITY: i64 = 86_400;

pub(super) fn service(service: &Spot<'_>, causes: &mut Causes) {
    let spec = service.of("spec");
    let kind = spec.of("type").text();
    if spec.of("ports").is_empty() && !is_headless(&spec) && kind != "ExternalName" {
        spec.of("ports").required("", causes);
    }
    of_type(&spec, kind, causes);
    ports(&spec, kind, causes);
    let selector = spec.of("selector");
    labels::map(&selector, &selector, causes);
    affinity(&spec, causes);
    if kind != "ExternalName" {
        addresses(&spec, causes);
    }
    for address in spec.of("externalIPs").items() {
        address.fits(names::ip, causes);
    }
    spec.of("type").one_of(TYPES, causes);
    balancer(&spec, kind, causes);
    traffic(&spec, kind, causes);
}

fn is_headless(spec: &Spot<'_>) -> bool {
    spec.of("clusterIP").text() == "None"
}

fn of_type(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless(spec) {
        let why = format!("may not be set to 'None' for {kind} services");
        causes.push(Cause::invalid("spec.clusterIPs[0]", &"None".into(), &why));
    }
    if kind != "ExternalName" {
        return;
    }
    for field in ADDRESSES {
        if !spec.of(field).is_empty() {
            let why = "may not be set for ExternalName services";
            spec.of(field).forbidden(why, causes);
        }
    }
    let name = spec.of("externalName");
    match name.text().strip_suffix('.').unwrap_or(name.text()) {
        "" => name.required("", causes),
        host => {
            let wrong = names::subdomain(host);
            let cause = |why: &String| Cause::invalid(name.path(), &host.into(), why);
            causes.extend(wrong.iter().map(cause));
        }
    }
}

fn ports(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let ports = spec.of("ports");
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    let mut of_nodes = BTreeSet::new();
    for port in ports.items() {
        let (name, number) = (port.of("name"), port.of("port"));
        if name.is_empty() && ports.len() > 1 {
            name.required("", causes);
        }
        name.fits_if_set(names::label, causes);
        if !name.is_empty() && !names.insert(name.text().to_owned()) {
            name.duplicate(causes);
        }
        number.port(causes);
        let protocol = port.of("protocol");
        protocol.one_of(PROTOCOLS, causes);
        let target = port.of("targetPort");
        match target.value() {
            Value::String(_) => target.fits(names::port, causes),
            _ => target.port(causes),
        }
        port.of("appProtocol").fits_if_set(names::label_key, causes);
        let of_node = port.of("nodePort");
        let has_node = of_node.number().is_some_and(|number| number != 0);
        if has_node && kind == "ClusterIP" {
            of_node.forbidden("may not be used when `type` is 'ClusterIP'", causes);
        }
        let key = |number: &Spot<'_>| (protocol.text().to_owned(), number.number());
        if has_node && !of_nodes.insert(key(&of_node)) {
            of_node.duplicate(causes);
        }
        if !numbers.insert(key(&number)) {
            causes.push(Cause::duplicate(port.path(), &as_key(&protocol, &number)));
        }
    }
}

/// Two ports are the same by protocol and number; the real server shows the rest of the type too.
fn as_key(protocol: &Spot<'_>, number: &Spot<'_>) -> Value {
    json!({
        "Name": "", "Protocol": protocol.text(), "AppProtocol": null, "Port": number.value(),
        "TargetPort": 0, "NodePort": 0,
    })
}

fn affinity(spec: &Spot<'_>, causes: &mut Causes) {
    let (affinity, config) = (spec.of("sessionAffinity"), spec.of("sessionAffinityConfig"));
    affinity.one_of(AFFINITIES, causes);
    match affinity.text() {
        "None" if config.is_set() => {
            config.forbidden("must not be set when session affinity is None", causes);
        }
        "ClientIP" => {
            let client = config.of("clientIP");
            let seconds = client.of("timeoutSeconds");
            if let Some(absent) = [config, client, seconds].iter().find(|part| !part.is_set()) {
                return absent.required("when session affinity type is ClientIP", causes);
            }
            if !(1..=MAX_AFFINITY).contains(&seconds.number().unwrap_or(0)) {
                let why = format!("must be greater than 0 and less than {MAX_AFFINITY}");
                seconds.invalid(&why, causes);
            }
        }
        _ => {}
    }
}

fn addresses(spec: &Spot<'_>, causes: &mut Causes) {
    let (one, all) = (spec.of("clusterIP"), spec.of("clusterIPs"));
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
    let mut seen = BTreeSet::new();
    for family in spec.of("ipFamilies").items() {
        family.one_of(FAMILIES, causes);
        if !seen.insert(family.text().to_owned()) {
            family.duplicate(causes);
        }
    }
    spec.of("ipFamilyPolicy").one_of_if_set(POLICIES, causes);
    for (index, address) in all.items().enumerate() {
        if index > 0 || address.text() != "None" {
            address.fits(names::ip, causes);
        } else if all.len() > 1 {
            all.invalid("'None' must be the first and only value", causes);
        }
    }
    if all.len() > 2 {
        all.invalid("may only hold up to 2 values", causes);
    }
}

fn balancer(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let only = "may only be used when `type` is 'LoadBalancer'";
    let is_balancer = kind == "LoadBalancer";
    if !spec.of("loadBalancerSourceRanges").is_empty() && !is_balancer {
        causes.push(Cause::forbidden("spec.LoadBalancerSourceRanges", only));
    }
    let ports = spec.of("allocateLoadBalancerNodePorts");
    if ports.is_set() && !is_balancer {
        ports.forbidden(only, causes);
    }
    let class = spec.of("loadBalancerClass");
    if is_balancer {
        class.fits_if_set(names::label_key, causes);
    } else if class.is_set() {
        class.forbidden(only, causes);
    }
}

fn traffic(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let external = spec.of("externalTrafficPolicy");
    let is_reached = matches!(kind, "LoadBalancer" | "NodePort")
        || (kind == "ClusterIP" && !spec.of("externalIPs").is_empty());
    if is_reached {
        external.one_of(SCOPES, causes);
    } else if !external.is_empty() {
        external.invalid("may only be set for externally-accessible services", causes);
    }
    let health = spec.of("healthCheckNodePort");
    let needs_health = kind == "LoadBalancer" && external.text() == "Local";
    if health.number().is_some_and(|port| port != 0) && !needs_health {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        health.invalid(why, causes);
    }
    spec.of("internalTrafficPolicy")
        .one_of_if_set(SCOPES, causes);
    spec.of("trafficDistribution")
        .one_of_if_set(DISTRIBUTIONS, causes);
}

/// Judges what a service has become.
pub(super) fn service_update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    service(new, causes);
    let (new, old) = (new.of("spec"), old.of("spec"));
    let kinds = [new.of("type").text(), old.of("type").text()];
    if kinds.contains(&"ExternalName") || (is_headless(&new) && is_headless(&old)) {
        return;
    }
    kept(&new, &old, "clusterIP", "clusterIPs", causes);
    if !is_headless(&new) && !is_headless(&old) {
        kept(&new, &old, "ipFamily", "ipFamilies", causes);
    }
    let class = new.of("loadBalancerClass");
    if kinds == ["LoadBalancer"; 2] && class.value() != old.of("loadBalancerClass").value() {
        class.invalid("may not change once set", causes);
    }
    let local = |spec: &Spot<'_>| {
        spec.of("type").text() == "LoadBalancer"
            && spec.of("externalTrafficPolicy").text() == "Local"
    };
    let port = new.of("healthCheckNodePort");
    if local(&new) && local(&old) && port.value() != old.of("healthCheckNodePort").value() {
        port.forbidden("field is immutable", causes);
    }
}

/// Of addresses and their families the first stays, and the second can only come and go.
fn kept(new: &Spot<'_>, old: &Spot<'_>, one: &str, field: &str, causes: &mut Causes) {
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
