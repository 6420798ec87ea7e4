//! Nodes, the status of pods, and endpoints.

use super::*;

fn node(change: &Value) -> Value {
    json!({ "spec": change })
}

#[test]
fn a_node_has_taints_ranges_and_amounts_that_make_sense() {
    let fixed =
        "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid";
    let key = "name part must be non-empty";
    let twice = "metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"w\",\"Effect\":\
                 \"NoExecute\",\"TimeAdded\":null}: taints must be unique by key and effect pair";
    let effect = "metadata.taints[0].effect: Unsupported value: \"Odd\": supported values: \"NoSchedule\", \
                  \"PreferNoSchedule\", \"NoExecute\"";
    let beyond = "spec.podCIDRs[0]: Invalid value: \"10.1.0.1/24\": must not have bits set beyond the prefix \
                  length";
    let no_range = "spec.podCIDRs[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or \
                    2001:db8::/64)";
    let one_range = "spec.podCIDRs: Invalid value: [\"10.1.0.0/24\",\"10.2.0.0/24\"]: may specify no more \
                     than one CIDR for each IP family";
    let twice_sent = json!({ "taints": [
        { "key": "a", "value": "v", "effect": "NoExecute" }, { "key": "a", "value": "w", "effect": "NoExecute" },
    ] });
    let rows: [(Value, &[&str]); 9] = [
        (json!({ "podCIDR": "10.1.0.0/24" }), &[]),
        (json!({ "podCIDRs": ["10.1.0.0/24", "fd00::/64"] }), &[]),
        (
            json!({ "podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"] }),
            &[one_range],
        ),
        (json!({ "podCIDR": "10.1.0.1/24" }), &[beyond]),
        (json!({ "podCIDR": "x" }), &[no_range]),
        // The one range counts, and what differs from it goes.
        (
            json!({ "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24", "10.1.0.0/24"] }),
            &[],
        ),
        (
            json!({ "taints": [{ "key": "a", "effect": "Odd" }] }),
            &[effect],
        ),
        (
            json!({ "taints": [{ "key": "a" }] }),
            &["metadata.taints[0].effect: Required value"],
        ),
        (twice_sent, &[twice]),
    ];
    for (change, wrong) in rows {
        assert_eq!(judge("v1/nodes", &node(&change), None), wrong, "{change}");
    }
    let empty = judge(
        "v1/nodes",
        &node(&json!({ "taints": [{ "effect": "NoExecute" }] })),
        None,
    );
    assert!(empty[0].contains(key), "{empty:?}");

    let old = node(&json!({ "podCIDR": "10.1.0.0/24", "providerID": "a://1" }));
    let provider = "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid";
    let rows: [(Value, &[&str]); 4] = [
        (
            json!({ "podCIDR": "10.1.0.0/24", "providerID": "a://1", "unschedulable": true }),
            &[],
        ),
        (
            json!({ "podCIDR": "10.2.0.0/24", "providerID": "a://1" }),
            &[fixed],
        ),
        (
            json!({ "podCIDR": "10.1.0.0/24", "providerID": "a://2" }),
            &[provider],
        ),
        (json!({}), &[fixed, provider]),
    ];
    for (change, wrong) in rows {
        assert_eq!(
            judge("v1/nodes", &node(&change), Some(&old)),
            wrong,
            "{change}"
        );
    }
    let both = node(&json!({ "podCIDR": "10.1.0.0/24", "providerID": "a://1" }));
    assert_eq!(judge("v1/nodes", &both, Some(&node(&json!({})))), [""; 0]);
}

#[test]
fn the_status_of_a_node_has_whole_and_positive_amounts() {
    let negative = "must be greater than or equal to 0";
    for (list, name, amount, wrong) in [
        ("capacity", "cpu", "100m", ""),
        ("capacity", "cpu", "-1", negative),
        ("allocatable", "memory", "-1Gi", negative),
        ("capacity", "pods", "1500m", "must be an integer"),
        ("capacity", "example.com/gpu", "1500m", "must be an integer"),
    ] {
        // Otherwise the capacity is the default.
        let mut status = json!({ "allocatable": { "example.com/other": "1" } });
        status[list] = json!({ name: amount });
        let new = json!({ "status": status });
        let wanted = if wrong.is_empty() {
            Vec::new()
        } else {
            vec![format!(
                "status.{list}.{name}: Invalid value: \"{amount}\": {wrong}"
            )]
        };
        let old = json!({});
        assert_eq!(
            judge_part("v1/nodes", &new, Some(&old), WriteUnderTest::Status),
            wanted
        );
        assert_eq!(judge("v1/nodes", &new, None), wanted);
    }
    let address = json!({ "type": "InternalIP", "address": "10.0.0.1" });
    let new = json!({ "status": { "addresses": [address, address] } });
    assert_eq!(
        judge_part("v1/nodes", &new, Some(&json!({})), WriteUnderTest::Status),
        [
            "status.addresses[1]: Duplicate value: {\"Type\":\"InternalIP\",\"Address\":\"10.0.0.1\"}"
        ]
    );
}

