//! Whether a pod fits on a node, and what kube-scheduler says if it does not (kubernetes
//! `pkg/scheduler/framework/plugins`).

use serde_json::Value;

use super::affinity;
use super::pod_requests::{PodRequests, Usage, allocatable};
use super::tolerations::{tolerates, untolerated};

/// A node, and what the pods on it take.
#[derive(Clone, Debug, Default)]
pub(in crate::controllers::node) struct NodeInfo {
    pub(in crate::controllers::node) node: Value,
    pub(in crate::controllers::node) usage: Usage,
}

/// Why a pod does not fit on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controllers::node) struct FitError {
    pub(in crate::controllers::node) reasons: Vec<String>,
    /// Whether it would fit if other pods went.
    pub(in crate::controllers::node) is_resolvable: bool,
}

impl FitError {
    fn for_good(reason: &str) -> Self {
        Self {
            reasons: vec![reason.to_owned()],
            is_resolvable: false,
        }
    }
}

/// Why a pod does not fit on a node; nothing if it does. The first filter that refuses decides.
pub(in crate::controllers::node) fn why_not(spec: &Value, node: &NodeInfo) -> Option<FitError> {
    unsuited(spec, &node.node)
        .or_else(|| ports(spec, node))
        .or_else(|| resources(spec, node))
}

/// Why no pod like this may be on a node, however much room there is.
pub(in crate::controllers::node) fn unsuited(spec: &Value, node: &Value) -> Option<FitError> {
    let cordoned = node.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
    if cordoned && !tolerates(spec, "node.kubernetes.io/unschedulable", "", "NoSchedule") {
        return Some(FitError::for_good("node(s) were unschedulable"));
    }
    if untolerated(spec, node).is_some() {
        return Some(FitError::for_good("node(s) had untolerated taint(s)"));
    }
    if !affinity::matches(spec, node) {
        return Some(FitError::for_good(
            "node(s) didn't match Pod's node affinity/selector",
        ));
    }
    None
}

fn ports(spec: &Value, node: &NodeInfo) -> Option<FitError> {
    let wanted = PodRequests::of(spec).ports;
    let is_taken = wanted.iter().any(|port| node.usage.takes(port));
    is_taken.then(|| FitError {
        reasons: vec!["node(s) didn't have free ports for the requested pod ports".to_owned()],
        is_resolvable: true,
    })
}

fn resources(spec: &Value, node: &NodeInfo) -> Option<FitError> {
    let requests = PodRequests::of(spec);
    let mut reasons = Vec::new();
    let mut is_resolvable = true;
    if node.usage.pods + 1 > allocatable(&node.node, "pods") / super::pod_requests::ONE {
        reasons.push("Too many pods".to_owned());
    }
    for (name, wanted) in requests.requests.iter().filter(|(_, wanted)| **wanted > 0) {
        let whole = allocatable(&node.node, name);
        if *wanted > whole - node.usage.of(name) {
            reasons.push(format!("Insufficient {name}"));
            is_resolvable = is_resolvable && *wanted <= whole;
        }
    }
    (!reasons.is_empty()).then_some(FitError {
        reasons,
        is_resolvable,
    })
}

/// How many pods like this there is room for on a node that suits them.
pub(in crate::controllers::node) fn copies(spec: &Value, node: &NodeInfo) -> i64 {
    let requests = PodRequests::of(spec);
    let pods = allocatable(&node.node, "pods") / super::pod_requests::ONE - node.usage.pods;
    let mut room = pods.max(0);
    for (name, wanted) in requests.requests.iter().filter(|(_, wanted)| **wanted > 0) {
        let free = allocatable(&node.node, name) - node.usage.of(name);
        room = room.min(free.max(0) / *wanted);
    }
    if !requests.ports.is_empty() {
        let is_free = ports(spec, node).is_none();
        room = room.min(i128::from(is_free));
    }
    i64::try_from(room).unwrap_or(i64::MAX)
}

