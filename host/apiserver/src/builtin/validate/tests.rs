//! Objects as clients send them, completed as in a write, and what is said of them.

mod admitting;

use serde_json::{Value, json};

use super::*;
use crate::builtin::{decode, default};
use crate::registry::Registry;

mod cluster;
mod jobs;
mod resources;
mod templates;

/// The part of an object that is written.
#[derive(Clone, Copy, PartialEq)]
enum WriteUnderTest {
    Main,
    Status,
}

fn judge(place: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    judge_part(place, object, old, WriteUnderTest::Main)
}

fn judge_part(
    place: &str,
    object: &Value,
    old: Option<&Value>,
    part: WriteUnderTest,
) -> Vec<String> {
    let registry = Registry::new(crate::builtin::resources());
    let (version, plural) = place.rsplit_once('/').unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = registry.find(group, version, plural).unwrap();
    let complete = |object: &Value| {
        let mut object = object.clone();
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.as_str().into();
        decode(&mut object, resource).unwrap();
        default(&mut object, resource);
        object
    };
    let causes = match old {
        Some(old) if part == WriteUnderTest::Status => {
            validate_status_update(&complete(object), &complete(old), resource)
        }
        Some(old) => validate_update(&complete(object), &complete(old), resource),
        None => validate_create(&complete(object), resource),
    };
    let lines = causes.iter();
    lines
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect()
}

