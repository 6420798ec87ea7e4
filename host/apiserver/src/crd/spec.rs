//! `spec`: group, scope, versions, and what they have beside their schemas.

use serde_json::Value;

use super::inner::{InternalDefinition, VersionPart};
use super::read::versions;
use super::{columns, names, schema, shown};
use crate::conditions;
use crate::field::Path;
use crate::json::{text, text_at, texts_at};
use crate::names::{label_1035, subdomain};
use crate::status::Cause;

/// What is wrong with a definition's spec.
pub(super) fn validate(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let at = Path::new("spec");
    let inner = InternalDefinition::of(crd);
    group(text_at(crd, "/spec/group"), at, &mut causes);
    let scopes = ["Cluster", "Namespaced"];
    one_of(
        text_at(crd, "/spec/scope"),
        &scopes,
        at.child("scope"),
        &mut causes,
    );
    let lacks_schema = |version: &Value| {
        version
            .pointer("/schema/openAPIV3Schema")
            .is_none_or(Value::is_null)
    };
    let lacking = versions(crd).enumerate();
    for (index, _) in lacking.filter(|(_, version)| lacks_schema(version)) {
        let version = at.child("versions");
        let version = version.index(index);
        causes.push(Cause::required(version.child("schema.openAPIV3Schema"), ""));
    }
    for (index, version) in versions(crd).enumerate() {
        let list = at.child("versions");
        one_version(version, list.index(index), &mut causes);
        parts(&inner, Some(index), &mut causes);
    }
    storage(crd, &inner, at.child("versions"), &mut causes);
    let first = versions(crd).next().map(|first| text(first, "name"));
    if let Some(name) = first.filter(|name| !name.is_empty()) {
        label(name, at.child("version"), &mut causes);
    }
    let named = at.child("names");
    let all = crd.pointer("/spec/names").unwrap_or(&Value::Null);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(all, field).is_empty() {
            causes.push(Cause::required(named.child(field), ""));
        }
    }
    names::validate(all, named, &mut causes);
    parts(&inner, None, &mut causes);
    conversion(
        crd.pointer("/spec/conversion"),
        at.child("conversion"),
        &mut causes,
    );
    causes
}

/// What must not change, once the definition is established or at all.
pub(super) fn validate_change(new: &Value, old: &Value) -> Vec<Cause> {
    let established = [
        ("/spec/scope", "spec.scope"),
        ("/spec/names/kind", "spec.names.kind"),
    ];
    let always = [
        ("/spec/group", "spec.group"),
        ("/spec/names/plural", "spec.names.plural"),
    ];
    let is_established = conditions::is_true(old, "Established");
    let fields = established
        .into_iter()
        .filter(|_| is_established)
        .chain(always);
    let changed = fields.filter(|(pointer, _)| text_at(new, pointer) != text_at(old, pointer));
    changed
        .map(|(pointer, field)| {
            Cause::invalid(field, &text_at(new, pointer).into(), "field is immutable")
        })
        .collect()
}

fn group(group: &str, at: Path<'_>, causes: &mut Vec<Cause>) {
    let at = at.child("group");
    let wrong = subdomain(group);
    if group.is_empty() {
        causes.push(Cause::required(at, ""));
    } else if !wrong.is_empty() {
        causes.push(Cause::invalid(at, &group.into(), &wrong.join(",")));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        causes.push(Cause::invalid(at, &group.into(), why));
    }
}

fn one_of(value: &str, allowed: &[&str], at: Path<'_>, causes: &mut Vec<Cause>) {
    if value.is_empty() {
        causes.push(Cause::required(at, ""));
    } else if !allowed.contains(&value) {
        let allowed: Vec<String> = allowed.iter().map(|word| (*word).to_owned()).collect();
        causes.push(Cause::unsupported(at, &value.into(), &allowed));
    }
}

fn label(name: &str, at: Path<'_>, causes: &mut Vec<Cause>) {
    let wrong = label_1035(name);
    if !wrong.is_empty() {
        causes.push(Cause::invalid(at, &name.into(), &wrong.join(",")));
    }
}

