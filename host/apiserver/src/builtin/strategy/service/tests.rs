use super::super::tests::{Others, write};
use super::*;
use crate::builtin::validate::validate_update;
use crate::builtin::{decode, default, prepare_create, prepare_update, resources};
use crate::seams::Rng;

const TYPES: [&str; 4] = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];

fn service(kind: &str, change: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a", "namespace": "probe" },
        "spec": { "type": kind, "ports": [{ "name": "web", "port": 80 }] },
    });
    if kind == "ExternalName" {
        object["spec"]["externalName"] = json!("a.b");
    }
    for (field, value) in change.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

/// A service after a create or an update, and what validation says of it.
fn written(sent: &Value, old: Option<&Value>, others: &Others, dry: bool) -> Result<Value, String> {
    let all = resources();
    let resource = all.iter().find(|found| found.is_kind_of(sent)).unwrap();
    let mut object = sent.clone();
    decode(&mut object, resource).unwrap();
    default(&mut object, resource);
    let rng = Rng::seeded(1);
    let write = BuiltInWrite {
        is_dry_run: dry,
        ..write(resource, others, &rng)
    };
    let done = match old {
        None => prepare_create(&mut object, write),
        Some(old) => prepare_update(&mut object, old, write),
    };
    done.map_err(|refusal| refusal.message)?;
    let causes = validate_update(&object, old.unwrap_or(&object), resource);
    let lines: Vec<String> = causes.iter().map(Cause::line).collect();
    if lines.is_empty() {
        Ok(object)
    } else {
        Err(lines.join("; "))
    }
}

#[test]
fn a_service_changes_its_type_and_drops_what_the_old_type_needs() {
    let others = Others::default();
    for from in TYPES {
        let old = written(&service(from, &json!({})), None, &others, false).unwrap();
        for to in TYPES {
            let mut patched = old.clone();
            patched["spec"]["type"] = json!(to);
            patched["spec"]["externalName"] = json!("a.b");
            for (how, sent) in [("patch", patched), ("apply", service(to, &json!({})))] {
                let new = written(&sent, Some(&old), &others, false)
                    .unwrap_or_else(|why| panic!("{how} {from} to {to}: {why}"));
                let has = |at: &str| new.pointer(at).is_some_and(|value| !is_empty(value));
                let is_open = matches!(to, "NodePort" | "LoadBalancer");
                for (at, is_there) in [
                    ("/spec/clusterIP", to != "ExternalName"),
                    ("/spec/clusterIPs", to != "ExternalName"),
                    ("/spec/ipFamilies", to != "ExternalName"),
                    ("/spec/ipFamilyPolicy", to != "ExternalName"),
                    ("/spec/internalTrafficPolicy", to != "ExternalName"),
                    ("/spec/ports/0/nodePort", is_open),
                    ("/spec/externalTrafficPolicy", is_open),
                    ("/spec/allocateLoadBalancerNodePorts", to == "LoadBalancer"),
                ] {
                    assert_eq!(has(at), is_there, "{how} {from} to {to}: {at}: {new}");
                }
            }
        }
    }
}

