//! Defaults of core kinds that depend on other fields.

use serde_json::{Value, json};

use super::image::pull_policy;
use super::{Fields, is_empty, object, objects, put};
use crate::json::text;

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
/// Resources that a pod as a whole may ask for.
const POD_LEVEL: [&str; 2] = ["cpu", "memory"];

/// A namespace carries its name as a label.
pub(super) fn namespace(namespace: &mut Fields) {
    let Some(metadata) = object(namespace, "metadata") else {
        return;
    };
    let name = text(metadata, "name").to_owned();
    if name.is_empty() {
        return;
    }
    put(metadata, "labels", json!({}));
    if let Some(labels) = object(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

/// The one address of a pod is the first of all; older kubelets know no other.
pub(super) fn pod_status(status: &mut Fields) {
    let one = text(status, "podIP").to_owned();
    let first = |status: &Fields| {
        let ip = status.get("podIPs")?.get(0)?.get("ip")?;
        ip.as_str().map(str::to_owned)
    };
    match first(status) {
        Some(first) if one.is_empty() => {
            status.insert("podIP".to_owned(), first.into());
        }
        first if !one.is_empty() && first.as_deref() != Some(&*one) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": one }]));
        }
        _ => {}
    }
}

/// What is written as text is kept as data.
pub(super) fn secret(secret: &mut Fields) {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    put(secret, "data", json!({}));
    if let Some(data) = object(secret, "data") {
        for (name, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(name, STANDARD.encode(text).into());
        }
    }
}

/// Requests follow limits, and the ports of a pod in the host's network are the host's.
pub(super) fn pod(pod: &mut Fields) {
    let Some(spec) = object(pod, "spec") else {
        return;
    };
    let in_host_network = spec.get("hostNetwork") == Some(&json!(true));
    for list in CONTAINERS {
        for container in objects(spec, list) {
            if let Some(resources) = object(container, "resources") {
                requests_follow_limits(resources);
            }
            for port in objects(container, "ports").filter(|_| in_host_network) {
                if port.get("hostPort").is_none_or(is_empty)
                    && let Some(number) = port.get("containerPort").cloned()
                {
                    port.insert("hostPort".to_owned(), number);
                }
            }
        }
    }
    pod_requests(spec);
}

fn requests_follow_limits(resources: &mut Fields) {
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    put(resources, "requests", json!({}));
    if let Some(requests) = object(resources, "requests") {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// A pod with limits of its own requests what its containers do, or else its limits.
fn pod_requests(spec: &mut Fields) {
    let limits = spec.get("resources").and_then(|own| own.get("limits"));
    let Some(Value::Object(limits)) = limits.cloned() else {
        return;
    };
    for name in POD_LEVEL {
        let asked = super::super::resources::requests(spec, name);
        let request = asked.map(Value::from).or_else(|| limits.get(name).cloned());
        let (Some(request), Some(own)) = (request, object(spec, "resources")) else {
            continue;
        };
        put(own, "requests", json!({}));
        if let Some(requests) = object(own, "requests") {
            put(requests, name, request);
        }
    }
}

/// The service account has an older name, too.
pub(super) fn pod_spec(spec: &mut Fields) {
    let name = [
        text(spec, "serviceAccountName"),
        text(spec, "serviceAccount"),
    ]
    .into_iter()
    .find(|name| !name.is_empty())
    .map(str::to_owned);
    if let Some(name) = name {
        spec.insert("serviceAccountName".to_owned(), name.clone().into());
        spec.insert("serviceAccount".to_owned(), name.into());
    }
}

pub(super) fn container(container: &mut Fields) {
    if text(container, "imagePullPolicy").is_empty() {
        let policy = pull_policy(text(container, "image"));
        container.insert("imagePullPolicy".to_owned(), policy.into());
    }
}

pub(super) fn image_volume(volume: &mut Fields) {
    let policy = pull_policy(text(volume, "reference"));
    put(volume, "pullPolicy", policy);
}

/// A volume of no kind is an empty directory.
pub(super) fn volume(volume: &mut Fields) {
    if volume.keys().all(|name| name == "name") {
        put(volume, "emptyDir", json!({}));
    }
}

/// The default limit is the maximum, the default request the limit or else the minimum.
pub(super) fn limit_range_item(item: &mut Fields) {
    if text(item, "type") != "Container" {
        return;
    }
    for (name, from) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        let Some(Value::Object(source)) = item.get(from).cloned() else {
            continue;
        };
        put(item, name, json!({}));
        if let Some(target) = object(item, name) {
            for (resource, value) in source {
                target.entry(resource).or_insert(value);
            }
        }
    }
}

/// The one range of a node is the first of all; older clients know no other.
pub(super) fn node_spec(spec: &mut Fields) {
    let one = text(spec, "podCIDR").to_owned();
    let first = spec
        .get("podCIDRs")
        .and_then(|ranges| ranges.get(0)?.as_str());
    match first {
        Some(first) if one.is_empty() => {
            let first = first.to_owned();
            spec.insert("podCIDR".to_owned(), first.into());
        }
        first if !one.is_empty() && first != Some(&*one) => {
            spec.insert("podCIDRs".to_owned(), json!([one]));
        }
        _ => {}
    }
}

pub(super) fn node_status(status: &mut Fields) {
    if let Some(capacity) = status.get("capacity").cloned() {
        put(status, "allocatable", capacity);
    }
}

pub(super) fn service_spec(spec: &mut Fields) {
    let affinity = text(spec, "sessionAffinity").to_owned();
    let config = spec.get("sessionAffinityConfig");
    let seconds = config.and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
    if affinity == "ClientIP" {
        if seconds.is_none_or(Value::is_null) {
            let config = json!({ "clientIP": { "timeoutSeconds": 10_800 } });
            spec.insert("sessionAffinityConfig".to_owned(), config);
        }
    } else if matches!(affinity.as_str(), "" | "None") {
        spec.remove("sessionAffinityConfig");
    }
    let kind = match text(spec, "type") {
        "" => "ClusterIP",
        kind => kind,
    };
    let kind = kind.to_owned();
    for port in objects(spec, "ports") {
        if port.get("targetPort").is_none_or(is_empty)
            && let Some(number) = port.get("port").cloned()
        {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let has_external_ips = spec.get("externalIPs").is_some_and(|all| !is_empty(all));
    let is_open = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    if is_open || (kind == "ClusterIP" && has_external_ips) {
        put(spec, "externalTrafficPolicy", "Cluster");
    }
    if is_open || kind == "ClusterIP" {
        put(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        put(spec, "allocateLoadBalancerNodePorts", true);
    }
}