fn one_version(version: &Value, at: Path<'_>, causes: &mut Vec<Cause>) {
    label(text(version, "name"), at.child("name"), causes);
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let mut wrong = Vec::new();
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        wrong.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            wrong.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
            wrong.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index \
                 {index}"
            ));
        }
    }
    let at = at.child("deprecationWarning");
    causes.extend(
        wrong
            .iter()
            .map(|why| Cause::invalid(at, &warning.into(), why)),
    );
}

/// Schemas, subresources and columns: those of one version, or those of all.
fn parts(inner: &InternalDefinition<'_>, version: Option<usize>, causes: &mut Vec<Cause>) {
    let of = |field: &str| {
        let parts = inner.parts(field).into_iter();
        parts.filter(move |part| part.version == version)
    };
    let schemas = inner.schemas();
    let schema_of = |part: &VersionPart<'_>| {
        let mut found = schemas.iter();
        let found = found.find(|schema| schema.version == part.version);
        let is_empty = || {
            inner
                .parts("schema")
                .iter()
                .any(|all| all.version.is_none())
        };
        let none = (part.version.is_none() && is_empty()).then_some(&Value::Null);
        found.map(|schema| schema.value).or(none)
    };
    for part in schemas.iter().filter(|part| part.version == version) {
        part.at("schema", "validation", |at| {
            causes.extend(schema::validate(part.value, part.has_status, at));
        });
    }
    for part in of("subresources") {
        part.at("subresources", "subresources", |at| {
            columns::scale(part.value, at, causes)
        });
    }
    for part in of("additionalPrinterColumns") {
        part.at(
            "additionalPrinterColumns",
            "additionalPrinterColumns",
            |at| {
                columns::printed(part.value, at, causes);
            },
        );
    }
    for part in of("selectableFields") {
        let of = match part.version {
            None => "validations.schema is included",
            Some(_) => "`version.schema.openAPIV3Schema` is not included",
        };
        part.at("selectableFields", "selectableFields", |at| {
            columns::selectable(part.value, schema_of(&part).ok_or(of), at, causes);
        });
    }
}

/// Exactly one version is the one that objects are kept in, and no two have the same name.
fn storage(crd: &Value, inner: &InternalDefinition<'_>, at: Path<'_>, causes: &mut Vec<Cause>) {
    let names: Vec<&str> = versions(crd).map(|version| text(version, "name")).collect();
    let is_storage = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
    let twice = (1..names.len()).any(|at| {
        names
            .get(..at)
            .is_some_and(|before| names.get(at).is_some_and(|name| before.contains(name)))
    });
    let all = || match crd.pointer("/spec/versions") {
        Some(Value::Array(all)) => shown::versions(all, |field| inner.is_common(field)),
        _ => "null".to_owned(),
    };
    if twice {
        causes.push(Cause::invalid_as(
            at,
            &all(),
            "must contain unique version names",
        ));
    }
    if versions(crd).filter(is_storage).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid_as(at, &all(), why));
    }
}

fn conversion(conversion: Option<&Value>, at: Path<'_>, causes: &mut Vec<Cause>) {
    let Some(conversion) = conversion else { return };
    let strategy = text(conversion, "strategy");
    one_of(strategy, &["None", "Webhook"], at.child("strategy"), causes);
    let client = conversion.pointer("/webhook/clientConfig");
    let reviews: Vec<&str> = texts_at(conversion, "/webhook/conversionReviewVersions").collect();
    let config = at.child("webhookClientConfig");
    let versions = at.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            causes.push(Cause::forbidden(config, why));
        }
        if !reviews.is_empty() {
            causes.push(Cause::forbidden(versions, why));
        }
        return;
    }
    match client {
        None => {
            let why = "required when strategy is set to Webhook";
            causes.push(Cause::required(config, why));
        }
        Some(client) if client.get("url").is_some() == client.get("service").is_some() => {
            let why = "exactly one of url or service is required";
            causes.push(Cause::required(config, why));
        }
        Some(_) => {}
    }
    if reviews.is_empty() {
        causes.push(Cause::required(versions, ""));
    } else if !reviews.contains(&"v1") && !reviews.contains(&"v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(versions, &reviews.into(), why));
    }
}
