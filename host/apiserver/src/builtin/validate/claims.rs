//! What is wrong with claims of volumes.

use serde_json::Value;

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
/// The annotation that said the class of the storage.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const FIXED: &str = "spec is immutable after creation except resources.requests and \
     volumeAttributesClassName for bound claims";

/// Judges the spec of a claim.
pub(super) fn spec(spec: &Spot<'_>, causes: &mut Causes) {
    judge(spec, false, causes);
}

/// Judges a spec, whose source may be of any group if the old one has some.
fn judge(spec: &Spot<'_>, takes_any_group: bool, causes: &mut Causes) {
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
    let is_other = |mode: &Spot<'_>| MODES.contains(&mode.text()) && !is_once(mode);
    if modes.items().any(|mode| is_once(&mode)) && modes.items().any(|mode| is_other(&mode)) {
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
        data_source(&spec.of(source), takes_any_group, causes);
    }
    data_sources(spec, causes);
}

/// Both fields name the same source, or only the newer one names one elsewhere.
fn data_sources(spec: &Spot<'_>, causes: &mut Causes) {
    let (source, newer) = (spec.of("dataSource"), spec.of("dataSourceRef"));
    let namespace = newer.of("namespace");
    if !source.is_set() || !newer.is_set() {
        return;
    }
    let differs = |field: &&str| source.of(field).value() != newer.of(field).value();
    // The real server shows a path, of which JSON has nothing.
    let wrong = |why: &str| Cause::invalid_as(spec.path(), "{}", why);
    if !namespace.is_empty() {
        causes.push(wrong(
            "may not be specified when dataSourceRef.namespace is specified",
        ));
    } else if ["apiGroup", "kind", "name"].iter().any(differs) {
        causes.push(wrong("must match dataSourceRef"));
    }
}

fn data_source(source: &Spot<'_>, takes_any_group: bool, causes: &mut Causes) {
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
    if !takes_any_group {
        source.of("apiGroup").fits_if_set(names::subdomain, causes);
    }
    source.of("namespace").fits_if_set(names::label, causes);
}

/// Judges what a claim has become.
pub(super) fn update(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    let is_bound = new.of("status.phase").text() == "Bound";
    let capacity = old.of("status.capacity.storage").text();
    let applied = old.of("status.currentVolumeAttributesClassName");
    let named = class_said(new, old, causes);
    let (new, old) = (new.of("spec"), old.of("spec"));
    let sources = ["dataSource", "dataSourceRef"].map(|source| old.of(source));
    let had_group = sources.iter().any(|source| source.of("apiGroup").is_set());
    judge(&new, had_group, causes);
    let held = munged(old.value(), old.value(), is_bound, named);
    if munged(new.value(), old.value(), is_bound, named) != held {
        new.forbidden(FIXED, causes);
    }
    let size = |spec: &Spot<'_>| Amount::parse(spec.of("resources.requests.storage").text());
    let nanos = |size: Option<Amount>| size.map_or(0, Amount::nanos);
    let wanted = nanos(size(&new));
    if wanted < nanos(size(&old)) && wanted <= nanos(Amount::parse(capacity)) {
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
    let class = new.of("volumeAttributesClassName");
    if class.value() != old.of("volumeAttributesClassName").value()
        && applied.is_set()
        && class.is_empty()
    {
        let what = if class.is_set() {
            "empty string"
        } else {
            "nil"
        };
        let why = format!(
            "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        );
        class.forbidden(&why, causes);
    }
}

/// How the name of the storage class may change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It stays, or comes where there was none.
    Field,
    /// It takes the place of the annotation that said it.
    FromAnnotation,
    Stays,
}

/// Judges the annotation that said the class before there was a field for it.
fn class_said(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) -> Class {
    let (class, held_class) = (
        new.of("spec.storageClassName"),
        old.of("spec.storageClassName"),
    );
    let (annotations, held) = (
        new.of("metadata.annotations"),
        old.of("metadata.annotations"),
    );
    let (said, held) = (annotations.key(CLASS), held.key(CLASS));
    let is_new = class.is_set() && !held_class.is_set();
    let moves = is_new && held.is_set() && class.value() == held.value();
    if moves && (!said.is_set() || said.value() == held.value()) {
        return Class::FromAnnotation;
    }
    if said.text() != held.text() {
        let at = format!("{}.{CLASS}", annotations.path());
        causes.push(Cause::invalid(
            at,
            &said.text().into(),
            "field is immutable",
        ));
    }
    if is_new && (!held.is_set() || moves) {
        return Class::Field;
    }
    Class::Stays
}

/// A spec without what may change: the name of the volume once, and the size of what is bound.
fn munged(spec: &Value, old: &Value, is_bound: bool, class: Class) -> Value {
    let mut spec = spec.clone();
    let has_volume = old.get("volumeName").is_some_and(|name| name != "");
    let Value::Object(fields) = &mut spec else {
        return spec;
    };
    if !has_volume {
        fields.remove("volumeName");
    }
    if class != Class::Stays {
        fields.remove("storageClassName");
    }
    if is_bound {
        fields.remove("volumeAttributesClassName");
        let requests = fields
            .get_mut("resources")
            .and_then(|resources| resources.get_mut("requests"));
        if let Some(Value::Object(requests)) = requests {
            requests.remove("storage");
        }
    }
    spec
}
