//! The life of a CustomResourceDefinition: from what a client sends to what is served.
//!
//! ```text
//!  default -> prepare -> validate            what a client writes
//!  names::accept -> names::establish         what the server writes into its status
//!  resources                                 what is served from then on
//!  objects, scale                            what happens to the objects of its kind
//! ```
//!
//! - All of it is functions of values: the caller holds the store and the clock.
//! - Like the real server, this reads a definition in its inner form: what all versions have alike lies
//!   beside them, which shows in the paths of causes.

mod columns;
mod defaults;
mod inner;
pub mod names;
pub mod objects;
mod read;
mod resources;
pub mod scale;
mod schema;
mod shown;
mod spec;
mod structural;

use serde_json::{Value, json};

pub use resources::resources;

use crate::field::Path;
use crate::json::{self, text_at};
use crate::metadata::{self, Again, NameRule, Rules};
use crate::names::subdomain;
use crate::schema::Kind;
use crate::schema::validate::formats;
use crate::status::Cause;

/// What a definition's name must be beside a DNS subdomain.
const NAME: &str = "must be spec.names.plural+\".\"+spec.group";
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Puts the real server's defaults where nothing was said.
pub fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({ "strategy": "None" }));
    }
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = json::text(names, "kind").to_owned();
    for (field, default) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if json::text(names, field).is_empty() && !kind.is_empty() {
            names.insert(field.to_owned(), default.into());
        }
    }
}

/// Makes a definition ready to be created: its status is the server's, and begins empty.
pub fn prepare_create(crd: &mut Value) {
    let stored: Value = storage_version(crd)
        .map(str::to_owned)
        .into_iter()
        .collect();
    if let Value::Object(fields) = crd {
        let status = json!({
            "conditions": null,
            "acceptedNames": { "plural": "", "kind": "" },
            "storedVersions": if stored == json!([]) { Value::Null } else { stored },
        });
        fields.insert("status".to_owned(), status);
    }
    set_generation(crd, 1);
}

/// Makes a definition ready to replace another: the status stays, and a new spec is a new generation.
pub fn prepare_update(new: &mut Value, old: &Value) {
    keep(new, old, "status");
    if new.get("spec") != old.get("spec") {
        set_generation(new, generation(old) + 1);
    }
    let Some(storage) = storage_version(new).map(str::to_owned) else {
        return;
    };
    let stored = new.pointer_mut("/status/storedVersions");
    if let Some(stored) = stored.and_then(Value::as_array_mut)
        && !stored.contains(&Value::from(storage.as_str()))
    {
        stored.push(storage.into());
    }
}

/// Makes a definition ready to replace another's status: only the status is new.
pub fn prepare_status_update(new: &mut Value, old: &Value) {
    keep(new, old, "spec");
}

/// What is wrong with a definition that is about to be created.
pub fn validate_create(crd: &Value) -> Vec<Cause> {
    let mut causes = metadata::validate_create(crd, rules());
    let wanted = format!(
        "{}.{}",
        text_at(crd, "/spec/names/plural"),
        text_at(crd, "/spec/group")
    );
    let name = text_at(crd, "/metadata/name");
    if name != wanted && !name.is_empty() {
        let after = causes
            .iter()
            .take_while(|cause| cause.field == "metadata.name");
        let at = if subdomain(name).is_empty() {
            0
        } else {
            after.count()
        };
        causes.insert(at, Cause::invalid("metadata.name", &name.into(), NAME));
    }
    causes.extend(spec::validate(crd));
    causes.extend(status(crd));
    causes.extend(approval(crd, None));
    causes.extend(preserved(crd, None));
    causes
}

/// What is wrong with a definition that replaces another.
pub fn validate_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = metadata::validate_update(new, old, rules());
    causes.extend(spec::validate(new));
    causes.extend(spec::validate_change(new, old));
    causes.extend(status(new));
    causes.extend(approval(new, Some(old)));
    causes.extend(preserved(new, Some(old)));
    causes
}

/// What is wrong with a definition that replaces another's status.
pub fn validate_status_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = metadata::validate_update(new, old, rules());
    let names = new.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    names::validate(
        names,
        Path::new("status").child("acceptedNames"),
        &mut causes,
    );
    causes
}

/// What the client should know of a definition that is fine: formats that nobody looks at.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(unknown_formats).unwrap_or_default();
    let mut formats = unknown_formats(new);
    formats.retain(|format| !known.contains(format));
    let warnings = formats.iter();
    warnings
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

fn rules() -> Rules {
    Rules {
        name: NameRule::Subdomain,
        namespaced: false,
        own_finalizers: false,
        again: Again::No,
    }
}

