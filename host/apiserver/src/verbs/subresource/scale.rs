//! The scale of something with replicas, as an `autoscaling/v1` Scale.
//!
//! - A Scale is read from the object, changed as an object of its own, with owners of its own, and written
//!   back (kubernetes `registry/apps/deployment/storage`, apiextensions `customresource/etcd.go`).

use http::StatusCode;
use serde_json::{Value, json};

use crate::admission::{self, Admission};
use crate::answer::Answer;
use crate::call::Call;
use crate::crd::scale;
use crate::fields::{self, OnConflict, Replicas, Set, Writer};
use crate::mutants::mutant;
use crate::registry::{Origin, Resource, ScalePaths};
use crate::request::decode;
use crate::request::options::{WriteKind, WriteOptions};
use crate::request::route::Verb;
use crate::schema::View;
use crate::status::{Cause, Named, Refusal};
use crate::verbs::patch::configuration;
use crate::write::{ObjectPart, WantedObject, Writing, accept, sent};
use crate::{builtin, meta, patch, present, selector};

const VERSION: &str = "autoscaling/v1";
const KIND: Named<'_> = Named {
    group: "autoscaling",
    resource: "Scale",
};
const APPLY: &str = "application/apply-patch+yaml";

/// Answers a request about the scale.
///
/// # Errors
/// As the object's own verbs.
pub(super) fn answer(call: &Call<'_>) -> Result<Answer, Refusal> {
    let paths = paths(call.resource);
    let read = |object: &Value| -> Result<Value, Refusal> {
        let mut read = scale::read(object, &paths)?;
        if call.resource.origin == Origin::BuiltIn {
            let selector = selector(object, &call.resource.plural);
            meta::set_in(&mut read, "status", "selector", Some(selector.into()));
        }
        Ok(read)
    };
    if call.verb == Verb::Get {
        let held = present::value(call.resource, &*call.stored()?);
        let scale = read(&held)?;
        return Ok(present::scale(
            call.resource,
            &scale,
            call.look()?,
            StatusCode::OK,
        ));
    }
    let kind = match call.verb {
        Verb::Update => WriteKind::Update,
        _ if content_type(call) == APPLY => WriteKind::Apply,
        _ => WriteKind::Patch,
    };
    let options = WriteOptions::read(&call.request.query, kind)?;
    let writing = Writing::of(call, &options, ObjectPart::Scale);
    let owners = owners(call);
    let written = writing.update(|old| {
        let old = old.unwrap_or(&Value::Null);
        let mut before = scale::current(old, &paths)?;
        owners.to_scale(old, &mut before);
        let wanted = wanted(&writing, &before)?;
        judge(call, &wanted, old)?;
        admission::validate(&Admission::write(call, &options, &wanted, Some(&before)))?;
        let mut object = scale::write(old, &wanted, &paths)?;
        mutant!(
            ScalingLeavesTheOldOwner,
            return Ok(WantedObject::Applied(object))
        );
        owners.to_object(&wanted, &mut object, &call.resource.api_version());
        Ok(WantedObject::Applied(object))
    })?;
    let scale = read(&written.object.into_value(call.resource))?;
    Ok(present::scale(
        call.resource,
        &scale,
        call.look()?,
        written.code,
    ))
}

/// What the Scale is to become, with its owners.
fn wanted(writing: &Writing<'_>, before: &Value) -> Result<Value, Refusal> {
    let call = writing.call;
    if call.verb == Verb::Update {
        let scale = scale_of(call)?;
        return Ok(as_writer(writing, &writing.manager(), |writer, schema| {
            fields::update(Some(before), scale, schema, writer, &Set::default())
        }));
    }
    if content_type(call) == APPLY {
        let decoded = configuration(call)?;
        let on_conflict = OnConflict::of(writing.options.force);
        let manager = &writing.options.field_manager;
        let none = Set::default();
        let applied = as_writer(writing, manager, |writer, schema| {
            let live = Some(before);
            fields::apply(live, &decoded.value, schema, writer, on_conflict, &none)
        })?;
        return decoded_scale(applied);
    }
    let scale = decoded_scale(patched(call, before)?)?;
    Ok(as_writer(writing, &writing.manager(), |writer, schema| {
        fields::update(Some(before), scale, schema, writer, &Set::default())
    }))
}