fn template(change: &Value) -> Value {
    let mut template = json!({
        "metadata": { "labels": { "app": "b" } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    for (field, value) in change.as_object().unwrap() {
        template["spec"][field] = value.clone();
    }
    template
}

fn workload(change: &Value) -> Value {
    let mut object = json!({
        "spec": { "selector": { "matchLabels": { "app": "b" } }, "template": template(&json!({})) },
    });
    for (field, value) in change.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

#[test]
fn data_has_proper_keys_and_what_is_immutable_stays() {
    let map = json!({ "data": { "a b": "1" } });
    assert_eq!(judge("v1/configmaps", &map, None).len(), 1);
    let old = json!({ "data": { "a": "1" }, "immutable": true });
    let new = json!({ "data": { "a": "2" } });
    assert_eq!(
        judge("v1/configmaps", &new, Some(&old)),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ]
    );
    assert_eq!(judge("v1/configmaps", &old, Some(&old)), [""; 0]);
}

#[test]
fn a_workload_selects_its_own_pods_and_keeps_to_them() {
    let other = json!({ "selector": { "matchLabels": { "app": "a" } } });
    let (fine, other) = (workload(&json!({})), workload(&other));
    let why = "spec.template.metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not \
               match template `labels`";
    for kind in ["deployments", "replicasets", "daemonsets", "statefulsets"] {
        let place = format!("apps/v1/{kind}");
        assert_eq!(judge(&place, &fine, None), [""; 0]);
        assert_eq!(judge(&place, &other, None), [why]);
        let none = judge(&place, &json!({ "spec": {} }), None);
        let says = none.contains(&"spec.selector: Required value".to_owned());
        assert_eq!(says, kind != "daemonsets", "{none:?}");
        let moved = judge(&place, &other, Some(&fine));
        let stays = |line: &String| line.contains("immutable") || line.contains("are forbidden");
        assert!(moved.iter().any(stays), "{moved:?}");
    }
}

#[test]
fn new_objects_are_judged_as_by_the_real_server() {
    let never = template(&json!({ "restartPolicy": "Never" }));
    let rows = [
        (
            "v1/pods",
            json!({ "spec": {} }),
            &["spec.containers: Required value"][..],
        ),
        (
            "v1/pods",
            json!({ "spec": template(&json!({
                "initContainers": [{ "name": "c", "image": "i ", "livenessProbe": {} }],
                "volumes": [{ "name": "v" }, { "name": "v" }],
                "tolerations": [{ "operator": "Exists", "value": "x" }],
            }))["spec"] }),
            &[
                "spec.volumes[1].name: Duplicate value: \"v\"",
                "spec.initContainers[0].name: Duplicate value: \"c\"",
                "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init \
                 containers without restartPolicy=Always",
                "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when \
                 `operator` is 'Exists'",
                "spec.initContainers[0].image: Invalid value: \"i \": must not have leading or \
                 trailing whitespace",
            ],
        ),
        (
            "v1/services",
            json!({ "spec": { "type": "ExternalName", "externalName": "a_b", "ports": [
                { "port": 80, "name": "a" }, { "port": 80, "name": "a", "targetPort": "-" },
            ] } }),
            &[
                "spec.externalName: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain",
                "spec.ports[1].name: Duplicate value: \"a\"",
                "spec.ports[1].targetPort: Invalid value: \"-\": must contain at least one",
                "spec.ports[1].targetPort: Invalid value: \"-\": must not begin or end",
                "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",",
            ],
        ),
        (
            "v1/persistentvolumeclaims",
            json!({ "spec": { "accessModes": ["ReadWriteOncePod", "ReadOnlyMany", "Odd"], "resources": {
                "requests": { "storage": "0" } } } }),
            &[
                "spec.accessModes: Unsupported value: \"Odd\"",
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other",
                "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
            ],
        ),
        (
            "batch/v1/jobs",
            json!({ "spec": { "template": never, "manualSelector": true } }),
            &[
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not",
            ],
        ),
        (
            "batch/v1/cronjobs",
            json!({ "spec": { "schedule": "TZ=UTC 0 0 * * *", "timeZone": "Local",
                "jobTemplate": { "spec": { "template": never } } } }),
            &[
                "spec.schedule: Invalid value: \"TZ=UTC 0 0 * * *\": cannot use TZ or CRON_TZ",
                "spec.timeZone: Invalid value: \"Local\": timeZone must be an explicit",
            ],
        ),
        (
            "autoscaling/v1/horizontalpodautoscalers",
            json!({ "spec": { "scaleTargetRef": { "kind": "a/b", "name": "n", "apiVersion": "a/b/c" },
                "targetCPUUtilizationPercentage": 0 } }),
            &[
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion",
                "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be",
            ],
        ),
        (
            "discovery.k8s.io/v1/endpointslices",
            json!({ "addressType": "IPv4", "endpoints": [
                { "addresses": ["127.0.0.1", "::1", "x"] }, { "addresses": [] },
            ] }),
            &[
                "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopb",
                "endpoints[0].addresses: Invalid value: \"::1\": must be an IPv4 address",
                "endpoints[0].addresses[1]: Invalid value: \"::1\": may not be in the loopback",
                "endpoints[0].addresses[2]: Invalid value: \"x\": must be a valid IP address",
                "endpoints[1].addresses: Required value: must contain at least 1 address",
            ],
        ),
        (
            "scheduling.k8s.io/v1/priorityclasses",
            json!({ "metadata": { "name": "system-own" }, "value": 1 }),
            &["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"],
        ),
    ];
    for (place, object, wrong) in rows {
        let said = judge(place, &object, None);
        let fits = said
            .iter()
            .zip(wrong)
            .all(|(said, wrong)| said.starts_with(wrong));
        assert!(fits && said.len() == wrong.len(), "{place}: {said:#?}");
    }
}

#[test]
fn what_stays_in_an_object_is_not_changed() {
    let service = |change: &Value| {
        let mut spec = json!({
            "ports": [{ "port": 80 }], "clusterIP": "10.0.1.1", "clusterIPs": ["10.0.1.1"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        });
        for (field, value) in change.as_object().unwrap() {
            spec[field] = value.clone();
        }
        json!({ "spec": spec })
    };
    let claim = |storage: &str, volume: &str| {
        json!({
            "spec": {
                "accessModes": ["ReadWriteOnce"], "volumeName": volume,
                "resources": { "requests": { "storage": storage } },
            },
            "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } },
        })
    };
    let moved = json!({ "clusterIP": "10.0.1.2", "clusterIPs": ["10.0.1.2"] });
    for (place, new, old, wrong) in [
        (
            "v1/services",
            service(&json!({})),
            service(&json!({})),
            &[][..],
        ),
        (
            "v1/services",
            service(&moved),
            service(&json!({})),
            &["spec.clusterIPs[0]"],
        ),
        (
            "v1/persistentvolumeclaims",
            claim("3Gi", "v"),
            claim("1Gi", ""),
            &[],
        ),
        (
            "v1/persistentvolumeclaims",
            claim("1Gi", "v"),
            claim("3Gi", "v"),
            &["spec.resources.requests.storage"],
        ),
        (
            "v1/persistentvolumeclaims",
            claim("1Gi", "w"),
            claim("1Gi", "v"),
            &["spec"],
        ),
        (
            "storage.k8s.io/v1/storageclasses",
            json!({ "provisioner": "a/b" }),
            json!({ "provisioner": "a/c" }),
            &["provisioner"],
        ),
    ] {
        let said = judge(place, &new, Some(&old));
        let fits = said
            .iter()
            .zip(wrong)
            .all(|(said, wrong)| said.starts_with(wrong));
        assert!(fits && said.len() == wrong.len(), "{place}: {said:#?}");
    }
}