#[test]
fn what_only_a_load_balancer_has_goes_with_it_unless_it_is_changed() {
    let others = Others::default();
    let local = json!({ "externalTrafficPolicy": "Local", "loadBalancerClass": "a.b/c" });
    let old = service("LoadBalancer", &local);
    let mut old = written(&old, None, &others, false).unwrap();
    let health = old["spec"]["healthCheckNodePort"].as_u64().unwrap();
    assert!((30_000..=32_767).contains(&health));
    old["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
    let mut sent = old.clone();
    sent["spec"]["type"] = json!("ClusterIP");
    let new = written(&sent, Some(&old), &others, false).unwrap();
    assert_eq!(new["status"], json!({ "loadBalancer": {} }));
    for field in [
        "healthCheckNodePort",
        "loadBalancerClass",
        "externalTrafficPolicy",
    ] {
        assert_eq!(new["spec"].get(field), None, "{field}");
    }
    let cases = [
        (
            "loadBalancerClass",
            json!("a.b/d"),
            "spec.loadBalancerClass: Forbidden: may only be used",
        ),
        (
            "healthCheckNodePort",
            json!(31_000),
            "spec.healthCheckNodePort: Invalid value: 31000: may",
        ),
    ];
    for (field, value, why) in cases {
        let mut sent = sent.clone();
        sent["spec"][field] = value;
        let wrong = written(&sent, Some(&old), &others, false).unwrap_err();
        assert!(wrong.starts_with(why), "{wrong}");
    }
    // While it is a load balancer, its class and its port for health checks stay.
    let mut sent = old.clone();
    sent["spec"]["loadBalancerClass"] = json!("a.b/d");
    let wrong = written(&sent, Some(&old), &others, false).unwrap_err();
    let why = "spec.loadBalancerClass: Invalid value: \"a.b/d\": may not change once set";
    assert_eq!(wrong, why);
    let again = written(&service("LoadBalancer", &local), Some(&old), &others, false).unwrap();
    assert_eq!(again["spec"]["healthCheckNodePort"], json!(health));
}

#[test]
fn ports_of_nodes_are_given_and_refused_as_by_the_real_server() {
    let two = json!({ "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] });
    let both = json!({ "ports": [
        { "name": "a", "port": 53 }, { "name": "b", "port": 53, "protocol": "UDP" },
    ] });
    let asked = |number: u64| json!({ "ports": [{ "port": 80, "nodePort": number }] });
    let taken = service("NodePort", &asked(30_080));
    let mut taken = Others(vec![("services", taken)]);
    taken.0[0].1["metadata"]["name"] = json!("other");
    taken.0[0].1["spec"]["clusterIP"] = json!("10.0.1.1");
    let numbers = |change: &Value, dry: bool| {
        let object = written(&service("NodePort", change), None, &taken, dry)?;
        let ports = object["spec"]["ports"].as_array().unwrap();
        let numbers = ports.iter().map(|port| port["nodePort"].as_u64().unwrap());
        Ok::<_, String>(numbers.collect::<Vec<u64>>())
    };
    assert_eq!(numbers(&two, true).unwrap(), [32_769, 32_770]);
    let given = numbers(&two, false).unwrap();
    assert!(
        given[0] != given[1]
            && given
                .iter()
                .all(|number| (30_000..=32_767).contains(number))
    );
    let given = numbers(&both, false).unwrap();
    assert_eq!(given[0], given[1]);
    // A dry run does not look at the range.
    assert_eq!(numbers(&asked(80), true).unwrap(), [80]);
    let why = "Service \"a\" is invalid: spec.ports[0].nodePort: Invalid value: ";
    let outside =
        "provided port is not in the valid range. The range of valid ports is 30000-32767";
    let held = "provided port is already allocated";
    for (number, dry, wrong) in [
        (80, false, outside),
        (30_080, false, held),
        (30_080, true, held),
    ] {
        let said = numbers(&asked(number), dry).unwrap_err();
        assert_eq!(said, format!("{why}{number}: {wrong}"));
    }
}

#[test]
fn addresses_are_checked_before_they_are_given() {
    let mut other = service("ClusterIP", &json!({ "clusterIP": "10.0.1.1" }));
    other["metadata"]["name"] = json!("other");
    let taken = Others(vec![("services", other)]);
    for (change, wrong) in [
        (
            json!({ "clusterIP": "10.0.1.1" }),
            "spec.clusterIPs: Invalid value: [\"10.0.1.1\"]: failed to allocate IP 10.0.1.1: provided IP is \
             already allocated",
        ),
        (
            json!({ "clusterIP": "10.0.1" }),
            "spec.clusterIPs[0]: Invalid value: \"10.0.1\": must be a valid IP address, (e.g. 10.9.8.7 or \
             2001:db8::ffff)",
        ),
        (
            json!({ "clusterIP": "fd00::1" }),
            "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster",
        ),
        (
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for \
             dual-stack services",
        ),
        (
            json!({ "ipFamilies": ["IPv6"] }),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
    ] {
        let said = written(&service("ClusterIP", &change), None, &taken, false).unwrap_err();
        assert_eq!(said, format!("Service \"a\" is invalid: {wrong}"));
    }
    let free = json!({ "clusterIP": "None" });
    let free = written(&service("ClusterIP", &free), None, &taken, false).unwrap();
    assert_eq!(free["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(free["spec"]["ipFamilyPolicy"], "RequireDualStack");
}
