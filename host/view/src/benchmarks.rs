//! Tracked reads, and what is made of an object's text, for the benchmarks of the host.

use std::hint::black_box;

use serde_json::{Value, json};

use super::reads::{GroupKind, Read, Reads};
use windlass_base::memory::Account;
use windlass_base::scene::Scene;
use windlass_kube::object::{Fields, Key, Metadata, Object, Selection, TextCompressor};
use windlass_kube::selector::LabelSelector;

const STEPS: usize = 1_000;
const READERS: usize = 10_000;
const PODS: usize = 100;
const ROWS: usize = 1_000;

/// It is looked up who has read what changed: one of 10,000 keys, of which each reads an object and a list.
pub fn woken() -> Scene {
    let kind = GroupKind {
        group: String::new(),
        kind: "ConfigMap".to_owned(),
    };
    let key = |name: String| Key::new(Some("default"), &name);
    let mut reads = Reads::on(&Account::unlimited());
    for number in 0..READERS {
        let reader = key(format!("reader-{number}"));
        let selector = LabelSelector::parse(&format!("part={number}")).unwrap_or_default();
        reads.begin(&reader);
        let _ = reads.read(
            &reader,
            &kind,
            Read::Object(key(format!("object-{number}"))),
        );
        let list = Read::List(Some("default".to_owned()), selector);
        let _ = reads.read(&reader, &kind, list);
        reads.settle(&reader);
    }
    let changed: Vec<Metadata> = (0..STEPS)
        .filter_map(|number| {
            let metadata = json!({
                "name": format!("object-{}", number * 7),
                "namespace": "default",
                "labels": { "part": (number * 3).to_string() },
            });
            let object = Object::new(&json!({ "metadata": metadata }))?;
            Some((*object.metadata).clone())
        })
        .collect();
    Scene::new(STEPS, move || {
        for metadata in &changed {
            black_box(reads.woken(&kind, Some(metadata), Some(metadata)));
        }
        (reads, changed)
    })
}

/// The text of a pod is parsed, and what nobody reads is taken out of it.
pub fn parse() -> Scene {
    let text = pod().to_string();
    Scene::new(PODS, move || {
        for _ in 0..PODS {
            black_box(Object::parse(black_box(&text)));
        }
    })
}

/// Four fields of a pod are selected, of the packed text of a store.
pub fn select() -> Scene {
    let mut compressor = TextCompressor::default();
    let paths = [
        ".metadata.name",
        ".metadata.labels['pod-template-hash']",
        ".spec.containers[*].image",
        ".status.phase",
    ];
    let selection = Selection::of(&Fields::parse(paths).unwrap_or_default());
    let pods: Vec<Object> = (0..ROWS)
        .filter_map(|number| {
            let mut pod = pod();
            let name = format!("pod-{number}");
            if let Some(held) = pod.pointer_mut("/metadata/name") {
                *held = name.into();
            }
            let mut pod = Object::new(&pod)?;
            compressor.pack(&mut pod.json);
            Some(pod)
        })
        .collect();
    Scene::new(ROWS, move || {
        for pod in &pods {
            let _ = black_box(selection.row(black_box(&pod.json.text()), usize::MAX));
        }
        (pods, selection)
    })
}

/// A pod of about 8 KB, of which `managedFields` are a fifth.
fn pod() -> Value {
    let variable = |number: usize| json!({ "name": format!("UPSTREAM_ADDRESS_{number}"), "value": "https://service.team.svc.cluster.local:8443/api" });
    let container = |name: &str| {
        json!({
            "name": name,
            "image": format!("registry.example.com/team/{name}:v1.0.0"),
            "env": (0..20).map(variable).collect::<Vec<_>>(),
            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
        })
    };
    let owns = |number: usize| {
        (
            format!("k:{{\"name\":\"UPSTREAM_ADDRESS_{number}\"}}"),
            json!({ ".": {}, "f:name": {}, "f:value": {} }),
        )
    };
    let owned: serde_json::Map<String, Value> = (0..20).map(owns).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-1",
            "namespace": "default",
            "uid": "00000000-0000-0000-0000-000000000001",
            "resourceVersion": "12345",
            "labels": { "app": "measured", "pod-template-hash": "7d9f" },
            "annotations": { "checksum/config": "0".repeat(64) },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "measured", "uid": "1" }],
            "managedFields": [{
                "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": { "f:containers": { "k:{\"name\":\"server\"}": { "f:env": owned } } } },
            }],
        },
        "spec": { "containers": [container("server"), container("sidecar")] },
        "status": { "phase": "Running", "podIP": "10.0.0.1" },
    })
}
