use serde_json::json;

use super::*;

const CORE: &str = "io.k8s.api.core.v1.";

fn decoded(kind: &str, mut object: Value) -> Value {
    decode_type(&mut object, &format!("{CORE}{kind}")).unwrap();
    object
}

#[test]
fn what_is_empty_goes_or_comes_as_in_go() {
    let rows = [
        (
            "EnvVar",
            json!({ "name": "a", "value": "" }),
            json!({ "name": "a" }),
        ),
        ("EnvVar", json!({}), json!({ "name": "" })),
        (
            "Container",
            json!({ "name": "a", "args": [], "tty": false, "stdin": true, "env": null }),
            json!({ "name": "a", "stdin": true, "resources": {} }),
        ),
        (
            "Container",
            json!({ "name": "a", "args": [null], "securityContext": {} }),
            json!({ "name": "a", "args": [""], "resources": {}, "securityContext": {} }),
        ),
        (
            "PodSpec",
            json!({ "hostNetwork": false, "terminationGracePeriodSeconds": 0 }),
            json!({ "containers": null, "terminationGracePeriodSeconds": 0 }),
        ),
        (
            "ResourceFieldSelector",
            json!({ "resource": "limits.cpu" }),
            json!({ "resource": "limits.cpu", "divisor": "0" }),
        ),
        (
            "HTTPGetAction",
            json!({ "path": "/" }),
            json!({ "path": "/", "port": 0 }),
        ),
        (
            "Service",
            json!({ "spec": {} }),
            json!({ "metadata": {}, "spec": {}, "status": { "loadBalancer": {} } }),
        ),
        (
            "PodCondition",
            json!({ "type": "a", "status": "b" }),
            json!({ "type": "a", "status": "b", "lastProbeTime": null, "lastTransitionTime": null }),
        ),
    ];
    for (kind, object, expected) in rows {
        assert_eq!(decoded(kind, object), expected, "{kind}");
    }
}

#[test]
fn quantities_times_and_bytes_have_one_form() {
    let resources = json!({ "limits": { "cpu": 0.5, "memory": "1024Mi" } });
    let expected = json!({ "limits": { "cpu": "500m", "memory": "1Gi" } });
    assert_eq!(decoded("ResourceRequirements", resources), expected);
    let secret = json!({ "data": { "a": "YQ==\n", "b": [104, null, 255] } });
    let secret = decoded("Secret", secret);
    assert_eq!(secret["data"], json!({ "a": "YQ==", "b": "aAD/" }));
    let event = decoded(
        "Event",
        json!({
            "eventTime": "2026-01-02T03:04:05.123456+01:00",
            "firstTimestamp": "2026-01-02T03:04:05.123456+01:00",
        }),
    );
    assert_eq!(event["eventTime"], "2026-01-02T02:04:05.123456Z");
    assert_eq!(event["firstTimestamp"], "2026-01-02T02:04:05Z");
    assert_eq!(event["lastTimestamp"], Value::Null);
}

#[test]
fn fields_that_the_type_has_not_are_dropped_and_named() {
    let mut pod = json!({
        "metadata": { "zz": 1 },
        "spec": { "containers": [{ "name": "a" }, { "name": "b", "bogus": {} }] },
        "extra": true,
    });
    let unknown = decode_type(&mut pod, &format!("{CORE}Pod")).unwrap();
    assert_eq!(
        unknown,
        ["extra", "metadata.zz", "spec.containers[1].bogus"]
    );
    assert_eq!(pod["metadata"], json!({}));
}

#[test]
fn wrong_types_are_refused_in_the_words_of_go() {
    let container = |container: Value| json!({ "spec": { "containers": [container] } });
    let rows = [
        (
            "Pod",
            container(json!({ "image": true })),
            "bool into Go struct field Container.spec.containers.image of type string",
        ),
        (
            "Pod",
            container(json!("x")),
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "Pod",
            json!({ "spec": { "containers": {} } }),
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            json!({ "spec": { "priority": 1.5 } }),
            "number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            json!({ "spec": { "priority": 4_294_967_296_i64 } }),
            "number 4294967296 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "ConfigMap",
            json!({ "data": [] }),
            "array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "ConfigMap",
            json!({ "data": { "a": 1 } }),
            "number into Go struct field ConfigMap.data of type string",
        ),
        (
            "Service",
            json!({ "spec": { "ports": [{ "targetPort": true }] } }),
            "bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "Pod",
            json!({ "spec": { "volumes": [{ "secret": { "secretName": 1 } }] } }),
            "number into Go struct field SecretVolumeSource.spec.volumes.VolumeSource.secret.secretName of type string",
        ),
        (
            "Secret",
            json!({ "data": { "a": 1 } }),
            "number into Go struct field Secret.data of type []uint8",
        ),
        (
            "Secret",
            json!({ "data": { "a": [256] } }),
            "number 256 into Go struct field Secret.data of type uint8",
        ),
        // A type's own decoder ends everything.
        (
            "Pod",
            json!({ "metadata": { "name": 1, "deletionTimestamp": 2 } }),
            "number into Go struct field ObjectMeta.metadata.deletionTimestamp of type string",
        ),
    ];
    for (kind, mut object, what) in rows {
        let error = decode_type(&mut object, &format!("{CORE}{kind}")).unwrap_err();
        assert_eq!(error, format!("json: cannot unmarshal {what}"));
    }
}
