//! Each check, at the level and the versions where it changes, with its words.

use serde_json::{Value, json};

use super::checks;
use super::labels::{self, LevelVersion};
use super::template::{self, PodTemplate};
use super::{is_significant, violations};
use crate::store::Labels;

fn level(text: &str) -> LevelVersion {
    let (level, version) = text.split_once(':').unwrap_or((text, "latest"));
    let labels = [("enforce", level), ("enforce-version", version)];
    let labels = labels.map(|(mode, text)| {
        let name = format!("pod-security.kubernetes.io/{mode}");
        (name, text.to_owned())
    });
    let (policies, wrong) = labels::read(&Labels::from(labels));
    assert_eq!(wrong, [], "{text}");
    policies.enforce
}

/// The findings of a level about a pod with this spec; empty if there are none.
fn said(of: &str, pod: &Value) -> String {
    violations(level(of), &PodTemplate::of(pod)).unwrap_or_default()
}

/// A pod of one container, with other fields of its spec.
fn pod(container: &Value, spec: &Value) -> Value {
    let mut first = json!({ "name": "c", "image": "i" });
    let mut whole = json!({});
    for (into, from) in [(&mut first, container), (&mut whole, spec)] {
        for (name, value) in from.as_object().unwrap() {
            into[name] = value.clone();
        }
    }
    whole["containers"] = json!([first]);
    json!({ "metadata": {}, "spec": whole })
}

fn contained(context: &Value) -> Value {
    pod(&json!({ "securityContext": context }), &json!({}))
}

fn whole(context: &Value) -> Value {
    pod(&json!({}), &json!({ "securityContext": context }))
}

fn annotated(name: &str, value: &str) -> Value {
    let mut pod = pod(&json!({}), &json!({}));
    pod["metadata"] = json!({ "annotations": { name: value } });
    pod
}

