//! What is wrong with the volumes of a pod (`ValidateVolumes`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::env;
use crate::builtin::quantity::Amount;
use crate::builtin::validate::claims;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::names;
use crate::status::Cause;

const ONCE: &str = "may not specify more than 1 volume type";
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const MODES: std::ops::RangeInclusive<i64> = 0..=0o777;
const PATHS: &str = "conflicting duplicate paths";
const HOST_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];
/// In which order sources are looked at.
const ORDER: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
/// What a file can say of its pod.
const FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Judges volumes, and adds the names of those that are fine.
pub(super) fn volumes<'a>(volumes: &'a Spot<'a>, known: &mut Vec<&'a str>, causes: &mut Causes) {
    let mut seen: Vec<&str> = Vec::new();
    for volume in volumes.items() {
        let before = causes.len();
        let sources = volume.entries().filter(|(field, _)| *field != "name");
        match sources.count() {
            0 => volume.required("must specify a volume type", causes),
            _ => sources_in_order(&volume, causes),
        }
        let name = volume.of("name");
        name.named(names::label, causes);
        if seen.contains(&name.text()) {
            name.duplicate(causes);
        }
        if let (true, Value::Object(fields)) = (causes.len() == before, volume.value()) {
            let name = fields.get("name").and_then(Value::as_str);
            seen.extend(name);
            known.extend(name);
        }
    }
}

/// Judges the first source of a volume, and refuses the others.
fn sources_in_order(volume: &Spot<'_>, causes: &mut Causes) {
    let mut sources: Vec<&str> = volume.entries().map(|(field, _)| field).collect();
    sources.retain(|field| *field != "name");
    sources.sort_by_key(|field| ORDER.iter().position(|source| source == field));
    let (first, others) = sources.split_first().unwrap_or((&"", &[]));
    source(volume, first, causes);
    for source in others {
        // The real server writes two of them in another way.
        let told = match *source {
            "cephfs" => "cephFS",
            "downwardAPI" => "downwarAPI",
            other => other,
        };
        volume.of(told).forbidden(ONCE, causes);
    }
}

/// Judges where a volume comes from, for the sources that operators use.
fn source(volume: &Spot<'_>, kind: &str, causes: &mut Causes) {
    let source = volume.of(kind);
    match kind {
        "emptyDir" => {
            let size = source.of("sizeLimit");
            if Amount::parse(size.text()).is_some_and(Amount::is_negative) {
                let why = "SizeLimit field must be a valid resource quantity";
                size.forbidden(why, causes);
            }
        }
        "hostPath" => host_path(&source, causes),
        "secret" => files(&source, "secretName", causes),
        "configMap" => files(&source, "name", causes),
        "persistentVolumeClaim" => source.of("claimName").named(|_| Vec::new(), causes),
        "nfs" => {
            source.of("server").named(|_| Vec::new(), causes);
            source.of("path").named(|_| Vec::new(), causes);
            if !source.of("path").text().starts_with('/') {
                source
                    .of("path")
                    .invalid_text("must be an absolute path", causes);
            }
        }
        "downwardAPI" => {
            mode(&source.of("defaultMode"), causes);
            let items = source.of("items");
            items
                .items()
                .for_each(|file| downward(&file, &source, causes));
        }
        "projected" => projected(&source, causes),
        "csi" => {
            let lower = |driver: &str| names::subdomain(&driver.to_lowercase());
            source.of("driver").named(lower, causes);
        }
        "ephemeral" => {
            let template = source.of("volumeClaimTemplate");
            if template.is_set() {
                claims::spec(&template.of("spec"), causes);
            } else {
                template.required("", causes);
            }
        }
        _ => {}
    }
}

fn host_path(source: &Spot<'_>, causes: &mut Causes) {
    let path = source.of("path");
    if path.is_empty() {
        return path.required("", causes);
    }
    no_way_up(&path, &path, causes);
    source.of("type").one_of_if_set(HOST_TYPES, causes);
}

/// Files with the data of an object.
fn files(source: &Spot<'_>, name: &str, causes: &mut Causes) {
    source.of(name).named(|_| Vec::new(), causes);
    mode(&source.of("defaultMode"), causes);
    source
        .of("items")
        .items()
        .for_each(|item| key_to_path(&item, causes));
}

