//! The object in a request's body: decoded, of the right kind, pruned and with its defaults.

use serde_json::{Map, Value};

use super::kind::{KindHandling, SentText};
use super::sent::{self, Expected};
use crate::builtin::Words;
use crate::call::Call;
use crate::meta;
use crate::outline::Doubled;
use crate::registry::{Origin, Resource};
use crate::request::decode::{self, BodyFormat, Decoded};
use crate::request::options::FieldValidation;
use crate::request::yaml;
use crate::schema::{default, prune};
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
    let expected = Expected {
        api_version: &resource.api_version(),
        kind: &resource.kind,
        built_in: resource.origin == Origin::BuiltIn,
    };
    let Decoded { value, doubled } = sent::read(call, &expected)?;
    let object = of_kind(call, value)?;
    let is_json = decode::format(call.request.header("content-type"))? == BodyFormat::Json;
    let sent = SentText {
        text: is_json.then_some(&call.request.body),
        doubled,
        words: Words::Json,
    };
    let accepted = complete(object, resource, sent)?;
    noted(call, validation, &accepted.warnings).map_err(|errors| {
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
    problems: &[String],
) -> Result<(), String> {
    match validation {
        FieldValidation::Strict if !problems.is_empty() => {
            Err(format!("strict decoding error: {}", problems.join(", ")))
        }
        FieldValidation::Warn => {
            let problems = problems.iter().flat_map(|problem| yaml::warnings(problem));
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
fn complete(object: Value, resource: &Resource, sent: SentText<'_>) -> Result<Accepted, Refusal> {
    completed(object, resource, sent).map_err(|why| {
        let (kind, version) = (&resource.kind, &resource.version);
        Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}

/// The same for what an admission policy has made.
///
/// # Errors
/// 400 if the object does not have the types of its kind.
pub fn mutated(object: Value, resource: &Resource) -> Result<Value, Refusal> {
    complete(object, resource, SentText::default()).map(|accepted| accepted.object)
}

/// The same for what a JSON patch of an admission policy has made, which is read strictly.
///
/// # Errors
/// 500 if the object does not have the types and the fields of its kind.
pub fn patched_by_policy(object: Value, resource: &Resource) -> Result<Value, Refusal> {
    let accepted =
        completed(object, resource, SentText::default()).map_err(|why| Refusal::internal(&why))?;
    // A custom resource has no type: what its schema does not name is dropped when it is kept.
    if resource.origin == Origin::BuiltIn && !accepted.warnings.is_empty() {
        let why = accepted.warnings.join(", ");
        return Err(Refusal::internal(&format!("strict decoding error: {why}")));
    }
    Ok(accepted.object)
}

/// The same for what a patch has made.
///
/// # Errors
/// If it is not an object of the kind; the text is what the real server says of it.
pub fn patched(
    call: &Call<'_>,
    mut object: Value,
    doubled: Vec<Doubled>,
    words: Words,
) -> Result<Accepted, String> {
    if let Some(why) = decode::type_error(&object) {
        return Err(why);
    }
    if call.resource.origin == Origin::BuiltIn {
        let said = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, version) = (said("kind"), said("apiVersion"));
        let other = match version {
            "" => Some(sent::unregistered(kind, version)),
            version => other_kind(call, kind, version),
        };
        if let Some(why) = other {
            return Err(why);
        }
        meta::put(&mut object, "kind", call.resource.kind.as_str());
    }
    let sent = SentText {
        text: None,
        doubled,
        words,
    };
    completed(object, call.resource, sent)
}

/// The same for what an apply has made, which nobody has decoded: a `null` in a custom resource stays.
///
/// # Errors
/// 400 if the object does not have the types of its kind.
pub fn applied(mut object: Value, resource: &Resource) -> Result<Accepted, Refusal> {
    let (Origin::Custom { .. }, Some(schema)) = (&resource.origin, resource.schema()) else {
        return complete(object, resource, SentText::default());
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
    sent: SentText<'_>,
) -> Result<Accepted, String> {
    let kind = KindHandling::of(resource);
    let warnings = kind.read(&mut object, resource, sent)?;
    kind.default(&mut object, resource);
    Ok(Accepted { object, warnings })
}

/// The body is of the kind and version of the path; what a custom resource says of its kind is judged later.
fn of_kind(call: &Call<'_>, mut value: Value) -> Result<Value, Refusal> {
    let resource = call.resource;
    let said = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (said("kind").to_owned(), said("apiVersion").to_owned());
    let wanted = resource.api_version();
    if resource.origin == Origin::BuiltIn
        && let Some(why) = other_kind(call, &kind, &version)
    {
        return Err(Refusal::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {why}",
            if kind.is_empty() {
                &resource.kind
            } else {
                &kind
            },
            version.rsplit('/').next().unwrap_or_default(),
            resource.kind
        )));
    }
    if !version.is_empty() && version != wanted {
        return Err(sent::other_version(&version, &wanted));
    }
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    meta::put(&mut value, "apiVersion", wanted);
    if resource.origin == Origin::BuiltIn {
        meta::put(&mut value, "kind", resource.kind.as_str());
    }
    Ok(value)
}

/// Why an object of another kind cannot be one of a built-in kind, if it cannot; what is not said counts as
/// the kind itself.
fn other_kind(call: &Call<'_>, kind: &str, version: &str) -> Option<String> {
    let resource = call.resource;
    let own = resource.api_version();
    let kind = if kind.is_empty() {
        &resource.kind
    } else {
        kind
    };
    let version = if version.is_empty() { &own } else { version };
    let registry = call.state.registry();
    let found = registry.of_kind(version, kind);
    match found.filter(|found| found.origin == Origin::BuiltIn) {
        Some(found) if found.place() == resource.place() => None,
        _ => Some(sent::unconvertible(
            call,
            (version, kind),
            (&resource.group, &resource.kind),
        )),
    }
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
