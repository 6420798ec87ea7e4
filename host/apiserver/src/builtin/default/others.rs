//! Defaults of other kinds that depend on other fields.

use serde_json::{Value, json};

use super::{Fields, is_empty, object, put};
use crate::json::text;

/// A network policy is about what comes in, and about what goes out if it says anything about it.
pub(super) fn network_policy(spec: &mut Fields) {
    if spec
        .get("policyTypes")
        .is_some_and(|types| !is_empty(types))
    {
        return;
    }
    let goes_out = spec.get("egress").is_some_and(|rules| !is_empty(rules));
    let types = if goes_out {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    spec.insert("policyTypes".to_owned(), types);
}

/// Users and groups belong to a group of the API, service accounts to the core one.
pub(super) fn subject(subject: &mut Fields) {
    if matches!(text(subject, "kind"), "User" | "Group") && text(subject, "apiGroup").is_empty() {
        let group = "rbac.authorization.k8s.io";
        subject.insert("apiGroup".to_owned(), group.into());
    }
}

/// A request for devices is for one, unless it is for all (kubernetes `pkg/apis/resource/v1/defaults.go`).
pub(super) fn device_request(request: &mut Fields) {
    let exact = matches!(text(request, "allocationMode"), "" | "ExactCount");
    if exact && request.get("count").is_none_or(is_empty) {
        request.insert("count".to_owned(), 1.into());
    }
}

/// Requests that no limit holds back take no share from others (kubernetes `pkg/apis/flowcontrol/v1/defaults.go`).
pub(super) fn exempt(level: &mut Fields) {
    put(level, "nominalConcurrencyShares", 0);
    put(level, "lendablePercent", 0);
}

/// Rules for scaling that are there in part are filled up, those up differently from those down.
pub(super) fn behavior(behavior: &mut Fields) {
    if let Some(up) = object(behavior, "scaleUp") {
        put(up, "stabilizationWindowSeconds", 0);
        put(up, "selectPolicy", "Max");
        put(
            up,
            "policies",
            json!([
                { "type": "Pods", "value": 4, "periodSeconds": 15 },
                { "type": "Percent", "value": 100, "periodSeconds": 15 },
            ]),
        );
    }
    if let Some(down) = object(behavior, "scaleDown") {
        put(down, "selectPolicy", "Max");
        put(
            down,
            "policies",
            json!([{ "type": "Percent", "value": 100, "periodSeconds": 15 }]),
        );
    }
}

/// A CRD names its objects after its kind, and remembers the version that it keeps them in.
pub(super) fn crd(crd: &mut Fields) {
    let mut stored = None;
    if let Some(spec) = object(crd, "spec") {
        if let Some(names) = object(spec, "names") {
            let kind = text(names, "kind").to_owned();
            if text(names, "singular").is_empty() {
                names.insert("singular".to_owned(), kind.to_lowercase().into());
            }
            if text(names, "listKind").is_empty() && !kind.is_empty() {
                names.insert("listKind".to_owned(), format!("{kind}List").into());
            }
        }
        let mut versions = spec
            .get("versions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let found = versions.find(|version| version.get("storage") == Some(&json!(true)));
        stored = found.and_then(|version| version.get("name")).cloned();
    }
    if let (Some(stored), Some(status)) = (stored, object(crd, "status"))
        && status.get("storedVersions").is_none_or(is_empty)
    {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}
