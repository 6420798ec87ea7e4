//! The objects of custom kinds: what happens to one between a client and the store.
//!
//! ```text
//!  read -> default -> prepare_* -> validate_*
//! ```

use serde_json::{Map, Value};

use super::scale;
use crate::field::Path;
use crate::meta;
use crate::metadata::coerce::{self, Malformed};
use crate::metadata::{self, Rules};
use crate::mutants::mutant;
use crate::names::label_key;
use crate::registry::{Origin, Resource};
use crate::schema::rules::RuleFindings;
use crate::schema::validate::{check_rules, twice, values};
use crate::schema::{default as defaults, embedded, prune};
use crate::status::Cause;
use crate::status::shown::quoted;

/// Brings an object that a client has sent into shape, and answers the fields that nobody knows, in the
/// order of the real server: `spec.foo`.
///
/// # Errors
/// If `metadata`, or that of an object within it, cannot be read; the text is what the real server puts
/// behind `cannot be handled as a Foo: `.
pub fn read(object: &mut Value, resource: &Resource) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata") {
        unknown = coerce::coerce(metadata, Path::ROOT, Malformed::Refuse)?;
    }
    if let Some(schema) = resource.schema() {
        let schema = schema.view();
        unknown.extend(prune::prune(object, schema, true));
        defaults::drop_nulls(object, schema);
        let found = embedded::coerce(object, schema, Malformed::Refuse);
        unknown.extend(found.map_err(|cause| format!("{}: {}", cause.field, cause.message))?);
    }
    Ok(unknown)
}

/// Puts the schema's defaults where nothing was said.
pub fn default(object: &mut Value, resource: &Resource) {
    if let Some(schema) = resource.schema() {
        defaults::default(object, schema.view());
    }
}

/// Makes an object ready to be created: its status is for others to write.
pub fn prepare_create(object: &mut Value, resource: &Resource) {
    if has_status(resource)
        && let Value::Object(fields) = object
    {
        fields.remove("status");
    }
    super::set_generation(object, 1);
}

/// Makes an object ready to replace another: the status stays, and all but metadata and status make a new
/// generation.
pub fn prepare_update(new: &mut Value, old: &Value, resource: &Resource) {
    if mutant!(UpdatesWriteTheStatus, has_status(resource), false) {
        super::keep(new, old, "status");
    }
    let generation = super::generation(old);
    let changed = !same_but_metadata(new, old);
    let changed = mutant!(GenerationGrowsWithMetadata, changed, new != old);
    super::set_generation(new, if changed { generation + 1 } else { generation });
}

/// Makes an object ready to replace another's status: only the status and the managed fields are new.
pub fn prepare_status_update(new: &mut Value, old: &Value) {
    let status = new.get("status").cloned();
    let managed = new.pointer("/metadata/managedFields").cloned();
    *new = old.clone();
    if let Some(metadata) = new.get_mut("metadata") {
        put(metadata, "managedFields", managed);
    }
    put(new, "status", status);
}

/// What the metadata of a custom kind must be.
fn rules(resource: &Resource) -> Rules {
    Rules::custom(&resource.group, &resource.plural, resource.namespaced)
}

/// What is wrong with an object that is about to be created.
pub fn validate_create(object: &Value, resource: &Resource) -> Vec<Cause> {
    let mut causes = of_kind(object, resource);
    if !causes.is_empty() {
        return causes;
    }
    causes.extend(metadata::validate_create(object, rules(resource)));
    let schema = resource.schema();
    if let Some(schema) = schema {
        causes.extend(values(object, None, schema.view(), Path::ROOT));
    }
    causes.extend(scale::validate_spec(object, resource));
    causes.extend(scale::validate_status(object, resource));
    let mut said = RuleFindings::from(causes);
    if let Some(schema) = schema {
        let schema = schema.view();
        said.causes.extend(embedded::validate(object, schema));
        said.causes.extend(twice(object, None, schema));
        check_rules(object, None, schema, &mut said);
    }
    said.causes
}

