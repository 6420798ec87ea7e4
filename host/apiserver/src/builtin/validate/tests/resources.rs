//! Rules of network policies, quotas, limit ranges and what pods ask for.

use super::*;

fn check(place: &str, rows: &[(Value, &[&str])]) {
    for (spec, wrong) in rows {
        let said = judge(place, &json!({ "spec": spec }), None);
        assert_eq!(said, *wrong, "{spec}");
    }
}

#[test]
fn a_network_policy_names_peers_ports_and_ranges() {
    let from = |peer: Value| json!({ "podSelector": {}, "ingress": [{ "from": [peer] }] });
    let to = |port: Value| json!({ "podSelector": {}, "egress": [{ "ports": [port] }] });
    let block =
        |cidr: &str, except: &str| json!({ "ipBlock": { "cidr": cidr, "except": [except] } });
    let at = "spec.ingress[0].from[0]";
    let within = format!(
        "{at}.ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`"
    );
    let beside = format!(
        "{at}.ipBlock.except[0]: Invalid value: \"192.0.2.0/24\": must be a strict subset of `cidr`"
    );
    let peer = format!("{at}: Required value: must specify a peer");
    let both = format!("{at}: Forbidden: may not specify both ipBlock and another peer");
    let rows: [(Value, &[&str]); 9] = [
        (from(block("10.0.0.0/8", "10.1.0.0/16")), &[]),
        (from(block("10.0.0.0/8", "10.0.0.0/8")), &[&within]),
        (from(block("10.0.0.0/8", "192.0.2.0/24")), &[&beside]),
        (from(json!({})), &[&peer]),
        (
            from(json!({ "podSelector": {}, "ipBlock": { "cidr": "10.0.0.0/8" } })),
            &[&both],
        ),
        (to(json!({ "port": 80, "endPort": 81 })), &[]),
        (
            to(json!({ "port": 80, "endPort": 79 })),
            &[
                "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
            ],
        ),
        (
            to(json!({ "port": "http", "endPort": 79 })),
            &[
                "spec.egress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is \
               non-numeric",
            ],
        ),
        (
            json!({ "podSelector": {}, "policyTypes": ["Odd"] }),
            &[
                "spec.policyTypes[0]: Unsupported value: \"Odd\": supported values: \"Ingress\", \"Egress\"",
            ],
        ),
    ];
    check("networking.k8s.io/v1/networkpolicies", &rows);
}

#[test]
fn ranges_that_a_policy_has_stay() {
    let policy = |cidr: &str| {
        let peer = json!({ "ipBlock": { "cidr": cidr } });
        json!({ "spec": { "podSelector": {}, "ingress": [{ "from": [peer] }] } })
    };
    let place = "networking.k8s.io/v1/networkpolicies";
    let (old, new) = (policy("10.0.0.1/8"), policy("10.0.0.2/8"));
    assert_eq!(judge(place, &old, Some(&old)), [""; 0]);
    assert_eq!(judge(place, &new, Some(&old)).len(), 1);
}

#[test]
fn a_quota_counts_what_its_scopes_have() {
    let rows: [(Value, &[&str]); 5] = [
        (
            json!({ "hard": { "pods": "1", "example.com/a": "1" } }),
            &[],
        ),
        (
            json!({ "hard": { "pods": "1500m" } }),
            &["spec.hard[pods]: Invalid value: \"1500m\": must be an integer"],
        ),
        (
            json!({ "hard": { "odd": "1" } }),
            &[
                "spec.hard[odd]: Invalid value: \"odd\": must be a standard resource type or fully qualified",
                "spec.hard[odd]: Invalid value: \"odd\": must be a standard resource for quota",
            ],
        ),
        (
            json!({ "hard": { "services": "1" }, "scopes": ["Terminating"] }),
            &[
                "spec.scopes: Invalid value: [\"Terminating\"]: unsupported scope applied to resource",
            ],
        ),
        (
            json!({ "scopes": ["Terminating", "NotTerminating"] }),
            &[
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes",
            ],
        ),
    ];
    check("v1/resourcequotas", &rows);
    let scoped = |scope: &str| json!({ "spec": { "hard": { "pods": "1" }, "scopes": [scope] } });
    let (old, new) = (scoped("Terminating"), scoped("NotTerminating"));
    let said = judge("v1/resourcequotas", &new, Some(&old));
    let fixed = "spec.scopes: Invalid value: [\"NotTerminating\"]: field is immutable";
    assert_eq!(said, [fixed]);
}

#[test]
fn limits_are_in_order() {
    let limit = |limit: Value| json!({ "limits": [limit] });
    let at = "spec.limits[0]";
    let above =
        format!("{at}.min[storage]: Invalid value: \"2\": min value 2 is greater than max value 1");
    let ratio = format!(
        "{at}.maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000"
    );
    let storage = format!(
        "{at}.limits: Required value: either minimum or maximum storage value is required, but neither was \
         provided"
    );
    let rows: [(Value, &[&str]); 4] = [
        (
            limit(json!({ "type": "Container", "min": { "cpu": "1" }, "max": { "cpu": "2" } })),
            &[],
        ),
        (
            limit(
                json!({ "type": "PersistentVolumeClaim", "min": { "storage": "2" }, "max": { "storage": "1" } }),
            ),
            &[&above],
        ),
        (
            limit(json!({
                "type": "Pod", "min": { "cpu": "1" }, "max": { "cpu": "2" },
                "maxLimitRequestRatio": { "cpu": "3" },
            })),
            &[&ratio],
        ),
        (
            limit(json!({ "type": "PersistentVolumeClaim" })),
            &[&storage],
        ),
    ];
    check("v1/limitranges", &rows);
}

#[test]
fn a_pod_as_a_whole_has_room_for_its_containers() {
    let pod = |whole: Value| {
        json!({
            "resources": whole,
            "containers": [{ "name": "c", "image": "i", "resources": {
                "requests": { "cpu": "2" }, "limits": { "memory": "2Gi" },
            } }],
        })
    };
    let rows: [(Value, &[&str]); 4] = [
        (pod(json!({ "requests": { "cpu": "2" } })), &[]),
        (
            pod(json!({ "requests": { "cpu": "1" } })),
            &[
                "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate \
               container requests of 2",
            ],
        ),
        (
            pod(json!({ "requests": { "memory": "2Gi" }, "limits": { "memory": "1Gi" } })),
            &[
                "spec.resources.requests: Invalid value: \"2Gi\": must be less than or equal to memory limit of \
                 1Gi",
                "spec.resources.containers[0][memory].limits: Invalid value: \"2Gi\": must be less than or equal \
                 to pod limits of 1Gi",
            ],
        ),
        (
            pod(json!({ "requests": { "storage": "1" } })),
            &[
                "spec.resources.requests[storage]: Unsupported value: \"storage\": supported values: \"cpu\", \
               \"hugepages-\", \"memory\"",
            ],
        ),
    ];
    check("v1/pods", &rows);
}
