//! Objects that quotas charge, and objects that they refuse.

use serde_json::{Value, json};

use super::*;

fn quota(hard: &Value, used: &Value, spec: &Value) -> Value {
    json!({ "metadata": { "name": "q" }, "spec": spec, "status": { "hard": hard, "used": used } })
}

fn charge(plural: &str, new: &Value, old: Option<&Value>, quota: &Value) -> Result<String, String> {
    let place = GroupResource {
        group: String::new(),
        plural: plural.to_owned(),
    };
    let charge = Charge {
        evaluator: Evaluator::of(&place).unwrap(),
        object: new,
        old,
        subresource: "",
        now: Timestamp::UNIX_EPOCH,
    };
    let charged = charge.of(std::slice::from_ref(quota))?;
    let used = charged.iter().map(|charged| amounts::shown(&charged.used));
    Ok(used.collect::<Vec<_>>().join(" "))
}

fn pod(requests: &Value, more: &Value) -> Value {
    let mut pod = json!({ "spec": { "containers": [{ "name": "c", "resources": { "requests": requests } }] } });
    for (name, value) in more.as_object().unwrap() {
        pod["spec"][name] = value.clone();
    }
    pod
}

#[test]
fn pods_count_by_what_they_request() {
    let none = json!({});
    let hard = json!({ "pods": "2", "requests.cpu": "500m", "requests.example.com/x": "1", "count/pods": "9" });
    let used = json!({ "pods": "1", "requests.cpu": "300m", "requests.example.com/x": "0", "count/pods": "1" });
    let q = quota(&hard, &used, &none);
    let ended = json!({ "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] }, "status": { "phase": "Failed" } });
    for (pod, wanted) in [
        (
            pod(&json!({ "cpu": "200m", "example.com/x": "1" }), &none),
            Ok("count/pods=2,pods=2,requests.cpu=500m,requests.example.com/x=1"),
        ),
        (
            pod(&json!({ "cpu": "201m", "example.com/x": "2" }), &none),
            Err(
                "exceeded quota: q, requested: requests.cpu=201m,requests.example.com/x=2, used: \
                 requests.cpu=300m,requests.example.com/x=0, limited: requests.cpu=500m,requests.example.com/x=1",
            ),
        ),
        (
            pod(&none, &none),
            Err("failed quota: q: must specify requests.cpu for: c"),
        ),
        (
            ended,
            Ok("count/pods=2,pods=1,requests.cpu=300m,requests.example.com/x=0"),
        ),
    ] {
        let said = charge("pods", &pod, None, &q);
        assert_eq!(said.as_deref().map_err(String::as_str), wanted, "{pod}");
    }
    let unknown = quota(&hard, &json!({ "pods": "1" }), &none);
    let said = charge("pods", &pod(&json!({ "cpu": "1" }), &none), None, &unknown);
    let wanted = "status unknown for quota: q, resources: count/pods,pods,requests.cpu,requests.example.com/x";
    assert_eq!(said, Err(wanted.to_owned()));
}

#[test]
fn quotas_with_scopes_are_about_some_pods() {
    let hard = json!({ "pods": "1" });
    let select = |operator: &str, values: &[&str]| {
        let scope = json!({ "scopeName": "PriorityClass", "operator": operator, "values": values });
        json!({ "scopeSelector": { "matchExpressions": [scope] } })
    };
    let cpu = json!({ "cpu": "1" });
    let none = json!({});
    let affinity = json!({ "affinity": { "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{ "namespaces": ["x"] }] } } });
    let high = json!({ "priorityClassName": "high" });
    for (spec, requests, more, counts) in [
        (json!({ "scopes": ["BestEffort"] }), &none, &none, true),
        (json!({ "scopes": ["BestEffort"] }), &cpu, &none, false),
        (
            json!({ "scopes": ["NotBestEffort", "NotTerminating"] }),
            &cpu,
            &none,
            true,
        ),
        (
            json!({ "scopes": ["Terminating"] }),
            &none,
            &json!({ "activeDeadlineSeconds": 1 }),
            true,
        ),
        (
            json!({ "scopes": ["CrossNamespacePodAffinity"] }),
            &none,
            &affinity,
            true,
        ),
        (
            json!({ "scopes": ["CrossNamespacePodAffinity"] }),
            &none,
            &none,
            false,
        ),
        (select("In", &["high"]), &none, &high, true),
        (select("In", &["low"]), &none, &high, false),
        (select("NotIn", &["low"]), &none, &none, true),
        (select("Exists", &[]), &none, &none, false),
        (select("DoesNotExist", &[]), &none, &none, true),
        (
            json!({ "scopes": ["VolumeAttributesClass"] }),
            &none,
            &none,
            false,
        ),
    ] {
        let q = quota(&hard, &json!({ "pods": "0" }), &spec);
        let said = charge("pods", &pod(requests, more), None, &q);
        assert_eq!(
            said.as_deref(),
            Ok(if counts { "pods=1" } else { "" }),
            "{spec}"
        );
    }
}

#[test]
fn updates_are_charged_for_what_grows() {
    let service = |kind: &str, ports: &Value| json!({ "spec": { "type": kind, "ports": ports } });
    let ports = json!([{ "port": 1 }, { "port": 2 }]);
    let hard = json!({ "services": "1", "services.nodeports": "2", "services.loadbalancers": "0" });
    let used = json!({ "services": "1", "services.nodeports": "0", "services.loadbalancers": "0" });
    let q = quota(&hard, &used, &json!({}));
    let plain = service("ClusterIP", &ports);
    let open = service("NodePort", &ports);
    let charged = "services=1,services.loadbalancers=0,services.nodeports=2";
    assert_eq!(
        charge("services", &open, Some(&plain), &q).as_deref(),
        Ok(charged)
    );
    assert_eq!(
        charge("services", &plain, Some(&open), &q).as_deref(),
        Ok("")
    );
    let balanced = charge(
        "services",
        &service("LoadBalancer", &ports),
        Some(&open),
        &q,
    );
    let wanted = "exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: \
                  services.loadbalancers=0";
    assert_eq!(balanced, Err(wanted.to_owned()));
    let claim = |storage: &str| json!({ "spec": { "storageClassName": "gold", "resources": { "requests": { "storage": storage } } } });
    let gold = "gold.storageclass.storage.k8s.io/requests.storage";
    let q = quota(
        &json!({ gold: "3Gi", "silver": "1" }),
        &json!({ gold: "1Gi" }),
        &json!({}),
    );
    let grown = charge(
        "persistentvolumeclaims",
        &claim("2Gi"),
        Some(&claim("1Gi")),
        &q,
    );
    assert_eq!(grown, Ok(format!("{gold}=2Gi")));
}
