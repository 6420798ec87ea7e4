//! What is wrong with claims of volumes.

use serde_json::{Value, json};

use super::labels;
use super::spot::{Causes, Spot};
use crate::builtin::quantity::Amount;
use crate::names;
use crate::status::Cause;

const MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUMES: &[&str] = &["Block", "Filesystem"];
const FIXED: &str = "spec is immutable after creation except resources.requests and \
     volumeAttributesClassName for bound claims";

/// Judges the spec of a claim.
pub(super) fn spec(spec: &Spot<'_>, causes: &mut Causes) {
    let modes = spec.of("accessModes");
    if modes.is_empty() {
        modes.required("at least 1 access mode is required", causes);
    }
    if spec.of("selector").is_set() {
        labels::selector(&spec.of("selector"), causes);
    }
    for mode in modes.items() {
        if !MODES.contains(&mode.text()) {
            let all = MODES
                .iter()
                .map(|mode| (*mode).to_owned())
                .collect::<Vec<_>>();
            causes.push(Cause::unsupported(modes.path(), mode.value(), &all));
        }
    }
    let is_once = |mode: &Spot<'_>| mode.text() == "ReadWriteOncePod";
    if modes.items().any(|mode| is_once(&mode)) && !modes.items().all(|mode| is_once(&mode)) {
        modes.forbidden(
            "may not use ReadWriteOncePod with other access modes",
            causes,
        );
    }
    let resources = spec.of("resources");
    let storage = resources.of("requests.storage");
    let at = resources.key("storage").path();
    if !storage.is_set() {
        causes.push(Cause::required(at, ""));
    } else if Amount::parse(storage.text()).is_some_and(|amount| !amount.is_positive()) {
        causes.push(Cause::invalid(
            at,
            storage.value(),
            "must be greater than zero",
        ));
    }
    for class in ["storageClassName", "volumeAttributesClassName"] {
        spec.of(class).fits_if_set(names::subdomain, causes);
    }
    spec.of("volumeMode").one_of_if_set(VOLUMES, causes);
    for source in ["dataSource", "dataSourceRef"] {
        data_source(&spec.of(source), causes);
    }
}

fn data_source(source: &Spot<'_>, causes: &mut Causes) {
    if !source.is_set() {
        return;
    }
    for field in ["name", "kind"] {
        source.of(field).named(|_| Vec::new(), causes);
    }
    let kind = source.of("kind").text();
    if source.of("apiGroup").is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        causes.push(Cause::invalid(source.path(), &kind.into(), why));
    }
    source.of("apiGroup").fits_if_set(names::subdomain, causes);
}

/// Judges what a claim has become.
pub(super) fn update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let is_bound = new.of("status.phase").text() == "Bound";
    let capacity = old.of("status.capacity.storage").text();
    let (new, old) = (new.of("spec"), old.of("spec"));
    spec(&new, causes);
    if munged(new.value(), old.value(), is_bound) != munged(old.value(), old.value(), is_bound) {
        new.forbidden(FIXED, causes);
    }
    let size = |spec: &Spot<'_>| Amount::parse(spec.of("resources.requests.storage").text());
    if let (Some(wanted), Some(held)) = (size(&new), size(&old))
        && held.is_above(wanted)
        && !Amount::parse(capacity).is_some_and(|capacity| wanted.is_above(capacity))
        && !capacity.is_empty()
    {
        let why = "field can not be less than status.capacity";
        new.of("resources.requests.storage").forbidden(why, causes);
    }
    if new.of("volumeMode").value() != old.of("volumeMode").value() {
        let mode = new.of("volumeMode");
        causes.push(Cause::invalid(
            "volumeMode",
            mode.value(),
            "field is immutable",
        ));
    }
}

/// A spec without what may change: the name of the volume once, and the size of what is bound.
fn munged(spec: &Value, old: &Value, is_bound: bool) -> Value {
    let mut spec = spec.clone();
    let had = |field: &str| {
        old.get(field)
            .is_some_and(|held| held != "" && !held.is_null())
    };
    let Value::Object(fields) = &mut spec else {
        return spec;
    };
    for once in ["volumeName", "storageClassName"] {
        if !had(once) {
            fields.remove(once);
        }
    }
    if is_bound {
        fields.remove("volumeAttributesClassName");
        let requests = fields.get_mut("resources");
        if let Some(requests) = requests.and_then(|resources| resources.get_mut("requests")) {
            *requests = json!({});
        }
    }
    spec
}