/// What kube-scheduler says of a pod that fits on none of the nodes (`FitError` in `framework/types.go`, and
/// what `PostFilter` adds).
pub(in crate::controllers::node) fn message(errors: &[FitError]) -> String {
    let count = errors.len();
    if count == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    let reasons = errors.iter().flat_map(|error| &error.reasons);
    let reasons = histogram(reasons.map(String::as_str));
    let after = histogram(errors.iter().map(|error| {
        if error.is_resolvable {
            "No preemption victims found for incoming pod"
        } else {
            "Preemption is not helpful for scheduling"
        }
    }));
    format!(
        "0/{count} nodes are available: {reasons}. no new claims to deallocate, preemption: 0/{count} nodes are \
         available: {after}."
    )
}

/// Each text once, after how often it is there, sorted as texts.
fn histogram<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut lines: Vec<String> = counts
        .iter()
        .map(|(text, count)| format!("{count} {text}"))
        .collect();
    lines.sort_unstable();
    lines.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(spec: &Value, used: &[Value]) -> NodeInfo {
        let mut usage = Usage::default();
        for spec in used {
            usage.add(&PodRequests::of(spec));
        }
        let node = json!({
            "metadata": { "name": "n", "labels": { "disk": "ssd" } },
            "spec": spec,
            "status": { "allocatable": { "cpu": "8", "memory": "32Gi", "pods": "3" } },
        });
        NodeInfo { node, usage }
    }

    fn asks(cpu: &str) -> Value {
        json!({ "containers": [{ "resources": { "requests": { "cpu": cpu } } }] })
    }

    fn said(spec: &Value, node: &NodeInfo) -> Vec<String> {
        why_not(spec, node).map_or_else(Vec::new, |error| error.reasons)
    }

    #[test]
    fn the_first_filter_that_refuses_says_why() {
        let free = node(&json!({}), &[]);
        assert!(said(&asks("8"), &free).is_empty());
        assert_eq!(said(&asks("5000"), &free), ["Insufficient cpu"]);
        let half = node(&json!({}), &[asks("4500m")]);
        assert_eq!(said(&asks("3501m"), &half), ["Insufficient cpu"]);
        assert!(said(&asks("3500m"), &half).is_empty());
        let full = node(&json!({}), &[asks("1"), asks("1"), asks("6")]);
        assert_eq!(
            said(&asks("1"), &full),
            ["Too many pods", "Insufficient cpu"]
        );
        let cordoned = node(
            &json!({ "unschedulable": true, "taints": [{ "key": "a", "effect": "NoSchedule" }] }),
            &[],
        );
        assert_eq!(said(&asks("1"), &cordoned), ["node(s) were unschedulable"]);
        let tainted = node(
            &json!({ "taints": [{ "key": "a", "effect": "NoExecute" }] }),
            &[],
        );
        assert_eq!(
            said(&asks("1"), &tainted),
            ["node(s) had untolerated taint(s)"]
        );
        let elsewhere = json!({ "nodeSelector": { "disk": "tape" }, "containers": [] });
        assert_eq!(
            said(&elsewhere, &free),
            ["node(s) didn't match Pod's node affinity/selector"]
        );
        let listens =
            json!({ "containers": [{ "ports": [{ "hostPort": 80, "protocol": "TCP" }] }] });
        let taken = node(&json!({}), std::slice::from_ref(&listens));
        assert_eq!(
            said(&listens, &taken),
            ["node(s) didn't have free ports for the requested pod ports"]
        );
        assert_eq!(
            [copies(&asks("1"), &free), copies(&asks("3"), &half)],
            [3, 1]
        );
        assert_eq!([copies(&listens, &free), copies(&listens, &taken)], [1, 0]);
    }

    #[test]
    fn a_pod_that_fits_nowhere_is_told_of_as_kube_scheduler_does() {
        let error = |spec: &Value, node: &NodeInfo| why_not(spec, node).unwrap();
        let free = node(&json!({}), &[]);
        let large = error(&asks("5000"), &free);
        assert_eq!(
            message(std::slice::from_ref(&large)),
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are \
             available: 1 Preemption is not helpful for scheduling."
        );
        let busy = error(&asks("8"), &node(&json!({}), &[asks("1")]));
        assert_eq!(
            message(&[large, busy]),
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are \
             available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
        );
        assert_eq!(message(&[]), "no nodes available to schedule pods");
    }
}