/// The Scale in the body.
fn scale_of(call: &Call<'_>) -> Result<Value, Refusal> {
    let mut scale = sent::part(call, "scale")?;
    meta::put(&mut scale, "kind", "Scale");
    meta::put(&mut scale, "apiVersion", VERSION);
    let mut scale = decoded_scale(scale)?;
    accept::place(call, &mut scale)?;
    accept::name(call, &scale)?;
    Ok(scale)
}

fn decoded_scale(mut scale: Value) -> Result<Value, Refusal> {
    builtin::decode_scale(&mut scale).map_err(|why| {
        Refusal::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {why}"
        ))
    })?;
    Ok(scale)
}

fn content_type<'a>(call: &'a Call<'_>) -> &'a str {
    let said = call.request.header("content-type").unwrap_or_default();
    said.split(';').next().unwrap_or_default().trim()
}

fn patched(call: &Call<'_>, scale: &Value) -> Result<Value, Refusal> {
    let body = decode::json(&call.request.body).map_err(Refusal::bad_request)?;
    let body = body.value;
    let built_in = call.resource.origin == Origin::BuiltIn;
    match content_type(call) {
        "application/json-patch+json" => patch::json(scale, &body),
        "application/merge-patch+json" => patch::merge(scale, &body),
        "application/strategic-merge-patch+json" if built_in => {
            patch::strategic(scale, &body, builtin::scale_schema().view())
        }
        _ => Err(decode::unsupported(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}

/// Scales of built-in kinds are judged as such; those of others as a part of their object.
fn judge(call: &Call<'_>, scale: &Value, old: &Value) -> Result<(), Refusal> {
    if call.resource.origin != Origin::BuiltIn {
        return Ok(());
    }
    let name = meta::text(old, "name");
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64);
    if let Some(replicas) = replicas.filter(|replicas| *replicas < 0) {
        let why = "must be greater than or equal to 0";
        let cause = Cause::invalid("spec.replicas", &json!(replicas), why);
        return Err(Refusal::invalid(KIND, name, vec![cause]));
    }
    let (uid, held) = (meta::text(scale, "uid"), meta::text(old, "uid"));
    if !uid.is_empty() && uid != held {
        let resource = format!("{}/scale", call.resource.plural);
        let named = Named {
            group: &call.resource.group,
            resource: &resource,
        };
        let why =
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {held}");
        return Err(Refusal::conflict(named, name, &why));
    }
    Ok(())
}

/// Does something as the writer of the Scale.
fn as_writer<T>(
    writing: &Writing<'_>,
    manager: &str,
    work: impl FnOnce(&Writer<'_>, View<'_>) -> T,
) -> T {
    let writer = Writer {
        manager,
        api_version: VERSION,
        kind: "Scale",
        versions: &[VERSION],
        schemas: &[],
        subresource: "scale",
        now: writing.call.state.seams().clock.wall(),
    };
    work(&writer, builtin::scale_schema().view())
}

/// Where each version of the kind has its replicas.
fn owners(call: &Call<'_>) -> Replicas {
    let registry = call.state.registry();
    let own = call.resource;
    let all = registry.all().iter();
    let versions = all.filter(|other| other.group == own.group && other.plural == own.plural);
    versions.fold(Replicas::default(), |owners, version| {
        let has_scale = version.subresource("scale").is_some();
        let paths = has_scale.then(|| paths(version));
        let path: Option<Vec<&str>> = paths
            .as_ref()
            .map(|paths| paths.spec.trim_start_matches('.').split('.').collect());
        owners.with(&version.api_version(), path.as_deref())
    })
}

fn paths(resource: &Resource) -> ScalePaths {
    match &resource.origin {
        Origin::Custom {
            scale: Some(paths), ..
        } => paths.clone(),
        _ => ScalePaths {
            spec: ".spec.replicas".to_owned(),
            status: ".status.replicas".to_owned(),
            selector: None,
        },
    }
}

/// A workload's selector as text.
fn selector(object: &Value, plural: &str) -> String {
    let selector = object.pointer("/spec/selector").unwrap_or(&Value::Null);
    match plural {
        "replicationcontrollers" => selector::written(&json!({ "matchLabels": selector })),
        _ => selector::written(selector),
    }
}