#[test]
fn the_status_of_a_pod_has_addresses_conditions_and_ends() {
    let pod = |policy: &str, status: &Value| {
        let mut spec = template(&json!({ "restartPolicy": policy }));
        spec["status"] = status.clone();
        spec
    };
    let ended = json!({ "containerStatuses": [
        { "name": "c", "state": { "terminated": { "exitCode": 1 } } },
    ] });
    let runs = json!({ "containerStatuses": [{ "name": "c", "state": { "running": {} } }] });
    let none = json!({});
    let two = json!({ "podIPs": [{ "ip": "10.1.0.1" }, { "ip": "10.1.0.2" }] });
    let no_ip = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    let again = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated \
                 state";
    let rows: [(&str, &Value, Value, &[&str]); 11] = [
        (
            "Always",
            &none,
            json!({ "podIPs": [{ "ip": "10.1.0.1" }, { "ip": "fd00::1" }] }),
            &[],
        ),
        (
            "Always",
            &none,
            two,
            &[
                "status.podIPs: Invalid value: [{\"IP\":\"10.1.0.1\"},{\"IP\":\"10.1.0.2\"}]: may specify no \
               more than one IP for each IP family",
            ],
        ),
        (
            "Always",
            &none,
            json!({ "podIP": "nonsense" }),
            &[&*format!("status.podIPs[0]: Invalid value: \"nonsense\": {no_ip}").leak()],
        ),
        (
            "Always",
            &none,
            json!({ "hostIP": "10.0.0.1", "hostIPs": [{ "ip": "10.0.0.2" }] }),
            &["status.hostIPs[0].ip: Invalid value: \"10.0.0.2\": must be equal to `hostIP`"],
        ),
        (
            "Always",
            &none,
            json!({ "nominatedNodeName": "N" }),
            &[
                "status.nominatedNodeName: Invalid value: \"N\": a lowercase RFC 1123 subdomain must consist of \
               lower case alphanumeric characters, '-' or '.', and must start and end with an \
               alphanumeric character (e.g. 'example.com', regex used for validation is \
               '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
        ("Always", &ended, runs.clone(), &[]),
        ("OnFailure", &ended, runs.clone(), &[]),
        ("Never", &ended, runs.clone(), &[again]),
        ("Never", &runs, ended.clone(), &[]),
        (
            "Never",
            &none,
            json!({ "conditions": [{ "type": "Ready" }] }),
            &[],
        ),
        (
            "Never",
            &none,
            json!({ "conditions": [{ "type": "a.b/Own", "observedGeneration": -1 }] }),
            &[
                "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
            ],
        ),
    ];
    for (policy, held, status, wrong) in rows {
        let (new, old) = (pod(policy, &status), pod(policy, held));
        let said = judge_part("v1/pods", &new, Some(&old), WriteUnderTest::Status);
        assert_eq!(said, wrong, "{policy} {status}");
    }
    let empty = pod("Always", &json!({ "conditions": [{ "type": "" }] }));
    let said = judge_part(
        "v1/pods",
        &empty,
        Some(&pod("Always", &none)),
        WriteUnderTest::Status,
    );
    assert!(
        said[0].starts_with("status.conditions[0].Type: Invalid value: \"\": name part must be")
    );
}

#[test]
fn endpoints_can_be_reached() {
    let subset = |change: &Value| {
        let mut subset = json!({ "addresses": [{ "ip": "10.1.1.1" }], "ports": [{ "port": 80 }] });
        for (field, value) in change.as_object().unwrap() {
            subset[field] = value.clone();
        }
        json!({ "subsets": [subset] })
    };
    let ip = |text: &str| json!({ "addresses": [{ "ip": text }] });
    let at = "subsets[0].addresses[0].ip: Invalid value:";
    let port = "must be between 1 and 65535, inclusive";
    let ports = |number: u64| json!({ "ports": [{ "name": "a", "port": number }] });
    for (change, wrong) in [
        (json!({}), vec![]),
        (
            ip("127.0.0.1"),
            vec![format!(
                "{at} \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
            )],
        ),
        (
            ip("0.0.0.0"),
            vec![format!(
                "{at} \"0.0.0.0\": may not be unspecified (0.0.0.0)"
            )],
        ),
        (
            ip("999.1.1.1"),
            vec![
                format!(
                    "{at} \"999.1.1.1\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
                ),
                format!("{at} \"999.1.1.1\": must be a valid IP address"),
            ],
        ),
        (
            ports(0),
            vec![format!(
                "subsets[0].ports[0].port: Invalid value: 0: {port}"
            )],
        ),
        (
            ports(70_000),
            vec![format!(
                "subsets[0].ports[0].port: Invalid value: 70000: {port}"
            )],
        ),
        (
            json!({ "ports": [{ "port": 80 }, { "name": "b", "port": 81 }] }),
            vec!["subsets[0].ports[0].name: Required value".to_owned()],
        ),
        (
            json!({ "addresses": [] }),
            vec![
                "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"
                    .to_owned(),
            ],
        ),
    ] {
        let object = subset(&change);
        assert_eq!(judge("v1/endpoints", &object, None), wrong, "{change}");
        // What was there already stays.
        assert_eq!(judge("v1/endpoints", &object, Some(&object)), [""; 0]);
    }
    let slice = |kind: &str, address: &str| json!({ "addressType": kind, "endpoints": [{ "addresses": [address] }] });
    for (kind, address, wrong) in [
        ("IPv6", "fd00::1", ""),
        ("IPv6", "FD00::1", "must be in canonical form (\"fd00::1\")"),
        ("FQDN", "a.b.", ""),
        (
            "FQDN",
            "a",
            "should be a domain with at least two segments separated by dots",
        ),
        ("IPv4", "10.01.1.1", "must not have leading 0s"),
    ] {
        let said = judge(
            "discovery.k8s.io/v1/endpointslices",
            &slice(kind, address),
            None,
        );
        assert_eq!(said.is_empty(), wrong.is_empty(), "{said:?}");
        assert!(said.iter().all(|line| line.ends_with(wrong)), "{said:?}");
    }
}
