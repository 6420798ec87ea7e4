//! Templates of pods: each is refused by the real server in these words.

use super::*;

/// A Deployment whose pods, or whose one container, differ.
fn judged(of_container: bool, change: &Value) -> Vec<String> {
    let mut pods = template(&json!({}));
    let at = if of_container {
        "/spec/containers/0"
    } else {
        "/spec"
    };
    let held = pods.pointer_mut(at).unwrap();
    for (field, value) in change.as_object().unwrap() {
        held[field] = value.clone();
    }
    judge(
        "apps/v1/deployments",
        &workload(&json!({ "template": pods })),
        None,
    )
}

fn check(of_container: bool, rows: &[(Value, &str)]) {
    let at = if of_container {
        "spec.template.spec.containers[0]."
    } else {
        "spec.template.spec."
    };
    for (change, wrong) in rows {
        let said = judged(of_container, change);
        let wanted: Vec<String> = match *wrong {
            "" => Vec::new(),
            wrong => vec![format!("{at}{wrong}")],
        };
        assert_eq!(said, wanted, "{change}");
    }
}

#[test]
fn volumes_come_from_somewhere() {
    let volume = |source: Value| {
        let mut volume = source;
        volume["name"] = json!("v");
        json!({ "volumes": [volume] })
    };
    let mode = "must be a number between 0 and 0777 (octal), both inclusive";
    let item = |path: &str| {
        volume(json!({ "configMap": { "name": "x", "items": [{ "key": "k", "path": path }] } }))
    };
    let field = |path: &str| {
        let file = json!({ "path": "f", "fieldRef": { "fieldPath": path } });
        volume(json!({ "downwardAPI": { "items": [file] } }))
    };
    let token = json!({ "serviceAccountToken": { "path": "t", "expirationSeconds": 60 } });
    let rows = [
        (volume(json!({ "emptyDir": { "sizeLimit": "1Gi" } })), ""),
        (
            volume(json!({ "configMap": { "name": "x", "defaultMode": 0o644 } })),
            "",
        ),
        (
            volume(json!({ "configMap": { "name": "x", "defaultMode": 1000 } })),
            &*format!("volumes[0].configMap.defaultMode: Invalid value: 1000: {mode}").leak(),
        ),
        (
            volume(json!({ "secret": {} })),
            "volumes[0].secret.secretName: Required value",
        ),
        (
            volume(json!({ "persistentVolumeClaim": { "claimName": "" } })),
            "volumes[0].persistentVolumeClaim.claimName: Required value",
        ),
        (
            volume(json!({ "emptyDir": { "sizeLimit": "-1" } })),
            "volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
        ),
        (
            volume(json!({ "hostPath": { "path": "/a/../b" } })),
            "volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
        ),
        (item("a/b"), ""),
        (
            item("/a"),
            "volumes[0].configMap.items[0].path: Invalid value: \"/a\": must be a relative path",
        ),
        (
            item("..a"),
            "volumes[0].configMap.items[0].path: Invalid value: \"..a\": must not start with '..'",
        ),
        (field("metadata.labels['a']"), ""),
        (
            field("status.podIP"),
            "volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"status.podIP\": \
             supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \
             \"metadata.namespace\", \"metadata.uid\"",
        ),
        (
            volume(json!({ "projected": { "sources": [token] } })),
            "volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: may \
             not specify a duration less than 10 minutes",
        ),
    ];
    check(false, &rows);
}

#[test]
fn variables_and_mounts_of_a_container_make_sense() {
    let from = |source: Value| json!({ "env": [{ "name": "A", "valueFrom": source }] });
    let name = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
    let both = json!({ "env": [{ "name": "A", "value": "x", "valueFrom": name }] });
    let amount = json!({ "resourceFieldRef": { "resource": "limits.cpu", "divisor": "2" } });
    let rows = [
        (from(name), ""),
        (
            both,
            "env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
        ),
        (
            from(json!({ "fieldRef": { "fieldPath": "spec.foo" } })),
            "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.foo\": error converting fieldPath: \
             field label not supported: spec.foo",
        ),
        (
            from(json!({})),
            "env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, \
             `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        (
            from(json!({ "secretKeyRef": { "name": "s" } })),
            "env[0].valueFrom.secretKeyRef.key: Required value",
        ),
        (
            from(amount),
            "env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values \
             1m and 1 are supported with the cpu resource",
        ),
        (
            json!({ "envFrom": [{}] }),
            "envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
        ),
        (
            json!({ "ports": [{ "containerPort": 80, "hostPort": 80 }, { "containerPort": 81, "hostPort": 80 }] }),
            "ports[1].hostPort: Duplicate value: \"TCP//80\"",
        ),
        (
            json!({ "volumeDevices": [{ "name": "v", "devicePath": "/d" }] }),
            "volumeDevices[0].name: Not found: \"v\"",
        ),
        (
            json!({ "restartPolicyRules": [{ "action": "Restart", "exitCodes": { "operator": "In", "values": [1] } }] }),
            "restartPolicy: Required value: must specify restartPolicy when restart rules are used",
        ),
    ];
    check(true, &rows);
}

