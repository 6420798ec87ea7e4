//! The body of a request in whatever format: read, or refused in the real server's words
//! (apiserver `pkg/endpoints/handlers/{create,update,rest}.go`).

use serde_json::Value;

use crate::builtin;
use crate::call::Call;
use crate::registry::Origin;
use crate::request::decode::{self, BodyFormat, Decoded, DuplicateKeys};
use crate::request::{golang, yaml};
use crate::status::Refusal;

/// The kind that a body should have.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its version, `apps/v1`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// Whether it is part of Kubernetes: only those can be protobuf.
    pub built_in: bool,
}

/// Reads the body.
///
/// # Errors
/// 400 for what does not parse, 415 for other formats.
pub fn read(call: &Call<'_>, expected: &Expected<'_>) -> Result<Decoded, Refusal> {
    let body = &call.request.body;
    let kind = expected.kind;
    let unreadable = |why: String| {
        let summary = golang::summary(body);
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
        ))
    };
    let no_json = |why| format!("couldn't get version/kind; json parse error: {why}");
    let decoded = match decode::format(call.request.header("content-type"))? {
        BodyFormat::Json => {
            let again = if expected.built_in {
                DuplicateKeys::Joins
            } else {
                DuplicateKeys::Replaces
            };
            decode::json_for(body, again).map_err(no_json)
        }
        BodyFormat::Yaml => yaml::read(body),
        BodyFormat::Protobuf => {
            return protobuf(body, expected).map_err(|refused| match refused.said {
                Some((version, said)) => Refusal::bad_request(format!(
                    "{said} in version {:?} cannot be handled as a {kind}: {}",
                    short(&version),
                    refused.why
                )),
                None => unreadable(refused.why),
            });
        }
    };
    let decoded = decoded.map_err(unreadable)?;
    let is_nameless = |value: &Value| {
        let kind = value.get("kind");
        kind.is_none_or(|kind| kind == "" || kind.is_null())
    };
    match decode::type_error(&decoded.value) {
        Some(why) => Err(unreadable(why)),
        None if !expected.built_in && is_nameless(&decoded.value) => {
            let text = String::from_utf8_lossy(body);
            Err(unreadable(format!("Object 'Kind' is missing in '{text}'")))
        }
        None => Ok(decoded),
    }
}

fn protobuf(body: &[u8], expected: &Expected<'_>) -> Result<Decoded, builtin::Unreadable> {
    let value = builtin::decode_protobuf(body, (expected.api_version, expected.kind))?;
    if expected.built_in {
        return Ok(Decoded {
            value,
            doubled: Vec::new(),
        });
    }
    // apiextensions-apiserver `pkg/crdserverscheme/unstructured.go`.
    let said = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    Err(builtin::Unreadable {
        why: "Object 'Kind' is missing in 'object has no kind field '".to_owned(),
        said: Some((said("apiVersion").to_owned(), said("kind").to_owned())),
    })
}

/// The version without its group.
fn short(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap_or_default()
}

/// Reads the body of a request to a subresource that takes a kind of its own.
///
/// # Errors
/// As [`read`], and 400 for other kinds and versions.
pub fn part(call: &Call<'_>, name: &str) -> Result<Value, Refusal> {
    let Some(part) = call.resource.subresource(name) else {
        return Err(Refusal::no_such_path());
    };
    let api_version = match part.group.as_str() {
        "" => part.version.clone(),
        group => format!("{group}/{}", part.version),
    };
    let expected = Expected {
        api_version: &api_version,
        kind: &part.kind,
        built_in: true,
    };
    let value = read(call, &expected)?.value;
    let said = |field: &str, otherwise| {
        let said = value.get(field).and_then(Value::as_str);
        said.filter(|said| !said.is_empty()).unwrap_or(otherwise)
    };
    let (kind, version) = (said("kind", &part.kind), said("apiVersion", &api_version));
    if kind == part.kind {
        match age(kind, version) {
            _ if version == api_version => return Ok(value),
            Age::Taken => return Ok(value),
            Age::Known => return Err(other_version(version, &api_version)),
            Age::Unknown => {}
        }
    }
    Err(Refusal::bad_request(format!(
        "{kind} in version {:?} cannot be handled as a {}: {}",
        short(version),
        part.kind,
        unconvertible(call, (version, kind), (&part.group, &part.kind))
    )))
}

/// What becomes of an older version of what is sent to a subresource.
enum Age {
    Taken,
    Known,
    Unknown,
}

/// Evictions come in two versions (kubernetes `pkg/registry/core/pod/storage/eviction.go`); the old ones of
/// scales are still registered.
fn age(kind: &str, version: &str) -> Age {
    match (kind, version) {
        ("Eviction", "policy/v1beta1") => Age::Taken,
        ("Scale", "apps/v1beta1" | "apps/v1beta2" | "extensions/v1beta1") => Age::Known,
        _ => Age::Unknown,
    }
}

/// 400: the body is of a known version of the kind, and not of this one.
pub fn other_version(said: &str, wanted: &str) -> Refusal {
    Refusal::bad_request(format!(
        "the API version in the data ({said}) does not match the expected API version ({wanted})"
    ))
}

/// Why an object (its version and kind) cannot become another kind (its group and kind).
pub fn unconvertible(call: &Call<'_>, from: (&str, &str), to: (&str, &str)) -> String {
    let (version, kind) = from;
    let registry = call.state.registry();
    let known = registry.of_kind(version, kind);
    if known.is_none_or(|known| known.origin != Origin::BuiltIn) {
        return unregistered(kind, version);
    }
    let package = to.0.split('.').next().filter(|name| !name.is_empty());
    format!(
        "converting ({}.{kind}) to ({}.{}): unknown conversion",
        short(version),
        package.unwrap_or("core"),
        to.1
    )
}

/// What is said of a kind that there is not.
pub fn unregistered(kind: &str, version: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
}
