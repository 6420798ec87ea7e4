//! How pods are reached: services, endpoints, ingresses.

use serde_json::Value;

use super::part::{NONE, TimedValue, with_more};

pub(super) fn service(object: TimedValue<'_>) -> Vec<Value> {
    let ips = object.texts("/spec/clusterIPs");
    let ports = object.list("/spec/ports");
    let ports: Vec<String> = ports.iter().map(port).collect();
    let ports = match ports.as_slice() {
        [] => NONE.to_owned(),
        ports => ports.join(","),
    };
    vec![
        object.name(),
        object.text("/spec/type").into(),
        ips.first().copied().unwrap_or(NONE).into(),
        external(object).into(),
        ports.into(),
        object.age(),
        object.labels("/spec/selector").into(),
    ]
}

fn port(port: &TimedValue<'_>) -> String {
    let (number, protocol) = (port.int("/port"), port.text("/protocol"));
    match port.int("/nodePort") {
        1.. => format!("{number}:{}/{protocol}", port.int("/nodePort")),
        _ => format!("{number}/{protocol}"),
    }
}

fn external(object: TimedValue<'_>) -> String {
    let own = object.texts("/spec/externalIPs");
    match object.text("/spec/type") {
        "ClusterIP" | "NodePort" if own.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => own.join(","),
        "LoadBalancer" => {
            let given = balancers(object);
            let all: Vec<&str> = given.into_iter().chain(own).collect();
            match all.as_slice() {
                [] => "<pending>".to_owned(),
                all => all.join(","),
            }
        }
        "ExternalName" => object.text("/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of load balancers, sorted, each once.
fn balancers(object: TimedValue<'_>) -> Vec<&str> {
    let all = object.list("/status/loadBalancer/ingress");
    let mut addresses: Vec<&str> = all
        .iter()
        .map(|at| at.text_or("/ip", at.text("/hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

pub(super) fn endpoints(object: TimedValue<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    let subsets = object.list("/subsets");
    for subset in &subsets {
        let ips: Vec<&str> = subset
            .list("/addresses")
            .iter()
            .map(|at| at.text("/ip"))
            .collect();
        let ports = subset.list("/ports");
        if ports.is_empty() {
            all.extend(ips.iter().map(|ip| (*ip).to_owned()));
        }
        for port in ports {
            let number = port.int("/port");
            all.extend(ips.iter().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{number}")
                } else {
                    format!("{ip}:{number}")
                }
            }));
        }
    }
    let shown = if subsets.is_empty() {
        NONE.to_owned()
    } else {
        with_more(&all, 3)
    };
    vec![object.name(), shown.into(), object.age()]
}

pub(super) fn endpoint_slice(object: TimedValue<'_>) -> Vec<Value> {
    let ports = object.list("/ports");
    let ports: Vec<String> = ports
        .iter()
        .map(|port| match port.maybe_int("/port") {
            Some(number) => number.to_string(),
            None => port.maybe_text("/name").unwrap_or("*").to_owned(),
        })
        .collect();
    let endpoints = object.list("/endpoints");
    let addresses = endpoints
        .iter()
        .flat_map(|endpoint| endpoint.texts("/addresses"));
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    let shown = |all: &[String]| match all {
        [] => UNSET_LIST.to_owned(),
        all => with_more(all, 3),
    };
    vec![
        object.name(),
        object.text("/addressType").into(),
        shown(&ports).into(),
        shown(&addresses).into(),
        object.age(),
    ]
}

/// What stands for a list without items.
const UNSET_LIST: &str = "<unset>";

pub(super) fn ingress(object: TimedValue<'_>) -> Vec<Value> {
    let rules = object.list("/spec/rules");
    let ports = match object.count("/spec/tls") {
        0 => "80",
        _ => "80, 443",
    };
    vec![
        object.name(),
        object
            .maybe_text("/spec/ingressClassName")
            .unwrap_or(NONE)
            .into(),
        hosts(&rules).into(),
        balancers(object).join(",").into(),
        ports.into(),
        object.age(),
    ]
}

/// At most three hosts; all hosts are `*`.
fn hosts(rules: &[TimedValue<'_>]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more = more || shown.len() == 3;
        let host = rule.text("/host");
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.as_slice(), more) {
        ([], _) => "*".to_owned(),
        (shown, false) => shown.join(","),
        (shown, true) => format!("{} + {} more...", shown.join(","), rules.len() - 3),
    }
}

pub(super) fn ingress_class(object: TimedValue<'_>) -> Vec<Value> {
    let annotations = object.map("/metadata/annotations");
    let is_default =
        annotations.get("ingressclass.kubernetes.io/is-default-class") == Some(&"true");
    let suffix = if is_default { " (default)" } else { "" };
    let parameters = object.part("/spec/parameters").map(|to| {
        let group = to.maybe_text("/apiGroup");
        let group = group.map(|group| format!(".{group}")).unwrap_or_default();
        format!("{}{group}/{}", to.text("/kind"), to.text("/name"))
    });
    vec![
        format!("{}{suffix}", object.text("/metadata/name")).into(),
        object.text("/spec/controller").into(),
        parameters.unwrap_or_else(|| NONE.to_owned()).into(),
        object.age(),
    ]
}

pub(super) fn policy(object: TimedValue<'_>) -> Vec<Value> {
    let pods = object.selector_or_none("/spec/podSelector");
    vec![object.name(), pods.into(), object.age()]
}

pub(super) fn service_cidr(object: TimedValue<'_>) -> Vec<Value> {
    let ranges = object.texts("/spec/cidrs").join(",");
    vec![object.name(), ranges.into(), object.age()]
}

/// Its row has an age, of which its columns do not know.
pub(super) fn address(object: TimedValue<'_>) -> Vec<Value> {
    let parent = object.part("/spec/parentRef").map(|parent| {
        let resource = match parent.text("/group") {
            "" => parent.text("/resource").to_lowercase(),
            group => format!("{}.{group}", parent.text("/resource")).to_lowercase(),
        };
        match parent.text("/namespace") {
            "" => format!("{resource}/{}", parent.text("/name")),
            namespace => format!("{resource}/{namespace}/{}", parent.text("/name")),
        }
    });
    let parent = parent.unwrap_or_else(|| NONE.to_owned());
    vec![object.name(), parent.into(), object.age()]
}