#[test]
fn the_baseline_forbids_what_reaches_the_node() {
    let probe = json!({ "livenessProbe": { "httpGet": { "host": "h" } }, "lifecycle": { "preStop": { "tcpSocket": { "host": "g" } } } });
    let ports = json!({ "ports": [{ "hostPort": 90 }, { "hostPort": 8080 }, { "hostPort": 0 }] });
    let app_armor = "container.apparmor.security.beta.kubernetes.io/c";
    let seccomp = "container.seccomp.security.alpha.kubernetes.io/c";
    let unmasked = |users: bool| {
        let context = json!({ "securityContext": { "procMount": "Unmasked" } });
        pod(&context, &json!({ "hostUsers": users }))
    };
    let sysctls = |names: &[&str]| {
        let names = names.iter().map(|name| json!({ "name": name }));
        whole(&json!({ "sysctls": names.collect::<Vec<_>>() }))
    };
    let mount =
        "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")";
    let rows = [
        ("baseline", pod(&json!({}), &json!({})), ""),
        ("privileged", contained(&json!({ "privileged": true })), ""),
        (
            "baseline:v1.0",
            contained(&json!({ "privileged": true })),
            "privileged (container \"c\" must not set securityContext.privileged=true)",
        ),
        (
            "baseline",
            contained(&json!({ "capabilities": { "add": ["SYS_TIME", "KILL", "NET_RAW"] } })),
            "non-default capabilities (container \"c\" must not include \"NET_RAW\", \"SYS_TIME\" in \
             securityContext.capabilities.add)",
        ),
        (
            "baseline",
            pod(
                &json!({}),
                &json!({ "hostNetwork": true, "hostPID": true, "hostIPC": true }),
            ),
            "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
        ),
        (
            "baseline",
            pod(
                &json!({}),
                &json!({ "volumes": [{ "name": "v", "hostPath": {} }, { "name": "w", "secret": {} }] }),
            ),
            "hostPath volumes (volume \"v\")",
        ),
        (
            "baseline",
            pod(&ports, &json!({})),
            "hostPort (container \"c\" uses hostPorts 8080, 90)",
        ),
        ("baseline:v1.33", pod(&probe, &json!({})), ""),
        (
            "baseline:v1.34",
            pod(&probe, &json!({})),
            "probe or lifecycle host (container \"c\" uses probe or lifecycle hosts \"g\", \"h\")",
        ),
        ("baseline:v1.34", unmasked(false), mount),
        ("baseline", unmasked(false), ""),
        ("baseline", unmasked(true), mount),
        ("restricted:v1.34", unmasked(false), mount),
        ("restricted", unmasked(false), mount),
        (
            "baseline:v1.31",
            whole(&json!({ "seLinuxOptions": { "type": "container_engine_t" } })),
            "",
        ),
        (
            "baseline:v1.30",
            whole(
                &json!({ "seLinuxOptions": { "type": "container_engine_t", "user": "u", "role": "r" } }),
            ),
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"container_engine_t\"; user may \
             not be set; role may not be set)",
        ),
        (
            "baseline",
            whole(&json!({ "appArmorProfile": { "type": "Unconfined" } })),
            "forbidden AppArmor profile (pod must not set AppArmor profile type to \"Unconfined\")",
        ),
        (
            "baseline",
            annotated(app_armor, "unconfined"),
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to \
             \"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")",
        ),
        ("baseline", annotated(app_armor, "localhost/x"), ""),
        (
            "baseline:v1.18",
            annotated(seccomp, "unconfined"),
            "seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/c=\"unconfined\")",
        ),
        ("baseline:v1.19", annotated(seccomp, "unconfined"), ""),
        (
            "baseline",
            contained(&json!({ "seccompProfile": { "type": "Unconfined" } })),
            "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            "baseline:v1.26",
            sysctls(&[
                "net.ipv4.tcp_syncookies",
                "net.ipv4.ip_local_reserved_ports",
                "x",
            ]),
            "forbidden sysctls (net.ipv4.ip_local_reserved_ports, x)",
        ),
        (
            "baseline:v1.27",
            sysctls(&["net.ipv4.ip_local_reserved_ports"]),
            "",
        ),
        (
            "baseline:v1.28",
            sysctls(&["net.ipv4.tcp_fin_timeout"]),
            "forbidden sysctls (net.ipv4.tcp_fin_timeout)",
        ),
        ("baseline:v1.29", sysctls(&["net.ipv4.tcp_fin_timeout"]), ""),
        (
            "baseline:v1.31",
            sysctls(&["net.ipv4.tcp_wmem"]),
            "forbidden sysctls (net.ipv4.tcp_wmem)",
        ),
        ("baseline:v1.99", sysctls(&["net.ipv4.tcp_wmem"]), ""),
        (
            "baseline",
            whole(&json!({ "windowsOptions": { "hostProcess": true } })),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
    ];
    for (of, pod, words) in rows {
        let said = said(of, &pod);
        match (of.starts_with("restricted"), words) {
            (true, words) => assert!(said.contains(words), "{of}: {said}"),
            (false, words) => assert_eq!(said, words, "{of}"),
        }
    }
}

#[test]
fn restricted_pods_must_say_that_they_are_harmless() {
    let silent = pod(&json!({}), &json!({}));
    let escalation = "allowPrivilegeEscalation != false (container \"c\" must set \
                      securityContext.allowPrivilegeEscalation=false)";
    let drop = "unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"])";
    let root =
        "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)";
    let seccomp = "seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to \
                   \"RuntimeDefault\" or \"Localhost\")";
    let everything = [escalation, drop, root, seccomp].join(", ");
    let good = json!({
        "allowPrivilegeEscalation": false, "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" },
        "capabilities": { "drop": ["ALL"], "add": ["NET_BIND_SERVICE"] },
    });
    let but = |field: &str, value: Value| {
        let mut context = good.clone();
        context[field] = value;
        contained(&context)
    };
    let windows = pod(&json!({}), &json!({ "os": { "name": "windows" } }));
    let own_users = pod(
        &json!({ "securityContext": but("runAsUser", json!(0))["spec"]["containers"][0]["securityContext"] }),
        &json!({ "hostUsers": false }),
    );
    let volumes = json!([{ "name": "a", "nfs": {} }, { "name": "b", "csi": {} }, { "name": "d", "hostPath": {} }, { "name": "e" }]);
    let rows = [
        ("restricted", contained(&good), ""),
        ("restricted", silent.clone(), everything.as_str()),
        ("restricted:v1.7", silent.clone(), root),
        (
            "restricted:v1.18",
            silent.clone(),
            &[escalation, root].join(", "),
        ),
        (
            "restricted:v1.21",
            silent,
            &[escalation, root, seccomp].join(", "),
        ),
        ("restricted:v1.24", windows.clone(), &everything),
        ("restricted:v1.25", windows, root),
        (
            "restricted",
            but("runAsNonRoot", json!(false)),
            "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false)",
        ),
        ("restricted:v1.22", but("runAsUser", json!(0)), ""),
        (
            "restricted",
            but("runAsUser", json!(0)),
            "runAsUser=0 (container \"c\" must not set runAsUser=0)",
        ),
        ("restricted", own_users.clone(), ""),
        (
            "restricted:v1.34",
            own_users,
            "runAsUser=0 (container \"c\" must not set runAsUser=0)",
        ),
        (
            "restricted",
            but(
                "capabilities",
                json!({ "drop": ["KILL"], "add": ["CHOWN"] }),
            ),
            "unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]; container \
             \"c\" must not include \"CHOWN\" in securityContext.capabilities.add)",
        ),
        (
            "restricted",
            pod(
                &json!({ "securityContext": good }),
                &json!({ "volumes": volumes }),
            ),
            "restricted volume types (volumes \"a\", \"d\", \"e\" use restricted volume types \"hostPath\", \"nfs\", \
             \"unknown\")",
        ),
    ];
    for (of, pod, words) in rows {
        assert_eq!(said(of, &pod), words, "{of}");
    }
}

