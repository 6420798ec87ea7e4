//! What a client should know of claims and volumes.

use crate::builtin::quantity::Amount;
use crate::builtin::validate::spot::Spot;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNTS: &str = "volume.beta.kubernetes.io/mount-options";
const NAMED: &str = "deprecated since v1.8; use \"storageClassName\" attribute instead";
const MOUNTED: &str = "deprecated since v1.31; use \"mountOptions\" attribute instead";

/// Warns of a claim (`GetWarningsForPersistentVolumeClaim`).
pub(super) fn claim(claim: &Spot<'_>, all: &mut Vec<String>) {
    annotation(claim, CLASS, NAMED, all);
    for side in ["spec.resources.requests", "spec.resources.limits"] {
        let amounts = claim.of(side);
        let storage = amounts.key("storage");
        let amount = Amount::parse(storage.text());
        if amount.is_some_and(|amount| !amount.is_whole()) {
            all.push(format!(
                "{}: fractional byte value {:?} is invalid, must be an integer",
                storage.path(),
                storage.text()
            ));
        }
    }
}

/// Warns of a volume (`GetWarningsForPersistentVolume`).
pub(super) fn volume(volume: &Spot<'_>, all: &mut Vec<String>) {
    annotation(volume, CLASS, NAMED, all);
    annotation(volume, MOUNTS, MOUNTED, all);
    let policy = volume.of("spec.persistentVolumeReclaimPolicy");
    if policy.text() == "Recycle" {
        all.push(format!(
            "{}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use \
             dynamic provisioning.",
            policy.path()
        ));
    }
}

fn annotation(object: &Spot<'_>, name: &str, why: &str, all: &mut Vec<String>) {
    let annotations = object.of("metadata.annotations");
    let held = annotations.key(name);
    if held.is_set() {
        all.push(format!("{}: {why}", held.path()));
    }
}
