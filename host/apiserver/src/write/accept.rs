//! The object in a request's body: decoded, of the right kind, pruned and with its defaults.

use serde_json::Value;

use super::kind::Kind;
use super::meta;
use crate::builtin;
use crate::registry::{Origin, Resource};
use crate::request::decode::{self, Decoded, Format};
use crate::request::golang;
use crate::request::options::FieldValidation;
use crate::schema::{default, prune};
use crate::server::Call;
use crate::status::Refusal;

/// An object that a client means.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The object, with defaults.
    pub object: Value,
    /// What the client is warned of.
    pub warnings: Vec<String>,
}

/// Reads the object in the body, and notes what is unknown or there twice in it.
///
/// # Errors
/// 400 for what does not parse or is of another kind, 415 for other formats.
pub fn body(call: &Call<'_>, validation: FieldValidation) -> Result<Value, Refusal> {
    let resource = call.resource;
    let body = &call.request.body;
    let unreadable = |why: String| {
        let summary = golang::summary(body);
        let kind = &resource.kind;
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
        ))
    };
    let no_json = |why| format!("couldn't get version/kind; json parse error: {why}");
    let decoded = match decode::format(call.request.header("content-type"))? {
        Format::Json => decode::json(body).map_err(no_json),
        Format::Yaml => decode::yaml(body),
        Format::Protobuf => Ok(Decoded {
            value: builtin::decode_protobuf(body)?,
            duplicates: Vec::new(),
        }),
    };
    let Decoded { value, duplicates } = decoded.map_err(unreadable)?;
    let object = of_kind(value, resource)?;
    let accepted = complete(object, resource, &duplicates)?;
    noted(call, validation, accepted.warnings).map_err(|errors| {
        Refusal::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {errors}",
            resource.kind, resource.version, resource.kind
        ))
    })?;
    Ok(accepted.object)
}

/// Notes unknown and doubled fields for a client that wants to know.
///
/// # Errors
/// All of them in one line, for a strict client.
pub fn noted(
    call: &Call<'_>,
    validation: FieldValidation,
    problems: Vec<String>,
) -> Result<(), String> {
    match validation {
        FieldValidation::Strict if !problems.is_empty() => {
            Err(format!("strict decoding error: {}", problems.join(", ")))
        }
        FieldValidation::Warn => {
            call.warnings.extend(problems);
            Ok(())
        }
        FieldValidation::Strict | FieldValidation::Ignore => Ok(()),
    }
}

/// Prunes an object and puts in its defaults. The warnings name what was unknown or there twice.
///
/// # Errors
/// 400 if the object does not have the types of its kind.
pub fn complete(
    object: Value,
    resource: &Resource,
    duplicates: &[String],
) -> Result<Accepted, Refusal> {
    completed(object, resource, duplicates).map_err(|why| {
        let (kind, version) = (&resource.kind, &resource.version);
        Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}

/// The same for what a patch has made.
///
/// # Errors
/// If it is no object of the kind; the text is what the real server says of it.
pub fn patched(
    object: Value,
    resource: &Resource,
    duplicates: &[String],
) -> Result<Accepted, String> {
    let said = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, version) = (said("kind"), said("apiVersion"));
    if resource.origin == Origin::BuiltIn {
        if version != resource.api_version() {
            return Err(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            ));
        }
        if kind != resource.kind {
            return Err(format!(
                "converting ({}.{kind}) to (core.{}): unknown conversion",
                resource.version, resource.kind
            ));
        }
    }
    completed(object, resource, duplicates)
}

/// The same for what an apply has made, which nobody has decoded: a `null` in a custom resource stays.
///
/// # Errors
/// As [`complete`].
pub fn applied(mut object: Value, resource: &Resource) -> Result<Accepted, Refusal> {
    let (Origin::Custom { .. }, Some(schema)) = (&resource.origin, resource.schema()) else {
        return complete(object, resource, &[]);
    };
    let unknown = prune::prune(&mut object, schema.view(), true);
    default::default(&mut object, schema.view());
    Ok(Accepted {
        object,
        warnings: unknown
            .iter()
            .map(|field| format!("unknown field {field:?}"))
            .collect(),
    })
}

fn completed(
    mut object: Value,
    resource: &Resource,
    duplicates: &[String],
) -> Result<Accepted, String> {
    let doubled = duplicates
        .iter()
        .map(|field| format!("duplicate field {field:?}"));
    let mut warnings: Vec<String> = doubled.collect();
    let kind = Kind::of(resource);
    let unknown = kind.read(&mut object, resource)?;
    warnings.extend(
        unknown
            .iter()
            .map(|field| format!("unknown field {field:?}")),
    );
    kind.default(&mut object, resource);
    Ok(Accepted { object, warnings })
}

/// The body is of the kind and version of the path.
fn of_kind(mut value: Value, resource: &Resource) -> Result<Value, Refusal> {
    let said = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (said("kind").to_owned(), said("apiVersion").to_owned());
    let wanted = resource.api_version();
    let custom = resource.origin != Origin::BuiltIn;
    if custom && kind.is_empty() {
        let text = value.to_string();
        return Err(Refusal::bad_request(format!(
            "Object 'Kind' is missing in '{text}'"
        )));
    }
    if !kind.is_empty() && kind != resource.kind {
        return Err(Refusal::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: no kind {kind:?} is registered for \
             version {version:?}",
            short(&version),
            resource.kind
        )));
    }
    if !version.is_empty() && version != wanted {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )));
    }
    if let Some(object) = value.as_object_mut() {
        object.insert("kind".to_owned(), resource.kind.as_str().into());
        object.insert("apiVersion".to_owned(), wanted.into());
        return Ok(value);
    }
    Err(Refusal::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal {} into Go value",
        resource.kind,
        resource.version,
        resource.kind,
        match value {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            _ => "value",
        }
    )))
}

fn short(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap_or(api_version)
}

/// The same owner twice is one owner, which is worth a warning.
pub fn single_owners(call: &Call<'_>, object: &mut Value) {
    let held = meta::get(object, "ownerReferences").and_then(Value::as_array);
    let Some(held) = held else {
        return;
    };
    let (mut kept, mut twice): (Vec<Value>, Vec<&str>) = (Vec::new(), Vec::new());
    for owner in held {
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
        if kept.contains(owner) {
            if !twice.contains(&uid) {
                twice.push(uid);
            }
        } else {
            kept.push(owner.clone());
        }
    }
    if twice.is_empty() {
        return;
    }
    call.warnings.add(format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in \
         1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate \
         UID(s) observed: {}",
        twice.join(", ")
    ));
    meta::set(object, "ownerReferences", Some(Value::Array(kept)));
}

/// The object is in the namespace of the path.
///
/// # Errors
/// 400 if it says another one.
pub fn place(call: &Call<'_>, object: &mut Value) -> Result<(), Refusal> {
    let wanted = call.target.namespace.as_deref().unwrap_or_default();
    match meta::text(object, "namespace") {
        said if said == wanted => {}
        "" => meta::set_text(object, "namespace", wanted),
        _ if wanted.is_empty() => meta::set_text(object, "namespace", ""),
        _ => {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}

/// The object has the name of the path.
///
/// # Errors
/// 400 if it says another one, or none.
pub fn name(call: &Call<'_>, object: &Value) -> Result<(), Refusal> {
    let wanted = call.target.name.as_deref().unwrap_or_default();
    let said = meta::text(object, "name");
    if said.is_empty() {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if said != wanted {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}