#[test]
fn all_containers_count_in_the_order_of_their_lists() {
    let bad = |name: &str| json!({ "name": name, "securityContext": { "privileged": true, "runAsUser": 0 } });
    let pod = json!({ "spec": {
        "securityContext": { "runAsUser": 0 }, "ephemeralContainers": [bad("e")],
        "containers": [bad("b"), { "name": "fine" }], "initContainers": [bad("i")],
    } });
    let found = checks::violations(level("restricted"), &PodTemplate::of(&pod));
    let details: Vec<String> = found.iter().map(checks::Violation::detailed).collect();
    for words in [
        "privileged (containers \"i\", \"b\", \"e\" must not set securityContext.privileged=true)",
        "runAsUser=0 (pod and containers \"i\", \"b\", \"e\" must not set runAsUser=0)",
    ] {
        assert!(details.iter().any(|detail| detail == words), "{details:?}");
    }
}

#[test]
fn templates_lie_where_their_kind_has_them() {
    let at = |pointer: &str| {
        let mut object = json!({ "spec": { "hostPID": true } });
        for name in pointer.rsplit('/') {
            object = json!({ name: object });
        }
        object
    };
    for (group, plural, pointer) in [
        ("", "podtemplates", "template"),
        ("", "replicationcontrollers", "spec/template"),
        ("apps", "deployments", "spec/template"),
        ("apps", "daemonsets", "spec/template"),
        ("batch", "jobs", "spec/template"),
        ("batch", "cronjobs", "spec/jobTemplate/spec/template"),
    ] {
        let object = at(pointer);
        let template = template::of(group, plural, &object).unwrap();
        assert!(
            violations(level("baseline"), &template).is_some(),
            "{plural}"
        );
    }
    assert!(template::of("", "replicationcontrollers", &json!({ "spec": {} })).is_none());
    assert!(template::of("apps", "controllerrevisions", &at("spec/template")).is_none());
}

#[test]
fn only_images_and_new_containers_are_judged_again() {
    let old = json!({ "spec": { "containers": [{ "name": "c", "image": "a" }], "ephemeralContainers": [{ "name": "e", "image": "x" }] } });
    let changed = |pointer: &str, value: Value| {
        let mut pod = old.clone();
        *pod.pointer_mut(pointer).unwrap() = value;
        pod
    };
    for (new, significant) in [
        (old.clone(), false),
        (changed("/spec/containers/0/image", json!("b")), true),
        (
            changed("/spec/ephemeralContainers/0/image", json!("y")),
            true,
        ),
        (
            changed("/spec/ephemeralContainers/0/name", json!("f")),
            true,
        ),
        (changed("/spec/ephemeralContainers", json!([])), false),
        (changed("/spec/containers", json!([])), true),
    ] {
        assert_eq!(is_significant(&new, &old), significant, "{new}");
    }
}