/// What is wrong with an object that replaces another.
pub fn validate_update(new: &Value, old: &Value, resource: &Resource) -> RuleFindings {
    let mut causes = of_kind(new, resource);
    if !causes.is_empty() {
        return causes.into();
    }
    causes.extend(metadata::validate_update(new, old, rules(resource)));
    let schema = resource.schema();
    if let Some(schema) = schema {
        causes.extend(values(new, Some(old), schema.view(), Path::ROOT));
    }
    causes.extend(scale::validate_spec(new, resource));
    causes.extend(scale::validate_status(new, resource));
    let mut said = RuleFindings::from(causes);
    if let Some(schema) = schema {
        let schema = schema.view();
        said.causes.extend(embedded::validate(new, schema));
        said.causes.extend(twice(new, Some(old), schema));
        check_rules(new, Some(old), schema, &mut said);
    }
    said
}

/// What is wrong with an object that replaces another's status: its values are those of `status` alone.
pub fn validate_status_update(new: &Value, old: &Value, resource: &Resource) -> RuleFindings {
    let mut causes = of_kind(new, resource);
    if !causes.is_empty() {
        return causes.into();
    }
    causes.extend(metadata::validate_update(new, old, rules(resource)));
    let schema = resource.schema().map(|schema| schema.view());
    let of_status = schema.and_then(|schema| schema.property("status"));
    if let (Some(schema), Some(status)) = (of_status, new.get("status")) {
        let before = old.get("status");
        causes.extend(values(status, before, schema, Path::new("status")));
    }
    causes.extend(scale::validate_status(new, resource));
    let mut said = RuleFindings::from(causes);
    if let Some(schema) = schema {
        said.causes.extend(twice(new, Some(old), schema));
        check_rules(new, Some(old), schema, &mut said);
    }
    said
}

/// What the client should know of an object that is fine: finalizers that others could have as well.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(meta::finalizers).unwrap_or_default();
    let mut added = meta::finalizers(new);
    added.retain(|finalizer| !known.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    added
        .iter()
        .flat_map(|finalizer| finalizer_warnings(finalizer))
        .collect()
}

fn finalizer_warnings(finalizer: &str) -> Vec<String> {
    let shown = format!("metadata.finalizers: {}", quoted(finalizer));
    let wrong = label_key(finalizer);
    let mut warnings: Vec<String> = wrong.iter().map(|why| format!("{shown}: {why}")).collect();
    let is_own = ["orphan", "foregroundDeletion", "kubernetes"].contains(&finalizer);
    if !finalizer.contains('/') && !is_own {
        let path = if finalizer.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        warnings.push(format!(
            "{shown}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers"
        ));
    }
    warnings
}

/// An object is of its resource's kind and version.
fn of_kind(object: &Value, resource: &Resource) -> Vec<Cause> {
    let wanted = [
        ("kind", resource.kind.clone()),
        ("apiVersion", resource.api_version()),
    ];
    let wrong = wanted.into_iter().filter_map(|(field, wanted)| {
        let found = object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let why = format!("must be {wanted}");
        (found != wanted).then(|| Cause::invalid(field, &found.into(), &why))
    });
    wrong.collect()
}

fn has_status(resource: &Resource) -> bool {
    matches!(resource.origin, Origin::Custom { .. }) && resource.subresource("status").is_some()
}

fn same_but_metadata(new: &Value, old: &Value) -> bool {
    fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
        let fields = object.as_object().into_iter().flat_map(Map::iter);
        fields.filter(|(name, _)| *name != "metadata")
    }
    fields(new).eq(fields(old))
}

fn put(object: &mut Value, field: &str, value: Option<Value>) {
    let Value::Object(fields) = object else {
        return;
    };
    match value {
        Some(value) => fields.insert(field.to_owned(), value),
        None => fields.remove(field),
    };
}