fn mode(mode: &Spot<'_>, causes: &mut Causes) {
    if mode.number().is_some_and(|mode| !MODES.contains(&mode)) {
        mode.invalid(MODE, causes);
    }
}

fn key_to_path(item: &Spot<'_>, causes: &mut Causes) {
    item.of("key").named(|_| Vec::new(), causes);
    item.of("path").named(|_| Vec::new(), causes);
    local(&item.of("path"), &item.of("path"), causes);
    mode(&item.of("mode"), causes);
}

/// A path that leads down, and whose name is not reserved (`ValidateLocalNonReservedPath`).
fn local(path: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    descending(path, told, causes);
    let text = path.text();
    if text.starts_with("..") && !text.starts_with("../") {
        causes.push(Cause::invalid(
            told.path(),
            &text.into(),
            "must not start with '..'",
        ));
    }
}

/// A path that leads down (`validateLocalDescendingPath`).
pub(super) fn descending(path: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    if path.text().starts_with('/') {
        causes.push(Cause::invalid(
            told.path(),
            path.value(),
            "must be a relative path",
        ));
    }
    no_way_up(path, told, causes);
}

fn no_way_up(path: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    if path.text().split('/').any(|part| part == "..") {
        causes.push(Cause::invalid(
            told.path(),
            path.value(),
            "must not contain '..'",
        ));
    }
}

/// A file that says something of its pod; `told` is where that is told.
fn downward(file: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    let (path, field, resource) = (
        file.of("path"),
        file.of("fieldRef"),
        file.of("resourceFieldRef"),
    );
    if path.is_empty() {
        told.of("path").required("", causes);
    }
    local(&path, &told.of("path"), causes);
    let wrong = |why: &str| Cause::invalid(told.path(), &"resource".into(), why);
    if field.is_set() {
        env::field(&field, &told.of("fieldRef"), FIELDS, causes);
        if resource.is_set() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            causes.push(wrong(why));
        }
    } else if resource.is_set() {
        env::resource(&resource, &told.of("resourceFieldRef"), true, causes);
    } else {
        told.required("one of fieldRef and resourceFieldRef is required", causes);
    }
    let number = file.of("mode");
    if number
        .number()
        .is_some_and(|number| !MODES.contains(&number))
    {
        causes.push(Cause::invalid(told.of("mode").path(), number.value(), MODE));
    }
}

/// Several sources in one folder (`validateProjectionSources`).
fn projected(volume: &Spot<'_>, causes: &mut Causes) {
    let mut paths = BTreeSet::new();
    for source in volume.of("sources").items() {
        for kind in ["secret", "configMap"] {
            let part = source.of(kind);
            if !part.is_set() {
                continue;
            }
            part.of("name").named(|_| Vec::new(), causes);
            for item in part.of("items").items() {
                key_to_path(&item, causes);
                let path = item.of("path").text();
                if !path.is_empty() && !paths.insert(path.to_owned()) {
                    let name = part.of("name");
                    causes.push(Cause::invalid(volume.path(), name.value(), PATHS));
                }
            }
        }
        let part = source.of("downwardAPI");
        for file in part.of("items").items() {
            downward(&file, &part, causes);
            let path = file.of("path");
            if !path.is_empty() && !paths.insert(path.text().to_owned()) {
                causes.push(Cause::invalid(volume.path(), path.value(), PATHS));
            }
        }
        token(
            &source.of("serviceAccountToken"),
            &volume.of("path"),
            causes,
        );
        if source.entries().count() > 1 {
            source.forbidden("may not specify more than 1 volume type per source", causes);
        }
    }
    mode(&volume.of("defaultMode"), causes);
}

fn token(token: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    if !token.is_set() {
        return;
    }
    let seconds = token.of("expirationSeconds");
    let number = seconds.number().unwrap_or(0);
    if number < 600 {
        seconds.invalid("may not specify a duration less than 10 minutes", causes);
    }
    if number > 1 << 32 {
        seconds.invalid(
            "may not specify a duration larger than 2^32 seconds",
            causes,
        );
    }
    let path = token.of("path");
    if path.is_empty() {
        told.required("", causes);
    } else {
        local(&path, told, causes);
    }
}
