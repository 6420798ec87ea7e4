//! What every object's metadata must be, whatever its kind.
//!
//! - The texts and their order are those of apimachinery's `validation/objectmeta.go`; maps are gone
//!   through by key, where the real server has no order.
//! - An update is judged twice, as the real server does: once as every kind is, once as its own kind is
//!   (and a third time as a creation, where [`Again`] says so). The message names each wrong once, the
//!   list of causes as often as it was found.

pub mod coerce;
mod owners;
mod rule;
pub(crate) mod time;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::field::Path;
use crate::json::{entries, text, texts};
use crate::names;
use crate::status::Cause;
use crate::status::shown::{json, quoted};
pub use rule::NameRule;

/// All annotations of an object together may have so many bytes.
const MAX_ANNOTATIONS: u64 = 256 * 1024;
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// The metadata that a write of one part does not change (apimachinery `ResetObjectMetaForStatus`).
pub const STATUS_KEEPS: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// What the metadata of a kind must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How objects may be called.
    pub name: NameRule,
    /// Whether they lie in namespaces.
    pub namespaced: bool,
    /// Whether finalizers without a domain must be Kubernetes' own.
    pub own_finalizers: bool,
    /// Whether an update is judged as a creation too.
    pub again: Again,
}

/// Whether the real server judges an update as a creation too; it shows in the list of causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    /// It does not.
    #[default]
    No,
    /// Before it looks at what has changed.
    Before,
    /// After that.
    After,
}

const BEFORE: [(&str, &str); 4] = [
    ("", "persistentvolumes"),
    ("discovery.k8s.io", "endpointslices"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "volumeattachments"),
];
const AFTER: [(&str, &str); 8] = [
    ("", "configmaps"),
    ("", "endpoints"),
    ("", "persistentvolumeclaims"),
    ("", "pods"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("apiregistration.k8s.io", "apiservices"),
    ("networking.k8s.io", "ingressclasses"),
];

/// The groups whose kinds take any name as a finalizer.
const ANY_FINALIZER: [&str; 4] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "policy",
];

impl Again {
    fn of(group: &str, plural: &str) -> Self {
        if group == "rbac.authorization.k8s.io" || BEFORE.contains(&(group, plural)) {
            Self::Before
        } else if AFTER.contains(&(group, plural)) {
            Self::After
        } else {
            Self::No
        }
    }
}

impl Rules {
    /// The rules for a built-in kind.
    pub fn built_in(group: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            own_finalizers: !ANY_FINALIZER.contains(&group),
            ..Self::custom(group, plural, namespaced)
        }
    }

    /// The rules for a custom kind.
    pub fn custom(group: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            name: NameRule::of(group, plural),
            namespaced,
            own_finalizers: false,
            again: Again::of(group, plural),
        }
    }
}

/// What is wrong with the metadata of an object that is about to be made.
pub fn validate_create(object: &Value, rules: Rules) -> Vec<Cause> {
    let path = Path::new("metadata");
    let metadata = of(object);
    let mut causes = created(metadata, path, rules);
    let name = text(metadata, "name");
    if rules.name == NameRule::CronJob && name.len() > 52 {
        let why = "must be no more than 52 characters";
        causes.push(Cause::invalid(path.child("name"), &name.into(), why));
    }
    causes
}

/// What is wrong with the metadata of an object that takes another's place.
pub fn validate_update(new: &Value, old: &Value, rules: Rules) -> Vec<Cause> {
    let path = Path::new("metadata");
    let (new, old) = (of(new), of(old));
    let common = Rules {
        name: NameRule::PathSegment,
        ..rules
    };
    let mut causes = validate(new, path, common);
    let changes = changes(new, old, path);
    causes.extend_from_slice(&changes);
    if rules.again == Again::Before {
        causes.extend(created(new, path, rules));
    }
    causes.extend(changes);
    if rules.own_finalizers {
        own_finalizers(new, path, &mut causes);
    }
    if rules.again == Again::After {
        causes.extend(created(new, path, rules));
    }
    causes
}

fn created(metadata: &Map<String, Value>, path: Path<'_>, rules: Rules) -> Vec<Cause> {
    let mut causes = validate(metadata, path, rules);
    if rules.own_finalizers {
        own_finalizers(metadata, path, &mut causes);
    }
    causes
}

/// What is wrong with metadata, by itself.
pub(crate) fn validate(metadata: &Map<String, Value>, path: Path<'_>, rules: Rules) -> Vec<Cause> {
    let mut causes = Vec::new();
    named(metadata, path, rules, &mut causes);
    placed(metadata, path, rules, &mut causes);
    if let Some(generation) = metadata.get("generation").filter(|g| g.as_i64() < Some(0)) {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid(path.child("generation"), generation, why));
    }
    labels(metadata, path, &mut causes);
    annotations(metadata, path, &mut causes);
    owners::validate(metadata, path, &mut causes);
    finalizers(metadata, path, &mut causes);
    managed_fields(metadata, path, &mut causes);
    causes
}

fn named(metadata: &Map<String, Value>, path: Path<'_>, rules: Rules, causes: &mut Vec<Cause>) {
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() {
        let wrong = rules.name.check_prefix(prefix);
        invalid(causes, path.child("generateName"), prefix, &wrong);
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        let why = "name or generateName is required";
        causes.push(Cause::required(path.child("name"), why));
    } else {
        invalid(causes, path.child("name"), name, &rules.name.check(name));
    }
}

