//! What a pod gets on its way in: a service account with a token, tolerations, a priority.

use serde_json::{Value, json};

use super::{BuiltInWrite, Fields, is_empty, object, priority, put, qos, runtime};
use crate::json::text;
use crate::status::{Named, Refusal};

const TOKEN_VOLUME: &str = "kube-api-access-";
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What admission plugins add.
pub(super) fn admit(pod: &mut Fields, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    let annotations = pod
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let is_mirror = annotations.is_some_and(|annotations| annotations.get(MIRROR).is_some());
    put(pod, "spec", json!({}));
    if !is_mirror {
        set_account(pod, write)?;
    }
    tolerate(pod);
    priority::admit(pod, write)?;
    runtime::admit(pod, write)
}

fn set_account(pod: &mut Fields, write: BuiltInWrite<'_>) -> Result<(), Refusal> {
    let spec = pod.get("spec").and_then(Value::as_object);
    let name = match spec.map(|spec| text(spec, "serviceAccountName")) {
        None | Some("") => "default".to_owned(),
        Some(name) => name.to_owned(),
    };
    let accounts = Named {
        group: "",
        resource: "serviceaccounts",
    };
    let Some(account) = write.cluster.get(accounts, write.namespace, &name) else {
        let why = format!(
            "error looking up service account {}/{name}: serviceaccount {name:?} not found",
            write.namespace
        );
        return Err(write.forbidden(pod, &why));
    };
    let Some(spec) = object(pod, "spec") else {
        return Ok(());
    };
    spec.insert("serviceAccountName".to_owned(), name.clone().into());
    spec.insert("serviceAccount".to_owned(), name.into());
    let mounts = |found: Option<&Value>| found.and_then(Value::as_bool);
    let wanted = mounts(spec.get("automountServiceAccountToken"))
        .or_else(|| mounts(account.get("automountServiceAccountToken")))
        .unwrap_or(true);
    if wanted {
        mount_token(spec, write);
    }
    if let Some(secrets) = account.get("imagePullSecrets")
        && spec.get("imagePullSecrets").is_none_or(is_empty)
    {
        spec.insert("imagePullSecrets".to_owned(), secrets.clone());
    }
    Ok(())
}

fn mount_token(spec: &mut Fields, write: BuiltInWrite<'_>) {
    let volumes = spec
        .get("volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut names = volumes.filter_map(|volume| volume.get("name")?.as_str());
    let existing = names
        .find(|name| name.starts_with(TOKEN_VOLUME))
        .map(str::to_owned);
    let has_volume = existing.is_some();
    let name = existing.unwrap_or_else(|| format!("{TOKEN_VOLUME}{}", write.rng.suffix()));
    let mount = json!({ "name": name, "readOnly": true, "mountPath": TOKEN_PATH });
    let mut is_mounted = false;
    for list in ["initContainers", "containers"] {
        for container in super::super::default::objects(spec, list) {
            put(container, "volumeMounts", json!([]));
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts")
                && !mounts
                    .iter()
                    .any(|found| found.get("mountPath") == mount.get("mountPath"))
            {
                mounts.push(mount.clone());
                is_mounted = true;
            }
        }
    }
    if has_volume || !is_mounted {
        return;
    }
    put(spec, "volumes", json!([]));
    if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
        volumes.push(token_volume(&name));
    }
}

fn token_volume(name: &str) -> Value {
    let field = json!({ "apiVersion": "v1", "fieldPath": "metadata.namespace" });
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": {
                    "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }],
                } },
                { "downwardAPI": { "items": [{ "path": "namespace", "fieldRef": field }] } },
            ],
        },
    })
}

/// A pod stays five minutes on a node that is gone. Updates add that too (DefaultTolerationSeconds).
pub(super) fn tolerate(pod: &mut Fields) {
    let Some(spec) = object(pod, "spec") else {
        return;
    };
    put(spec, "tolerations", json!([]));
    let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") else {
        return;
    };
    let given = tolerations.clone();
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is_tolerated = given.iter().filter_map(Value::as_object).any(|toleration| {
            matches!(text(toleration, "key"), found if found.is_empty() || found == key)
                && matches!(text(toleration, "effect"), "" | "NoExecute")
        });
        if !is_tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

/// A new pod waits, and its class is known.
pub(super) fn create(pod: &mut Fields, now: &str) {
    let Some(spec) = pod.get("spec").and_then(Value::as_object) else {
        return;
    };
    let mut status = json!({ "phase": "Pending", "qosClass": qos::class(spec) });
    let is_gated = spec
        .get("schedulingGates")
        .is_some_and(|gates| !is_empty(gates));
    if let (true, Some(status)) = (is_gated, status.as_object_mut()) {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastTransitionTime": now,
        });
        status.insert("conditions".to_owned(), json!([condition]));
    }
    pod.insert("status".to_owned(), status);
}
