use std::collections::BTreeMap;
use std::io::Read;

use super::*;
use crate::builtin::resources;
use crate::registry::Resource;

const UID: &str = "00000000-0000-4000-8000-000000000000";
pub(super) const NOW: &str = "2026-01-02T03:04:05Z";

static NOBODY: User = User {
    name: String::new(),
    groups: Vec::new(),
    uid: String::new(),
    extra: BTreeMap::new(),
};

/// Other objects, by plural.
#[derive(Default)]
pub(super) struct Others(pub(super) Vec<(&'static str, Value)>);

impl Cluster for Others {
    fn get(&self, resource: Named<'_>, _: &str, name: &str) -> Option<Value> {
        let mut all = self.list(resource).into_iter();
        all.find(|found| found["metadata"]["name"] == name)
    }

    fn list(&self, resource: Named<'_>) -> Vec<Value> {
        let all = self
            .0
            .iter()
            .filter(|(plural, _)| *plural == resource.resource);
        all.map(|(_, object)| object.clone()).collect()
    }
}

fn others() -> Others {
    let node = json!({ "metadata": { "name": "system-node-critical" }, "value": 2_000_001_000 });
    Others(vec![
        (
            "serviceaccounts",
            json!({ "metadata": { "name": "default" } }),
        ),
        ("priorityclasses", node),
    ])
}

pub(super) fn write<'a>(
    resource: &'a Resource,
    cluster: &'a Others,
    rng: &'a Rng,
) -> BuiltInWrite<'a> {
    BuiltInWrite {
        resource,
        namespace: if resource.namespaced { "probe" } else { "" },
        now: NOW,
        rng,
        cluster,
        user: &NOBODY,
        is_dry_run: true,
    }
}

/// What becomes of an object that is created.
fn created(sent: &Value, cluster: &Others) -> Result<Value, Refusal> {
    let resources = resources();
    let resource = resources
        .iter()
        .find(|found| found.is_kind_of(sent))
        .unwrap();
    let mut object = sent.clone();
    assert_eq!(decode(&mut object, resource), Ok(Vec::new()), "{sent}");
    if object["metadata"].get("generateName").is_some() {
        object["metadata"]["name"] = json!("generated");
    }
    default(&mut object, resource);
    if resource.namespaced {
        object["metadata"]["namespace"] = json!("probe");
    }
    object["metadata"]["uid"] = json!(UID);
    let rng = Rng::seeded(1);
    prepare_create(&mut object, write(resource, cluster, &rng))?;
    Ok(object)
}

/// The same text for what is new at each run.
fn masked(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("uid");
    }
    if object["kind"] == "Namespace" && object["metadata"].get("generateName").is_some() {
        object["metadata"]["labels"] = Value::Null;
    }
    mask(&mut object);
    object
}

fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_uid =
                text.len() == UID.len() && text.bytes().filter(|b| *b == b'-').count() == 4;
            if is_uid || text.starts_with("kube-api-access-") {
                *text = "masked".to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "lastPhaseTransitionTime" {
                    *value = json!("masked");
                }
                mask(value);
            }
        }
        _ => {}
    }
}

fn diff(path: &str, ours: &Value, real: &Value, into: &mut Vec<String>) {
    match (ours, real) {
        (Value::Object(left), Value::Object(right)) => {
            let names: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for name in names {
                let path = format!("{path}.{name}");
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => diff(&path, left, right, into),
                    (left, right) => into.push(format!("{path}: {left:?} {right:?}")),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                diff(&format!("{path}[{index}]"), left, right, into);
            }
        }
        (left, right) if left != right => into.push(format!("{path}: {left} {right}")),
        _ => {}
    }
}

