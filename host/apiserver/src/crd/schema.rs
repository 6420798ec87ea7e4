//! `openAPIV3Schema`: what is wrong with a schema of a definition, with the real server's texts.

mod lists;
mod rules;
mod walk;

use serde_json::Value;

use super::read::is_true;
use super::{defaults, shown, structural};
use crate::field::Path;
use crate::json::text;
use crate::status::Cause;
use walk::{SchemaWalk, WalkContext};

/// What may be said at the root of a schema if there is a `status` subresource, with Go's names.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
    ),
    ("x-kubernetes-validations", "XValidations"),
];

/// What is wrong with a schema; `at` is where it lies, without `openAPIV3Schema`.
pub(super) fn validate(schema: &Value, has_status: bool, at: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if has_status {
        causes.extend(at_root(schema, at));
    }
    if is_true(schema, "nullable") {
        let why = "nullable cannot be true at the root";
        causes.push(Cause::forbidden(at.child("openAPIV3Schema.nullable"), why));
    }
    let at = at.child("openAPIV3Schema");
    let unsupported = structural::unsupported(schema);
    let mut unfit = Vec::new();
    if unsupported.is_none() {
        unfit = structural::validate(schema, at);
        if unfit.is_empty() {
            unfit = defaults::validate(schema, at);
        }
    }
    let mut walk = SchemaWalk::new(unsupported.is_none() && unfit.is_empty());
    causes.extend(unfit);
    walk.place(schema, WalkContext::ROOT, at);
    causes.extend(walk.causes);
    causes.extend(walk.of_rules);
    if let Some(why) = unsupported.filter(|_| causes.is_empty()) {
        causes.push(Cause::invalid(at, &"".into(), &why));
    }
    causes
}

/// With a `status` subresource, only some words may be said at the root.
fn at_root(schema: &Value, at: Path<'_>) -> Option<Cause> {
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status \
                   subresource is enabled";
        return Some(Cause::invalid(
            at.child("openAPIV3Schema.type"),
            &kind.into(),
            why,
        ));
    }
    let known = |name: &String| AT_ROOT.iter().any(|(word, _)| word == name);
    let fields = schema.as_object()?;
    fields.keys().find(|name| !known(name))?;
    let words: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
    let why = format!(
        "only {words:?} fields are allowed at the root of the schema if the status subresource is enabled"
    )
    .replace(['"', ','], "");
    Some(Cause::invalid_as(
        at.child("openAPIV3Schema"),
        &shown::schema(schema),
        &why,
    ))
}
