//! What is wrong with how a container mounts volumes (`ValidateVolumeMounts`, `ValidateVolumeDevices`).

use std::collections::BTreeSet;

use super::volumes::descending;
use crate::builtin::validate::spot::{Causes, Spot};
use crate::status::Cause;

const PROPAGATIONS: &[&str] = &["Bidirectional", "HostToContainer", "None"];
const READ_ONLY: &[&str] = &["Disabled", "Enabled", "IfPossible"];
const BLOCK: &str =
    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";

/// Judges the mounts of a container of a pod with this spec; `volumes` are those that are fine.
pub(super) fn mounts(container: &Spot<'_>, spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let all = container.of("volumeMounts");
    let devices = container.of("volumeDevices");
    let mut paths = BTreeSet::new();
    for mount in all.items() {
        let (name, path) = (mount.of("name"), mount.of("mountPath"));
        if name.is_empty() {
            name.required("", causes);
        }
        if !volumes.contains(&name.text()) {
            causes.push(Cause::not_found(name.path(), &name.text().into()));
        }
        if path.is_empty() {
            path.required("", causes);
        }
        if !paths.insert(path.text().to_owned()) {
            path.invalid("must be unique", causes);
        }
        if devices
            .items()
            .any(|device| device.of("name").text() == name.text())
        {
            name.invalid("must not already exist in volumeDevices", causes);
        }
        if devices
            .items()
            .any(|device| device.of("devicePath").text() == path.text())
        {
            path.invalid("must not already exist as a path in volumeDevices", causes);
        }
        part(&mount, &all, causes);
        propagation(&mount, &all, container, causes);
        read_only(&mount, &all.of("recursiveReadOnly"), causes);
    }
    self::devices(container, spec, volumes, causes);
}

/// The folder of a volume, which is told of the list of mounts.
fn part(mount: &Spot<'_>, all: &Spot<'_>, causes: &mut Causes) {
    let (path, expression) = (mount.of("subPath"), mount.of("subPathExpr"));
    if !path.is_empty() {
        descending(&path, &all.of("subPath"), causes);
    }
    if expression.is_empty() {
        return;
    }
    if !path.is_empty() {
        expression.invalid("subPathExpr and subPath are mutually exclusive", causes);
    }
    descending(&expression, &all.of("subPathExpr"), causes);
}

fn propagation(mount: &Spot<'_>, all: &Spot<'_>, container: &Spot<'_>, causes: &mut Causes) {
    let (how, told) = (mount.of("mountPropagation"), all.of("mountPropagation"));
    if !how.is_set() {
        return;
    }
    if !PROPAGATIONS.contains(&how.text()) {
        let allowed: Vec<String> = PROPAGATIONS.iter().map(|how| (*how).to_owned()).collect();
        causes.push(Cause::unsupported(told.path(), how.value(), &allowed));
    }
    if how.text() == "Bidirectional" && !container.of("securityContext.privileged").is_true() {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        told.forbidden(why, causes);
    }
}

fn read_only(mount: &Spot<'_>, told: &Spot<'_>, causes: &mut Causes) {
    let how = mount.of("recursiveReadOnly");
    match how.text() {
        _ if !how.is_set() => {}
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.of("readOnly").is_true() {
                told.forbidden("may only be specified when readOnly is true", causes);
            }
            if !matches!(mount.of("mountPropagation").text(), "" | "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                told.forbidden(why, causes);
            }
        }
        _ => {
            let allowed: Vec<String> = READ_ONLY.iter().map(|how| (*how).to_owned()).collect();
            causes.push(Cause::unsupported(told.path(), how.value(), &allowed));
        }
    }
}

fn devices(container: &Spot<'_>, spec: &Spot<'_>, volumes: &[&str], causes: &mut Causes) {
    let mounts = container.of("volumeMounts");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.of("volumeDevices").items() {
        let (name, path) = (device.of("name"), device.of("devicePath"));
        let own = spec.of("volumes");
        let volume = own
            .items()
            .find(|volume| volume.of("name").text() == name.text());
        let is_file = volume.is_some_and(|volume| {
            !volume.of("persistentVolumeClaim").is_set() && !volume.of("ephemeral").is_set()
        });
        if name.is_empty() {
            name.required("", causes);
        }
        if !names.insert(name.text().to_owned()) {
            name.invalid("must be unique", causes);
        }
        if !volumes.contains(&name.text()) {
            causes.push(Cause::not_found(name.path(), &name.text().into()));
        } else if is_file {
            name.invalid(BLOCK, causes);
        }
        if path.is_empty() {
            path.required("", causes);
        }
        if !paths.insert(path.text().to_owned()) {
            path.invalid("must be unique", causes);
        }
        if path.text().split('/').any(|part| part == "..") {
            path.invalid("can not contain backsteps ('..')", causes);
        }
        if mounts
            .items()
            .any(|mount| mount.of("name").text() == name.text())
        {
            name.invalid("must not already exist in volumeMounts", causes);
        }
        if mounts
            .items()
            .any(|mount| mount.of("mountPath").text() == path.text())
        {
            path.invalid("must not already exist as a path in volumeMounts", causes);
        }
    }
}