#[test]
fn objects_come_back_as_from_the_real_server() {
    // What was sent there, and what came back: written by `make apiserver-data`.
    let packed = &include_bytes!("../../../testdata/created.jsonl.gz")[..];
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .unwrap();
    let mut wrong = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (sent, real) = (&line["sent"], line["created"].clone());
        let ours = created(sent, &others()).unwrap();
        let resources = resources();
        let resource = resources.iter().find(|found| found.is_kind_of(sent));
        let refused = crate::builtin::validate_create(&ours, resource.unwrap());
        assert!(refused.is_empty(), "{sent}: {refused:#?}");
        let ours = masked(ours);
        let name = format!("{} {}", sent["kind"], sent["metadata"]["name"]);
        diff(&name, &ours, &masked(real), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_cluster_does_not_allow_is_refused_as_by_the_real_server() {
    let pod = |spec: Value| json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": spec });
    let mut taken = others();
    let ports = json!([{ "port": 80, "nodePort": 30_080 }]);
    let spec = json!({ "clusterIP": "10.0.1.1", "ports": ports, "type": "NodePort" });
    taken.0.push((
        "services",
        json!({ "metadata": { "name": "other", "namespace": "probe" }, "spec": spec }),
    ));
    let service = |spec: Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" }, "spec": spec });
    let rows = [
        (
            pod(json!({ "serviceAccountName": "b" })),
            "pods \"a\" is forbidden: error looking up service account probe/b: serviceaccount \"b\" not found",
        ),
        (
            pod(json!({ "priorityClassName": "b" })),
            "pods \"a\" is forbidden: no PriorityClass with name b was found",
        ),
        (
            pod(json!({ "priority": 5 })),
            "pods \"a\" is forbidden: the integer value of priority (5) must not be provided in pod spec; \
             priority admission controller computed 0 from the given PriorityClass name",
        ),
        (
            service(json!({ "type": "NodePort", "ports": ports })),
            "Service \"a\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is \
             already allocated",
        ),
    ];
    for (object, message) in rows {
        assert_eq!(created(&object, &taken).unwrap_err().message, message);
    }
}

#[test]
fn classes_that_are_marked_as_default_are_used() {
    let mut cluster = others();
    let class = |name: &str, mark: &str| json!({ "metadata": { "name": name, "annotations": { mark: "true" } } });
    cluster.0.push((
        "storageclasses",
        class("fast", "storageclass.kubernetes.io/is-default-class"),
    ));
    cluster.0.push((
        "ingressclasses",
        class("outside", "ingressclass.kubernetes.io/is-default-class"),
    ));
    let default = json!({ "metadata": { "name": "low" }, "value": -5, "globalDefault": true });
    cluster.0.push(("priorityclasses", default));
    let of = |version: &str, kind: &str, spec: Value| json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "a" }, "spec": spec });
    let claim = created(&of("v1", "PersistentVolumeClaim", json!({})), &cluster).unwrap();
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    let named = of(
        "v1",
        "PersistentVolumeClaim",
        json!({ "storageClassName": "" }),
    );
    assert_eq!(
        created(&named, &cluster).unwrap()["spec"]["storageClassName"],
        ""
    );
    let ingress = created(&of("networking.k8s.io/v1", "Ingress", json!({})), &cluster).unwrap();
    assert_eq!(ingress["spec"]["ingressClassName"], "outside");
    let pod = created(&of("v1", "Pod", json!({})), &cluster).unwrap();
    assert_eq!(pod["spec"]["priority"], -5);
    assert_eq!(pod["spec"]["priorityClassName"], "low");
}

#[test]
fn updates_count_what_was_asked_for_and_keep_what_was_given() {
    let resources = resources();
    let cluster = others();
    let rng = Rng::seeded(1);
    let updated = |old: &Value, change: &dyn Fn(&mut Value)| {
        let resource = resources
            .iter()
            .find(|found| found.is_kind_of(old))
            .unwrap();
        let mut object = old.clone();
        change(&mut object);
        decode(&mut object, resource).unwrap();
        default(&mut object, resource);
        prepare_update(&mut object, old, write(resource, &cluster, &rng)).unwrap();
        object
    };
    let labels = json!({ "matchLabels": { "a": "b" } });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "a" },
        "spec": { "selector": labels, "template": { "spec": { "containers": [{ "name": "a" }] } } },
    });
    let set = created(&set, &cluster).unwrap();
    let same = updated(&set, &|set| set["status"] = json!({ "numberReady": 3 }));
    assert_eq!(same, set);
    let changed = updated(&set, &|set| {
        set["metadata"] = json!({ "name": "a" });
        set["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    });
    assert_eq!(changed["metadata"]["generation"], 2);
    assert_eq!(
        changed["metadata"]["annotations"][crate::builtin::default::TEMPLATES],
        "2"
    );

    let ports = json!([{ "name": "a", "port": 80 }]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" },
        "spec": { "type": "NodePort", "ports": ports },
    });
    let service = created(&service, &cluster).unwrap();
    let replaced = updated(&service, &|service| {
        service["spec"] = json!({ "type": "NodePort", "ports": [{ "name": "a", "port": 81 }] });
    });
    assert_eq!(replaced["spec"]["clusterIP"], service["spec"]["clusterIP"]);
    assert_eq!(
        replaced["spec"]["ports"][0]["nodePort"],
        service["spec"]["ports"][0]["nodePort"]
    );

    let resource = resources
        .iter()
        .find(|found| found.is_kind_of(&set))
        .unwrap();
    let mut status = set.clone();
    status["spec"] = json!({});
    status["status"]["numberReady"] = json!(3);
    let rng = Rng::seeded(1);
    prepare_update_status(&mut status, &set, write(resource, &cluster, &rng));
    assert_eq!(
        (&status["spec"], &status["status"]["numberReady"]),
        (&set["spec"], &json!(3))
    );
}
