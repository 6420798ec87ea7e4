//! The `scale` subresource of custom kinds: an `autoscaling/v1` Scale that is read from, and written to,
//! paths within the object.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::json::go_type;
use crate::registry::{Origin, Resource, ScalePaths};
use crate::status::shown::plain;
use crate::status::{Cause, Refusal};

/// What stands for replicas of which nothing is said: nobody asks for so many.
pub const NONE: i64 = i32::MIN as i64;

/// The Scale of an object.
///
/// # Errors
/// If there is no number of replicas at the spec's path, or something that is not a number.
pub fn read(object: &Value, paths: &ScalePaths) -> Result<Value, Refusal> {
    let (scale, found) = scale(object, paths).map_err(|why| Refusal::internal(&why))?;
    if found {
        return Ok(scale);
    }
    let why = format!("the spec replicas field {:?} does not exist", paths.spec);
    Err(Refusal::internal(&why))
}

/// The Scale that an update of the Scale begins from: as [`read`], with [`NONE`] where nothing is said of
/// replicas.
///
/// # Errors
/// If there is something at a path that has the wrong type.
pub fn current(object: &Value, paths: &ScalePaths) -> Result<Value, Refusal> {
    let (mut scale, found) = scale(object, paths).map_err(|why| Refusal::internal(&why))?;
    if !found && let Some(spec) = scale.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("replicas".to_owned(), NONE.into());
    }
    Ok(scale)
}

/// The object with the replicas (and the version, if one is given) that a Scale asks for.
///
/// # Errors
/// If the Scale says nothing of replicas, or the path leads through something that is not an object.
pub fn write(object: &Value, scale: &Value, paths: &ScalePaths) -> Result<Value, Refusal> {
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64);
    if replicas == Some(NONE) {
        let why = format!("the spec replicas field {:?} cannot be empty", paths.spec);
        return Err(Refusal::bad_request(why));
    }
    let mut object = object.clone();
    set(
        &mut object,
        &paths.spec,
        replicas.unwrap_or_default().into(),
    )?;
    let version = scale.pointer("/metadata/resourceVersion");
    let version = version
        .and_then(Value::as_str)
        .filter(|version| !version.is_empty());
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(version), Some(metadata)) = (version, metadata) {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    Ok(object)
}

/// What is wrong with the replicas that an object asks for.
pub(super) fn validate_spec(object: &Value, resource: &Resource) -> Option<Cause> {
    replicas(object, &paths(resource)?.spec)
}

/// What is wrong with the replicas and the selector in an object's status.
pub(super) fn validate_status(object: &Value, resource: &Resource) -> Vec<Cause> {
    let Some(paths) = paths(resource) else {
        return Vec::new();
    };
    let mut causes: Vec<Cause> = replicas(object, &paths.status).into_iter().collect();
    if let Some(selector) = &paths.selector
        && let Err(why) = text(object, selector)
    {
        causes.push(Cause::invalid(selector.as_str(), &"".into(), &why));
    }
    causes
}

fn paths(resource: &Resource) -> Option<&ScalePaths> {
    match &resource.origin {
        Origin::Custom { scale, .. } => scale.as_ref(),
        Origin::BuiltIn => None,
    }
}

fn replicas(object: &Value, path: &str) -> Option<Cause> {
    let most = i64::from(i32::MAX);
    match number(object, path) {
        Err(why) => Some(Cause::invalid(path, &0.into(), &why)),
        Ok(Some(replicas)) if replicas < 0 => {
            let why = "should be a non-negative integer";
            Some(Cause::invalid(path, &replicas.into(), why))
        }
        Ok(Some(replicas)) if replicas > most => {
            let why = format!("should be less than or equal to {most}");
            Some(Cause::invalid(path, &replicas.into(), &why))
        }
        Ok(_) => None,
    }
}

/// The Scale, and whether the object says how many replicas it wants.
fn scale(object: &Value, paths: &ScalePaths) -> Result<(Value, bool), String> {
    let wanted = number(object, &paths.spec)?;
    let there = number(object, &paths.status)?.unwrap_or_default();
    let selector = match &paths.selector {
        Some(path) => text(object, path)?,
        None => None,
    };
    let mut metadata = Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
        {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut status = json!({ "replicas": there as i32 });
    if let (Some(selector), Value::Object(status)) =
        (selector.filter(|text| !text.is_empty()), &mut status)
    {
        status.insert("selector".to_owned(), selector.into());
    }
    // Like Go's omitempty: no replicas are not written.
    let mut spec = Map::new();
    if let Some(wanted) = wanted
        .map(|wanted| wanted as i32)
        .filter(|wanted| *wanted != 0)
    {
        spec.insert("replicas".to_owned(), wanted.into());
    }
    let scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec,
        "status": status,
    });
    Ok((scale, wanted.is_some()))
}

fn fields(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// What lies at a path; an error if the path leads through something that is not an object.
fn lookup<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut at = object;
    let mut been = String::new();
    for field in fields(path) {
        been.push('.');
        been.push_str(field);
        let Some(all) = at.as_object() else {
            let shown = plain(at);
            let go = go_type(at);
            return Err(format!(
                "{been} accessor error: {shown} is of the type {go}, expected map[string]interface{{}}"
            ));
        };
        match all.get(field) {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match lookup(object, path)? {
        None => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| wrong(path, value, "int64")),
    }
}

fn text<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, String> {
    match lookup(object, path)? {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .map(Some)
            .ok_or_else(|| wrong(path, value, "string")),
    }
}

fn wrong(path: &str, value: &Value, wanted: &str) -> String {
    let path: Vec<&str> = fields(path).collect();
    let text = plain(value);
    format!(
        ".{} accessor error: {text} is of the type {}, expected {wanted}",
        path.join("."),
        go_type(value)
    )
}

fn set(object: &mut Value, path: &str, value: Value) -> Result<(), Refusal> {
    let mut at = object;
    for field in fields(path) {
        let Value::Object(all) = at else {
            let why =
                format!("value cannot be set because {path} is not a map[string]interface{{}}");
            return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
        };
        at = all
            .entry(field)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *at = value;
    Ok(())
}