#[test]
fn probes_and_hooks_have_one_handler() {
    let live = |probe: Value| json!({ "livenessProbe": probe });
    let get = |port: Value| json!({ "httpGet": { "port": port } });
    let rows = [
        (live(get(json!(80))), ""),
        (live(get(json!("web"))), ""),
        (
            live(get(json!("80"))),
            "livenessProbe.httpGet.port: Invalid value: \"80\": must contain at least one letter (a-z)",
        ),
        (
            live(json!({ "exec": { "command": ["x"] }, "tcpSocket": { "port": 80 } })),
            "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        ),
        (
            json!({ "readinessProbe": { "periodSeconds": 3 } }),
            "readinessProbe: Required value: must specify a handler type",
        ),
        (
            live(json!({ "httpGet": { "port": 80, "scheme": "FTP" } })),
            "livenessProbe.httpGet.scheme: Unsupported value: \"FTP\": supported values: \"HTTP\", \"HTTPS\"",
        ),
        (
            live(json!({ "tcpSocket": { "port": 80 }, "successThreshold": 2 })),
            "livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            json!({ "readinessProbe": { "grpc": { "port": 80 }, "terminationGracePeriodSeconds": 5 } }),
            "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for \
             readinessProbes",
        ),
        (
            json!({ "lifecycle": { "preStop": { "sleep": { "seconds": 31 } } } }),
            "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
             terminationGracePeriodSeconds (30)",
        ),
    ];
    check(true, &rows);
}

#[test]
fn a_pod_is_scheduled_by_what_makes_sense() {
    let required = |terms: Value| {
        let terms = json!({ "nodeSelectorTerms": terms });
        json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": terms } } })
    };
    let at =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let near = |term: Value| json!({ "affinity": { "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } });
    let spread = |skew: u64, action: &str| {
        json!({ "topologySpreadConstraints": [
            { "maxSkew": skew, "topologyKey": "x", "whenUnsatisfiable": action },
        ] })
    };
    let empty = format!("{at}: Required value: must have at least one node selector term");
    let operator = format!(
        "{at}[0].matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator"
    );
    let selector = json!({ "matchLabels": { "a": "b" } });
    let rows = [
        (
            required(json!([{ "matchExpressions": [{ "key": "a", "operator": "Exists" }] }])),
            "",
        ),
        (required(json!([])), &*empty),
        (
            required(json!([{ "matchExpressions": [{ "key": "a", "operator": "Is" }] }])),
            &*operator,
        ),
        (
            near(json!({ "labelSelector": selector, "topologyKey": "zone" })),
            "",
        ),
        (
            near(json!({ "topologyKey": "zone", "matchLabelKeys": ["a"] })),
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: \
             Forbidden: must not be specified when labelSelector is not set",
        ),
        (spread(1, "DoNotSchedule"), ""),
        (
            spread(0, "DoNotSchedule"),
            "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            spread(1, "Wait"),
            "topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"Wait\": supported values: \
             \"DoNotSchedule\", \"ScheduleAnyway\"",
        ),
    ];
    check(false, &rows);
}

#[test]
fn security_names_and_systems_of_a_pod_make_sense() {
    let context = |change: Value| json!({ "securityContext": change });
    let alias = json!({ "hostAliases": [{ "ip": "x", "hostnames": ["a"] }] });
    let rows = [
        (
            context(json!({ "runAsUser": -1 })),
            "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            context(json!({ "seccompProfile": { "type": "Localhost" } })),
            "securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is \
             Localhost",
        ),
        (
            context(json!({ "fsGroupChangePolicy": "Never" })),
            "securityContext.fsGroupChangePolicy: Unsupported value: \"Never\": supported values: \"Always\", \
             \"OnRootMismatch\"",
        ),
        (
            context(json!({ "sysctls": [{ "name": "net.core/a_b", "value": "1" }] })),
            "",
        ),
        (
            context(json!({ "sysctls": [{ "name": "A", "value": "1" }] })),
            "securityContext.sysctls[0].name: Invalid value: \"A\": must have at most 253 characters and match \
             regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
        ),
        (
            alias,
            "hostAliases[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or \
             2001:db8::ffff)",
        ),
        (
            json!({ "dnsPolicy": "None" }),
            "dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (json!({ "dnsConfig": { "searches": ["_tcp.a", "."] } }), ""),
        (
            json!({ "dnsConfig": { "options": [{ "value": "1" }] } }),
            "dnsConfig.options[0]: Required value: must not be empty",
        ),
        (
            json!({ "os": { "name": "plan9" } }),
            "os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\"",
        ),
        (
            json!({ "overhead": { "cpu": "-1" } }),
            "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            json!({ "hostUsers": false, "hostPID": true }),
            "HostPID: Forbidden: when `hostUsers` is false",
        ),
        (
            json!({ "hostNetwork": true, "containers": [
                { "name": "c", "image": "i", "ports": [{ "containerPort": 80, "hostPort": 81 }] },
            ] }),
            "containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when \
             `hostNetwork` is true",
        ),
    ];
    check(false, &rows);
}