fn status(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let at = Path::new("status");
    let names = crd.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    names::validate(names, at.child("acceptedNames"), &mut causes);
    let at = at.child("storedVersions");
    let stored = crd
        .pointer("/status/storedVersions")
        .unwrap_or(&Value::Null);
    let names: Vec<&str> = json::item_texts(stored).collect();
    if names.is_empty() {
        causes.push(Cause::invalid(
            at,
            stored,
            "must have at least one stored version",
        ));
        return causes;
    }
    let mut left = names.clone();
    for version in read::versions(crd) {
        let name = json::text(version, "name");
        if version.get("storage") == Some(&Value::Bool(true)) && !left.contains(&name) {
            let why = format!("must have the storage version {name}");
            causes.push(Cause::invalid(at, stored, &why));
        }
        left.retain(|stored| *stored != name);
    }
    for (index, name) in names.iter().enumerate() {
        if left.contains(name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and \
                 removes {name} from status.storedVersions"
            );
            causes.push(Cause::invalid(at.index(index), &(*name).into(), &why));
        }
    }
    causes
}

/// Groups of the Kubernetes community want to know who has agreed.
enum Approval {
    NotNeeded,
    Missing,
    Given(String),
    Bypassed(String),
    Invalid(String),
}

fn approval_of(crd: &Value) -> Approval {
    let group = text_at(crd, "/spec/group");
    let is_protected = ["k8s.io", "kubernetes.io"].into_iter().any(|own| {
        group
            .strip_suffix(own)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let annotations = crd.pointer("/metadata/annotations");
    let given = annotations
        .and_then(|all| all.get(APPROVAL))
        .and_then(Value::as_str);
    match given.unwrap_or_default() {
        _ if !is_protected => Approval::NotNeeded,
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed(text.to_owned()),
        text if text.contains("://") && formats::is_of("uri", text) => {
            Approval::Given(text.to_owned())
        }
        text => Approval::Invalid(text.to_owned()),
    }
}

const APPROVAL_HELP: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

fn missing_approval() -> String {
    format!("protected groups must have approval annotation \"{APPROVAL}\", {APPROVAL_HELP}")
}

fn invalid_approval() -> String {
    format!(
        "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason \
         starting with \"unapproved\", {APPROVAL_HELP}"
    )
}

fn approval(crd: &Value, old: Option<&Value>) -> Option<Cause> {
    let now = approval_of(crd);
    let same =
        |old: &Value| std::mem::discriminant(&approval_of(old)) == std::mem::discriminant(&now);
    if old.is_some_and(same) {
        return None;
    }
    let at = format!("metadata.annotations[{APPROVAL}]");
    match now {
        Approval::NotNeeded | Approval::Given(_) | Approval::Bypassed(_) => None,
        Approval::Missing => Some(Cause::required(at, &missing_approval())),
        Approval::Invalid(text) => Some(Cause::invalid(at, &text.into(), &invalid_approval())),
    }
}

fn preserved(crd: &Value, old: Option<&Value>) -> Option<Cause> {
    let preserves =
        |crd: &Value| crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    if !preserves(crd) || old.is_some_and(preserves) {
        return None;
    }
    let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
               spec.versions[*].schema instead";
    Some(Cause::invalid(
        "spec.preserveUnknownFields",
        &Value::Bool(true),
        why,
    ))
}

fn unknown_formats(crd: &Value) -> Vec<String> {
    let mut formats = Vec::new();
    for schema in inner::InternalDefinition::of(crd).schemas() {
        read::visit(schema.value, &mut |node| {
            let format = json::text(node, "format");
            if !format.is_empty() && !formats::supported(kind(json::text(node, "type")), format) {
                formats.push(format.to_owned());
            }
        });
    }
    formats
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "string" => Some(Kind::String),
        "integer" => Some(Kind::Integer),
        "number" => Some(Kind::Number),
        "" => None,
        _ => Some(Kind::Object),
    }
}

/// The name of the version that objects are kept in.
fn storage_version(crd: &Value) -> Option<&str> {
    let mut versions = read::versions(crd);
    let storage = versions.find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
    Some(json::text(storage, "name"))
}

fn keep(new: &mut Value, old: &Value, field: &str) {
    let Value::Object(fields) = new else { return };
    match old.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

fn generation(object: &Value) -> i64 {
    let generation = object.pointer("/metadata/generation");
    generation.and_then(Value::as_i64).unwrap_or_default()
}

fn set_generation(object: &mut Value, generation: i64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("generation".to_owned(), generation.into());
    }
}

#[cfg(test)]
mod tests;
