use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLASSES: &str = "/apis/storage.k8s.io/v1/volumeattributesclasses";

fn claim(name: &str, more: &Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name }, "spec": spec })
}

fn volume(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/x" },
        },
    })
}

fn pod(node: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": {
            "nodeName": node, "containers": [{ "name": "main", "image": "nginx" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
        },
    })
}

#[test]
fn what_nobody_uses_goes_at_once() {
    play(Options::default(), async |api| {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": { "name": "fast" },
            "driverName": "csi.example.com", "parameters": { "iops": "1" },
        });
        for (path, object) in [
            (CLAIMS, claim("data", &json!({}))),
            (VOLUMES, volume("disk")),
            (CLASSES, class),
        ] {
            let made = api.create(path, &object).await;
            assert_eq!(finalizers(&made).len(), 1, "{made}");
            let path = format!("{path}/{}", made["metadata"]["name"].as_str().unwrap());
            api.delete(&path, "Background").await;
            api.settle().await;
            assert!(!api.exists(&path).await, "{path}");
        }
        // A claim with the finalizer of somebody else stays, without the finalizer of the server.
        let mut held = claim("held", &json!({}));
        held["metadata"]["finalizers"] = json!(["example.com/hold"]);
        api.create(CLAIMS, &held).await;
        let path = format!("{CLAIMS}/held");
        api.delete(&path, "Background").await;
        api.settle().await;
        assert_eq!(finalizers(&api.get(&path).await), ["example.com/hold"]);
    });
}

#[test]
fn a_claim_stays_as_long_as_a_pod_on_a_node_uses_it() {
    play(Options::default(), async |api| {
        let path = format!("{CLAIMS}/data");
        for (node, stays) in [(Some("one"), true), (None, false)] {
            api.create(CLAIMS, &claim("data", &json!({}))).await;
            api.create(PODS, &pod(node)).await;
            api.delete(&path, "Background").await;
            api.settle().await;
            assert_eq!(api.exists(&path).await, stays, "{node:?}");
            let now = json!({ "gracePeriodSeconds": 0 });
            api.send("DELETE", &format!("{PODS}/web"), &now).await;
            api.settle().await;
            assert!(!api.exists(&path).await, "{node:?}");
        }
    });
}

#[test]
fn a_volume_stays_while_it_is_bound_and_a_class_while_a_claim_names_it() {
    play(Options::default(), async |api| {
        api.create(VOLUMES, &volume("disk")).await;
        let path = format!("{VOLUMES}/disk");
        let phase = |phase: &str| json!({ "status": { "phase": phase } });
        api.patch(&format!("{path}/status"), &phase("Bound")).await;
        api.delete(&path, "Background").await;
        api.settle().await;
        assert!(api.exists(&path).await);
        api.patch(&format!("{path}/status"), &phase("Released"))
            .await;
        api.settle().await;
        assert!(!api.exists(&path).await);

        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": { "name": "fast" },
            "driverName": "csi.example.com", "parameters": { "iops": "1" },
        });
        api.create(CLASSES, &class).await;
        let named = claim("data", &json!({ "volumeAttributesClassName": "fast" }));
        api.create(CLAIMS, &named).await;
        let path = format!("{CLASSES}/fast");
        api.delete(&path, "Background").await;
        api.settle().await;
        assert!(api.exists(&path).await);
        api.delete(&format!("{CLAIMS}/data"), "Background").await;
        api.settle().await;
        assert!(!api.exists(&path).await);
    });
}
