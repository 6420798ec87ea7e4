//! What the server says about itself: discovery, OpenAPI, version and health.

mod about;
mod health;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::answer::{Answer, JSON};
use crate::encode::Part;
use crate::openapi::{CrdVersion, v2};
use crate::registry::Registry;
use crate::request::Request;
use crate::request::accept::{self, Form, Missing, Offers};
use crate::state::State;
use crate::status::Refusal;
use crate::store::NamespacedName;
use crate::{definitions, discovery, openapi};

/// What the keys of tokens are written in.
const KEYS: &str = "application/jwk-set+json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a path that names no objects.
///
/// # Errors
/// 404 if there is nothing at that path.
pub fn answer(state: &State, request: &Request, parts: &[String]) -> Result<Answer, Refusal> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Refusal::method_not_allowed());
    }
    let registry = state.registry();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let ok = StatusCode::OK;
    let crds = |crd: &str, version: &str| crd_version(state, crd, version);
    let document = |group: &str, version: &str| {
        let etag = openapi::version_hash(&registry, group, version);
        let make = || openapi::document(&registry, group, version, &crds);
        Ok(tagged(request, &etag, make).unwrap_or_else(nothing))
    };
    let found = match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => return Ok(health::answer(request, &parts)),
        [] | ["index.html"] => {
            let paths = json!({ "paths": about::paths(&registry) });
            return Ok(Answer::indented(ok, &paths, Part::PLAIN));
        }
        ["flagz"] => return Ok(about::flags(state)),
        ["statusz"] => return Ok(about::status()),
        ["metrics"] => return Ok(about::metrics(state)),
        [".well-known", "openid-configuration"] => {
            return Ok(Answer::document(ok, &about::issuer(request)));
        }
        ["openid", "v1", "jwks"] => {
            let missing = Missing::Type.refusal(true, false);
            accept::first(request.header("accept"), &[KEYS]).ok_or(missing)?;
            let mut answer = Answer::document(ok, &json!({ "keys": [] }));
            answer.content_type = KEYS;
            return Ok(answer);
        }
        ["version"] => {
            let info = Part::named("Info");
            return Ok(Answer::indented(ok, &about::version(), info));
        }
        ["api"] | ["apis"] => {
            let core = parts == ["api"];
            if accept::form(request.header("accept"), Offers::Discovery)
                .map_err(|missing| missing.refusal(true, false))?
                == Form::Discovery
            {
                let mut answer = Answer::json(ok, &discovery::aggregated(&registry, core));
                answer.content_type = AGGREGATED;
                return Ok(answer);
            }
            let address = request.header("host").unwrap_or_default();
            Some(if core {
                discovery::core_versions(address)
            } else {
                discovery::group_list(&registry)
            })
        }
        ["api", version] => discovery::resource_list(&registry, "", version),
        ["apis", group] => discovery::group(&registry, group),
        ["apis", group, version] => discovery::resource_list(&registry, group, version),
        ["openapi", "v2"] => return Ok(v2(request, &registry, &crds)),
        ["openapi", "v3"] => {
            // The real server does not say that this is JSON.
            let mut answer = Answer::document(ok, &openapi::index(&registry));
            answer.content_type = "text/plain; charset=utf-8";
            return Ok(answer);
        }
        ["openapi", "v3", "api", version] => return document("", version),
        ["openapi", "v3", "apis", group, version] => return document(group, version),
        ["openapi", "v3", ..] => return Ok(nothing()),
        _ => None,
    };
    Ok(match found {
        Some(found) => Answer::json(ok, &found),
        // In the core group the way to objects has begun.
        None if parts.first() == Some(&"api") => return Err(Refusal::no_such_path()),
        None => Answer::no_page(),
    })
}

/// `/openapi/v2` in the form that the client wants (kube-openapi `pkg/handler/handler.go`).
fn v2(request: &Request, registry: &Registry, crds: CrdVersion<'_>) -> Answer {
    let forms = [JSON, v2::PROTOBUF[1], v2::PROTOBUF[0]];
    let form = match accept::first(request.header("accept"), &forms) {
        None => return without_body(StatusCode::NOT_ACCEPTABLE),
        Some(JSON) => v2::DocumentFormat::Json,
        Some(_) => v2::DocumentFormat::Protobuf,
    };
    let make = || Some(v2::document(registry, crds, form));
    let mut answer = tagged(request, &v2::etag(registry), make).unwrap_or_else(nothing);
    if form == v2::DocumentFormat::Protobuf && answer.code == StatusCode::OK {
        answer.content_type = v2::PROTOBUF[0];
    }
    answer
}

/// A document with its `ETag`, which is only made for who does not have it.
fn tagged<T: Into<Bytes>>(
    request: &Request,
    etag: &str,
    make: impl FnOnce() -> Option<T>,
) -> Option<Answer> {
    let etag = format!("{etag:?}");
    let held = request.header("if-none-match").unwrap_or_default();
    let held = held
        .split(',')
        .map(|one| one.trim().trim_start_matches("W/"));
    let has_it = held.into_iter().any(|one| one == etag || one == "*");
    let mut answer = if has_it {
        without_body(StatusCode::NOT_MODIFIED)
    } else {
        Answer::bytes(StatusCode::OK, make()?.into())
    };
    answer.etag = Some(etag);
    Some(answer)
}

/// 404 without a word.
fn nothing() -> Answer {
    without_body(StatusCode::NOT_FOUND)
}

fn without_body(code: StatusCode) -> Answer {
    let mut answer = Answer::bytes(code, Vec::new().into());
    answer.content_type = "";
    answer
}

/// `spec.versions[i]` of a CRD.
fn crd_version(state: &State, crd: &str, version: &str) -> Option<Value> {
    let held = state
        .store()
        .get(&definitions::place(), &NamespacedName::new("", crd))?
        .value();
    let mut versions = held.pointer("/spec/versions")?.as_array()?.iter();
    let found = versions.find(|found| found.get("name").and_then(Value::as_str) == Some(version));
    found.cloned()
}