fn placed(metadata: &Map<String, Value>, path: Path<'_>, rules: Rules, causes: &mut Vec<Cause>) {
    let namespace = text(metadata, "namespace");
    let at = path.child("namespace");
    match (rules.namespaced, namespace) {
        (true, "") => causes.push(Cause::required(at, "")),
        (true, name) => invalid(causes, at, name, &names::label(name)),
        (false, "") => {}
        (false, _) => causes.push(Cause::forbidden(at, "not allowed on this type")),
    }
}

fn labels(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    for (key, value) in entries(metadata, "labels") {
        invalid(causes, path.child("labels"), key, &names::label_key(key));
        let value = value.as_str().unwrap_or_default();
        invalid(
            causes,
            path.child("labels"),
            value,
            &names::label_value(value),
        );
    }
}

fn annotations(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let at = path.child("annotations");
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        invalid(causes, at, key, &names::label_key(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size as u64 > MAX_ANNOTATIONS {
        causes.push(Cause::too_long(at, MAX_ANNOTATIONS));
    }
}

fn finalizers(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let at = path.child("finalizers");
    let all: Vec<&str> = texts(metadata, "finalizers").collect();
    for finalizer in &all {
        invalid(causes, at, finalizer, &names::label_key(finalizer));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(at, &all.into(), why));
    }
}

fn own_finalizers(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let at = path.child("finalizers");
    for (index, finalizer) in texts(metadata, "finalizers").enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(at.index(index), &finalizer.into(), why));
        }
    }
}

fn managed_fields(metadata: &Map<String, Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let all = path.child("managedFields");
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let at = all.index(index);
        let said = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = said("operation");
        if operation != "Apply" && operation != "Update" {
            let why = "must be `Apply` or `Update`";
            causes.push(Cause::invalid(
                at.child("operation"),
                &operation.into(),
                why,
            ));
        }
        let kind = said("fieldsType");
        if !kind.is_empty() && kind != "FieldsV1" {
            let why = "must be `FieldsV1`";
            causes.push(Cause::invalid(at.child("fieldsType"), &kind.into(), why));
        }
        field_manager(said("manager"), at.child("manager"), causes);
        if said("subresource").len() > 256 {
            causes.push(Cause::too_long(at.child("subresource"), 256));
        }
    }
}

/// What is wrong with the name of a field manager.
pub fn field_manager(name: &str, path: Path<'_>, causes: &mut Vec<Cause>) {
    if name.len() > 128 {
        causes.push(Cause::too_long(path, 128));
    }
    for (at, c) in name.char_indices().filter(|(_, c)| c.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {at})", c as u32);
        causes.push(Cause::invalid(path, &name.into(), &why));
    }
}

/// What must not change, or not in this way.
fn changes(new: &Map<String, Value>, old: &Map<String, Value>, path: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.get("deletionTimestamp").is_some_and(|at| !at.is_null()) {
        no_new_finalizers(new, old, path, &mut causes);
    }
    if text(new, "resourceVersion").is_empty() {
        let why = "must be specified for an update";
        causes.push(Cause::invalid(
            path.child("resourceVersion"),
            &"".into(),
            why,
        ));
    }
    let generation =
        |of: &Map<String, Value>| of.get("generation").and_then(Value::as_i64).unwrap_or(0);
    if generation(new) < generation(old) {
        let why = "must not be decremented";
        let shown = generation(new).into();
        causes.push(Cause::invalid(path.child("generation"), &shown, why));
    }
    immutable(new, old, path, &mut causes);
    labels(new, path, &mut causes);
    annotations(new, path, &mut causes);
    owners::validate(new, path, &mut causes);
    managed_fields(new, path, &mut causes);
    causes
}

fn no_new_finalizers(
    new: &Map<String, Value>,
    old: &Map<String, Value>,
    path: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let before: Vec<&str> = texts(old, "finalizers").collect();
    let mut added: Vec<&str> = texts(new, "finalizers").collect();
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let added: Vec<String> = added.into_iter().map(quoted).collect();
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers \
             []string{{{}}}",
            added.join(", ")
        );
        causes.push(Cause::forbidden(path.child("finalizers"), &why));
    }
}

fn immutable(
    new: &Map<String, Value>,
    old: &Map<String, Value>,
    path: Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let empty = Value::from("");
    for field in ["name", "namespace", "uid"] {
        let value = new.get(field).unwrap_or(&empty);
        if value != old.get(field).unwrap_or(&empty) {
            causes.push(Cause::invalid(path.child(field), value, IMMUTABLE));
        }
    }
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let value = new.get(field).unwrap_or(&Value::Null);
        if value != old.get(field).unwrap_or(&Value::Null) {
            causes.push(Cause::invalid_as(
                path.child(field),
                &json(value),
                IMMUTABLE,
            ));
        }
    }
}

const IMMUTABLE: &str = "field is immutable";

fn invalid(causes: &mut Vec<Cause>, at: Path<'_>, value: &str, wrong: &[String]) {
    let value = Value::from(value);
    causes.extend(wrong.iter().map(|why| Cause::invalid(at, &value, why)));
}

static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

fn of(object: &Value) -> &Map<String, Value> {
    let metadata = object.get("metadata").and_then(Value::as_object);
    metadata.unwrap_or(&NONE)
}

#[cfg(test)]
mod tests;
