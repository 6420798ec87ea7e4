//! The checks of the level `restricted`, but for those of profiles (pod-security-admission `policy/check_*.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::Violation;
use super::template::{PodTemplate, context, joined, named, plural, setters};
use crate::json::{get, list, text, texts};

/// The sources of volumes that are fine.
const ALLOWED_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The sources of volumes that are not fine, in the order in which one names a volume.
const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn escalation(template: &PodTemplate<'_>) -> Option<Violation> {
    let bad = template.bad_containers(|container| {
        get(context(container), "allowPrivilegeEscalation") != &Value::Bool(false)
    });
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        named(&bad)
    );
    (!bad.is_empty()).then(|| Violation::new("allowPrivilegeEscalation != false", detail))
}

pub(super) fn escalation_1_25(template: &PodTemplate<'_>) -> Option<Violation> {
    unless_for_windows(template, escalation)
}

/// The findings of a check for Linux alone.
pub(super) fn unless_for_windows(
    template: &PodTemplate<'_>,
    check: impl Fn(&PodTemplate<'_>) -> Option<Violation>,
) -> Option<Violation> {
    let judged = Some(template).filter(|template| !template.is_for_windows());
    judged.and_then(check)
}

fn unless_own_users(
    template: &PodTemplate<'_>,
    check: impl Fn(&PodTemplate<'_>) -> Option<Violation>,
) -> Option<Violation> {
    let judged = Some(template).filter(|template| !template.has_own_users());
    judged.and_then(check)
}

pub(super) fn capabilities(template: &PodTemplate<'_>) -> Option<Violation> {
    let all = |container| get(context(container), "capabilities");
    let keeping = template
        .bad_containers(|container| !texts(all(container), "drop").any(|name| name == "ALL"));
    let mut added = BTreeSet::new();
    let adding = template.bad_containers(|container| {
        let names = texts(all(container), "add").filter(|name| *name != "NET_BIND_SERVICE");
        let names: Vec<&str> = names.collect();
        added.extend(names.iter().copied());
        !names.is_empty()
    });
    let mut details = Vec::new();
    if !keeping.is_empty() {
        let keeping = named(&keeping);
        details.push(format!(
            "{keeping} must set securityContext.capabilities.drop=[\"ALL\"]"
        ));
    }
    if !adding.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            named(&adding),
            joined(added)
        ));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

pub(super) fn capabilities_1_25(template: &PodTemplate<'_>) -> Option<Violation> {
    unless_for_windows(template, capabilities)
}

pub(super) fn volumes(template: &PodTemplate<'_>) -> Option<Violation> {
    let has = |volume: &Value, source: &&&str| !get(&volume, source).is_null();
    let mut types = BTreeSet::new();
    let mut bad = Vec::new();
    for volume in list(template.spec, "volumes") {
        if ALLOWED_VOLUMES.iter().any(|source| has(volume, &source)) {
            continue;
        }
        bad.push(text(volume, "name"));
        let source = OTHER_VOLUMES.iter().find(|source| has(volume, source));
        types.insert(source.copied().unwrap_or("unknown"));
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", "volumes", bad.len()),
        joined(bad.iter().copied()),
        plural("uses", "use", bad.len()),
        plural(
            "restricted volume type",
            "restricted volume types",
            types.len()
        ),
        joined(types)
    );
    (!bad.is_empty()).then(|| Violation::new("restricted volume types", detail))
}

pub(super) fn non_root(template: &PodTemplate<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let said = |context| get(context, "runAsNonRoot").as_bool();
    let of_pod = said(template.context());
    let roots = template.bad_containers(|container| said(context(container)) == Some(false));
    if let Some(setters) = setters(of_pod == Some(false), &roots) {
        let detail = format!("{setters} must not set securityContext.runAsNonRoot=false");
        return Some(Violation::new(REASON, detail));
    }
    let silent = template
        .bad_containers(|container| said(context(container)).is_none() && of_pod != Some(true));
    let detail = format!(
        "pod or {} must set securityContext.runAsNonRoot=true",
        named(&silent)
    );
    (!silent.is_empty()).then(|| Violation::new(REASON, detail))
}

pub(super) fn non_root_1_35(template: &PodTemplate<'_>) -> Option<Violation> {
    unless_own_users(template, non_root)
}

pub(super) fn user(template: &PodTemplate<'_>) -> Option<Violation> {
    let is_root = |context| get(context, "runAsUser").as_i64() == Some(0);
    let roots = template.bad_containers(|container| is_root(context(container)));
    let setters = setters(is_root(template.context()), &roots)?;
    Some(Violation::new(
        "runAsUser=0",
        format!("{setters} must not set runAsUser=0"),
    ))
}

pub(super) fn user_1_35(template: &PodTemplate<'_>) -> Option<Violation> {
    unless_own_users(template, user)
}
