//! One object in two versions: events of both groups, and autoscalers.
//!
//! - All other built-in kinds have one version.
//! - An autoscaler in v1 knows CPU alone; what else it has travels in annotations of the same names as in
//!   the real server, but in the words of v2.

use serde_json::{Value, json};

use super::decode_type;
use crate::json::Fields;
use crate::mutants::mutant;

/// Core events, and those of `events.k8s.io`: what their fields are called.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const STATUS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// In v2 only: where it is, and the annotation that carries it in v1.
const IN_V2: [(&str, &str, &str); 3] = [
    ("spec", "behavior", BEHAVIOR),
    ("status", "currentMetrics", STATUS),
    ("status", "conditions", CONDITIONS),
];

/// Turns an object of a built-in kind into another version of it, such as `events.k8s.io/v1`. Objects that
/// have it already, and kinds with one version, stay as they are.
pub fn convert(object: &mut Value, api_version: &str) {
    let Value::Object(fields) = &mut *object else {
        return;
    };
    let of = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let type_name = match (of("kind"), of("apiVersion"), api_version) {
        ("Event", "v1", "events.k8s.io/v1") => {
            mutant!(
                EventsAreNotTranslated,
                rename(fields, EVENT.iter().copied()),
                ()
            );
            "io.k8s.api.events.v1.Event"
        }
        ("Event", "events.k8s.io/v1", "v1") => {
            rename(fields, EVENT.iter().map(|(core, other)| (*other, *core)));
            "io.k8s.api.core.v1.Event"
        }
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => {
            to_v2(fields);
            "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"
        }
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => {
            to_v1(fields);
            "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler"
        }
        _ => return,
    };
    fields.insert("apiVersion".to_owned(), api_version.into());
    let _ = decode_type(object, type_name);
}

fn rename<'a>(fields: &mut Fields, names: impl Iterator<Item = (&'a str, &'a str)>) {
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

fn part<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Fields> {
    fields
        .entry(name)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

fn is_cpu(metric: &Value) -> bool {
    metric
        .pointer("/resource/name")
        .is_some_and(|name| name == "cpu")
        && metric
            .pointer("/resource/target/averageUtilization")
            .is_some()
}

fn to_v1(fields: &mut Fields) {
    let mut kept = Vec::new();
    if let Some(spec) = part(fields, "spec")
        && let Some(Value::Array(metrics)) = spec.remove("metrics")
    {
        let (cpu, others): (Vec<_>, Vec<_>) = metrics.into_iter().partition(is_cpu);
        let target = cpu
            .first()
            .and_then(|metric| metric.pointer("/resource/target/averageUtilization"));
        if let Some(target) = target {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target.clone());
        }
        if !others.is_empty() {
            kept.push((METRICS, Value::Array(others)));
        }
    }
    let current = |metric: &Value| {
        metric
            .pointer("/resource/current/averageUtilization")
            .cloned()
    };
    let status = fields
        .get("status")
        .and_then(|status| status.get("currentMetrics"));
    let used = status
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|metric| {
            metric
                .pointer("/resource/name")
                .is_some_and(|name| name == "cpu")
        });
    if let (Some(used), Some(status)) = (used.clone().find_map(current), part(fields, "status")) {
        status.insert("currentCPUUtilizationPercentage".to_owned(), used);
    }
    for (place, name, annotation) in IN_V2 {
        let found = part(fields, place).and_then(|part| part.remove(name));
        if let Some(found) = found.filter(|found| !found.is_null()) {
            kept.push((annotation, found));
        }
    }
    if kept.is_empty() {
        return;
    }
    let metadata = part(fields, "metadata");
    if let Some(annotations) = metadata.and_then(|metadata| part(metadata, "annotations")) {
        for (name, value) in kept {
            annotations.insert(name.to_owned(), value.to_string().into());
        }
    }
}

fn to_v2(fields: &mut Fields) {
    let mut carried = |name: &str| -> Option<Value> {
        let annotations = fields.get_mut("metadata")?.get_mut("annotations")?;
        let text = annotations.as_object_mut()?.remove(name)?;
        serde_json::from_str(text.as_str()?).ok()
    };
    let metrics = carried(METRICS);
    let kept = IN_V2.map(|(place, name, annotation)| (place, name, carried(annotation)));
    if let Some(spec) = part(fields, "spec") {
        let mut metrics = match metrics {
            Some(Value::Array(metrics)) => metrics,
            _ => Vec::new(),
        };
        if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({ "type": "Utilization", "averageUtilization": target });
            let resource = json!({ "name": "cpu", "target": target });
            metrics.push(json!({ "type": "Resource", "resource": resource }));
        }
        spec.insert("metrics".to_owned(), metrics.into());
    }
    if let Some(status) = part(fields, "status") {
        status.remove("currentCPUUtilizationPercentage");
    }
    for (place, name, value) in kept {
        if let (Some(value), Some(part)) = (value, part(fields, place)) {
            part.insert(name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_the_same_in_both_groups() {
        let core = json!({
            "kind": "Event", "apiVersion": "v1", "metadata": { "name": "e", "namespace": "a" },
            "involvedObject": { "kind": "Pod", "namespace": "a", "name": "a" }, "reason": "A",
            "message": "b", "source": { "component": "c", "host": "h" }, "count": 3, "type": "Normal",
            "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:06Z",
            "eventTime": null, "reportingComponent": "", "reportingInstance": "",
        });
        // As the real server answers.
        let other = json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1",
            "metadata": { "name": "e", "namespace": "a" }, "eventTime": null, "reason": "A",
            "regarding": { "kind": "Pod", "namespace": "a", "name": "a" }, "note": "b", "type": "Normal",
            "deprecatedSource": { "component": "c", "host": "h" }, "deprecatedCount": 3,
            "deprecatedFirstTimestamp": "2026-01-02T03:04:05Z",
            "deprecatedLastTimestamp": "2026-01-02T03:04:06Z",
        });
        let mut event = core.clone();
        convert(&mut event, "events.k8s.io/v1");
        assert_eq!(event, other);
        convert(&mut event, "v1");
        assert_eq!(event, core);
    }

    #[test]
    fn an_autoscaler_loses_nothing_between_its_versions() {
        let target = json!({ "type": "Utilization", "averageUtilization": 40 });
        let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        let v2 = json!({
            "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2", "metadata": {},
            "spec": {
                "scaleTargetRef": { "kind": "Deployment", "name": "a" }, "maxReplicas": 3,
                "metrics": [
                    { "type": "Pods", "pods": { "metric": { "name": "q" }, "target": { "type": "Value" } } },
                    cpu,
                ],
                "behavior": { "scaleDown": { "stabilizationWindowSeconds": 5 } },
            },
            "status": { "desiredReplicas": 0, "currentMetrics": null },
        });
        let mut autoscaler = v2.clone();
        convert(&mut autoscaler, "autoscaling/v1");
        assert_eq!(autoscaler["spec"]["targetCPUUtilizationPercentage"], 40);
        assert_eq!(
            autoscaler["status"],
            json!({ "currentReplicas": 0, "desiredReplicas": 0 })
        );
        assert!(
            autoscaler["metadata"]["annotations"]
                .get(BEHAVIOR)
                .is_some()
        );
        convert(&mut autoscaler, "autoscaling/v2");
        assert_eq!(autoscaler["spec"], v2["spec"]);
        assert_eq!(autoscaler["status"], v2["status"]);
    }
}
