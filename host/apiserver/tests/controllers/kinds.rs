//! One object of each built-in kind is made and deleted: whatever the server adds to it, something that the server runs
//! takes off again.

use super::*;

/// A definition by its name.
const CRD: &str = "things.example.com";

/// The fields that an object of a kind needs beside its name, by resource.
fn needs(plural: &str) -> Value {
    let pod = json!({ "containers": [{ "name": "main", "image": "nginx" }] });
    let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": pod });
    let workload = json!({
        "selector": { "matchLabels": { "app": "a" } }, "template": template, "serviceName": "a",
    });
    let once = json!({ "template": { "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "main", "image": "nginx" }],
    } } });
    let constraints = json!({ "resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"],
    }] });
    let spec = match plural {
        "persistentvolumeclaims" => json!({
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
        }),
        "persistentvolumes" => json!({
            "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/x" },
        }),
        "pods" => pod,
        "services" => json!({ "ports": [{ "port": 80 }] }),
        "daemonsets" | "deployments" | "replicasets" | "statefulsets" => {
            let mut workload = workload;
            if plural != "statefulsets" {
                workload.as_object_mut().unwrap().remove("serviceName");
            }
            workload
        }
        "jobs" => once,
        "cronjobs" => json!({ "schedule": "* * * * *", "jobTemplate": { "spec": once } }),
        "horizontalpodautoscalers" => json!({
            "maxReplicas": 2, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" },
        }),
        "ingresses" => json!({
            "defaultBackend": { "service": { "name": "a", "port": { "number": 80 } } },
        }),
        "certificatesigningrequests" => json!({
            "usages": ["client auth"], "signerName": "example.com/a", "request": "LS0tLS1CRUdJTg==",
        }),
        "mutatingadmissionpolicies" => json!({
            "matchConstraints": constraints, "reinvocationPolicy": "Never",
            "mutations": [{
                "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" },
            }],
        }),
        "validatingadmissionpolicies" => json!({
            "matchConstraints": constraints, "validations": [{ "expression": "true" }],
        }),
        "mutatingadmissionpolicybindings" => json!({ "policyName": "a" }),
        "validatingadmissionpolicybindings" => {
            json!({ "policyName": "a", "validationActions": ["Deny"] })
        }
        "apiservices" => json!({
            "group": "example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "service": { "namespace": "default", "name": "a" },
        }),
        "ipaddresses" => json!({
            "parentRef": { "resource": "services", "namespace": "default", "name": "a" },
        }),
        "servicecidrs" => json!({ "cidrs": ["10.2.0.0/16"] }),
        "customresourcedefinitions" => json!({
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        }),
        _ => Value::Null,
    };
    let mut object = match plural {
        "clusterrolebindings" | "rolebindings" => json!({
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        }),
        "storageclasses" => json!({ "provisioner": "example.com/a" }),
        "volumeattributesclasses" => {
            json!({ "driverName": "example.com", "parameters": { "iops": "1" } })
        }
        "endpointslices" => json!({ "addressType": "IPv4", "endpoints": [] }),
        "events" => json!({
            "eventTime": "2026-11-21T09:30:00.000000Z", "type": "Normal", "reason": "Made", "action": "Make",
            "reportingController": "example.com/a", "reportingComponent": "example.com/a",
            "reportingInstance": "a",
            "involvedObject": { "namespace": "default" }, "regarding": { "namespace": "default" },
        }),
        _ => json!({}),
    };
    if !spec.is_null() {
        object["spec"] = spec;
    }
    let name = match plural {
        "customresourcedefinitions" => CRD,
        "apiservices" => "v1.example.com",
        "ipaddresses" => "10.1.2.3",
        _ => "a",
    };
    object["metadata"]["name"] = json!(name);
    object
}

/// Without a node, pods wait; with one, they run.
#[test]
fn one_object_of_each_built_in_kind_goes_when_it_is_deleted() {
    let nodes = [Node::Absent, Node::Full];
    nodes.into_iter().for_each(one_of_each);
}

fn one_of_each(node: Node) {
    let options = Options {
        node,
        ..Options::default()
    };
    play(options, async |api| {
        let registry = api.0.registry();
        let (mut tried, mut problems) = (0, Vec::new());
        for resource in registry.all() {
            let can = |verb: &str| resource.verbs.iter().any(|held| held == verb);
            if !can("create") || !can("delete") {
                continue;
            }
            tried += 1;
            let version = match &*resource.group {
                "" => format!("/api/{}", resource.version),
                group => format!("/apis/{group}/{}", resource.version),
            };
            let place = match resource.namespaced {
                true => "/namespaces/default",
                false => "",
            };
            let path = format!("{version}{place}/{}", resource.plural);
            let (code, made) = api.send("POST", &path, &needs(&resource.plural)).await;
            if code != 201 {
                problems.push(format!("{path}: {}", made["message"]));
                continue;
            }
            api.settle().await;
            let path = format!("{path}/{}", made["metadata"]["name"].as_str().unwrap());
            api.delete(&path, "Background").await;
            // A pod on a node takes its time to end.
            api.wait(Duration::from_secs(60)).await;
            if api.exists(&path).await {
                problems.push(format!("{path} stays: {}", api.get(&path).await));
            }
        }
        assert!(tried >= 60, "{tried}");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    });
}
