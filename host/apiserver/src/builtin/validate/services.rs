//! What is wrong with services.

mod addresses;

use std::collections::BTreeSet;

use serde_json::Value;

use super::labels;
use super::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;
use crate::status::shown::quoted;
use addresses::{external_ips, keep_first, source_ranges};

pub(super) use addresses::addresses;

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const AFFINITIES: &[&str] = &["ClientIP", "None"];
const SCOPES: &[&str] = &["Cluster", "Local"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
/// What a name in DNS takes the place of.
const ADDRESSES: [&str; 3] = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"];
const ONLY_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
/// The longest time for which clients come back to the same pod: a day.
const MAX_AFFINITY: i64 = 86_400;

/// Judges a service (`validateService`), and what has become of `old`.
pub(super) fn service(service: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    if let Some(old) = old {
        update(&service.of("spec"), &old.of("spec"), causes);
    }
    topology(&service.of("metadata.annotations"), causes);
    let spec = service.of("spec");
    let held = old.map_or(&Value::Null, |old| old.of("spec").value());
    let kind = spec.of("type").text();
    if spec.of("ports").is_empty() && !is_headless(&spec) && kind != "ExternalName" {
        spec.of("ports").required("", causes);
    }
    of_type(&spec, kind, causes);
    ports(&spec, causes);
    let selector = spec.of("selector");
    labels::map(&selector, &selector, causes);
    affinity(&spec, causes);
    addresses(&spec, held, causes);
    external_ips(&spec, held, causes);
    spec.of("type").one_of(TYPES, causes);
    node_ports(&spec, kind, causes);
    source_ranges(service, old, causes);
    let ports = spec.of("allocateLoadBalancerNodePorts");
    if ports.is_set() && kind != "LoadBalancer" {
        ports.forbidden(ONLY_BALANCERS, causes);
    }
    class(&spec, causes);
    traffic(&spec, kind, causes);
}

fn topology(annotations: &Spot<'_>, causes: &mut Causes) {
    let (hints, mode) = (annotations.key(HINTS), annotations.key(MODE));
    if hints.is_set() && mode.is_set() && hints.value() != mode.value() {
        let why = format!("must match annotations[{HINTS}] when both are specified");
        mode.invalid(&why, causes);
    }
}

fn is_headless(spec: &Spot<'_>) -> bool {
    let all = spec.of("clusterIPs");
    all.len() == 1 && all.items().all(|address| address.text() == "None")
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

fn ports(spec: &Spot<'_>, causes: &mut Causes) {
    let ports = spec.of("ports");
    let mut names = BTreeSet::new();
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
        if port.of("appProtocol").is_set() {
            port.of("appProtocol").fits(names::label_key, causes);
        }
    }
}

/// The ports of nodes are for types that have some, and no two ports are the same.
fn node_ports(spec: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let ports = spec.of("ports");
    let has_one = |port: &Spot<'_>| {
        port.of("nodePort")
            .number()
            .is_some_and(|number| number != 0)
    };
    for port in ports.items().filter(has_one) {
        if kind == "ClusterIP" {
            let why = "may not be used when `type` is 'ClusterIP'";
            port.of("nodePort").forbidden(why, causes);
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items().filter(has_one) {
        let number = port.of("nodePort");
        if !seen.insert((port.of("protocol").text().to_owned(), number.number())) {
            number.duplicate(causes);
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.of("protocol"), port.of("port"));
        if !seen.insert((protocol.text().to_owned(), number.number())) {
            causes.push(Cause::duplicate_as(
                port.path(),
                &as_key(&protocol, &number),
                "",
            ));
        }
    }
}

/// Two ports are the same by protocol and number; the real server shows the rest of the type too.
fn as_key(protocol: &Spot<'_>, number: &Spot<'_>) -> String {
    format!(
        "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
        quoted(protocol.text()),
        number.number().unwrap_or(0)
    )
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

/// `validateLoadBalancerClassField`, but for what an update keeps.
fn class(spec: &Spot<'_>, causes: &mut Causes) {
    let class = spec.of("loadBalancerClass");
    match spec.of("type").text() {
        _ if !class.is_set() => {}
        "LoadBalancer" => class.fits(names::label_key, causes),
        _ => class.forbidden(ONLY_BALANCERS, causes),
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
    let has_health = health.number().is_some_and(|port| port != 0);
    match (needs_health_port(spec), has_health) {
        (true, true) => health.port(causes),
        (true, false) => health.required("", causes),
        (false, true) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` \
                       is 'Local'";
            health.invalid(why, causes);
        }
        (false, false) => {}
    }
    spec.of("internalTrafficPolicy")
        .one_of_if_set(SCOPES, causes);
    spec.of("trafficDistribution")
        .one_of_if_set(DISTRIBUTIONS, causes);
}

fn needs_health_port(spec: &Spot<'_>) -> bool {
    let is_local = spec.of("externalTrafficPolicy").text() == "Local";
    spec.of("type").text() == "LoadBalancer" && is_local
}

/// What an update keeps (`ValidateServiceUpdate`).
fn update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let kinds = [new.of("type").text(), old.of("type").text()];
    if !kinds.contains(&"ExternalName") {
        let is_headless = [is_headless(new), is_headless(old)];
        if is_headless != [true, true] {
            keep_first(new, old, "clusterIP", "clusterIPs", causes);
        }
        if is_headless == [false, false] {
            keep_first(new, old, "ipFamily", "ipFamilies", causes);
        }
    }
    let set_class = new.of("loadBalancerClass");
    if kinds == ["LoadBalancer"; 2] && set_class.value() != old.of("loadBalancerClass").value() {
        set_class.invalid("may not change once set", causes);
    }
    class(new, causes);
    let port = new.of("healthCheckNodePort");
    let held = old.of("healthCheckNodePort");
    if needs_health_port(new) && needs_health_port(old) && port.value() != held.value() {
        port.forbidden("field is immutable", causes);
    }
}
