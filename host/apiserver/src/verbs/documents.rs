//! What the server says about itself: discovery, OpenAPI, version and health.

mod about;
mod health;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::request::Request;
use crate::request::accept::{self, Form};
use crate::server::Server;
use crate::status::Refusal;
use crate::store::Key;
use crate::{definitions, discovery, openapi};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a path that names no objects.
///
/// # Errors
/// 404 if there is nothing at that path.
pub fn answer(server: &Server, request: &Request, parts: &[String]) -> Result<Answer, Refusal> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Refusal::method_not_allowed());
    }
    let registry = server.registry();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let ok = StatusCode::OK;
    let crds = |crd: &str, version: &str| crd_version(server, crd, version);
    let document = |group: &str, version: &str| {
        let text = openapi::document(&registry, group, version, &crds);
        Ok(text.map_or_else(nothing, |text| Answer::bytes(ok, text.into())))
    };
    let found = match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => return Ok(health::answer(request, &parts)),
        [] | ["index.html"] => Some(json!({ "paths": about::paths(&registry) })),
        ["flagz"] => return Ok(about::flags(server)),
        ["statusz"] => return Ok(about::status()),
        ["metrics"] => return Ok(about::metrics(server)),
        [".well-known", "openid-configuration"] => Some(about::issuer(request)),
        ["openid", "v1", "jwks"] => {
            let mut answer = Answer::json(ok, &json!({ "keys": [] }));
            answer.content_type = "application/jwk-set+json";
            return Ok(answer);
        }
        ["version"] => Some(about::version()),
        ["api"] | ["apis"] => {
            let core = parts == ["api"];
            if accept::form(request.header("accept"), true)
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
        ["openapi", "v2"] if asks_for_protobuf(request) => {
            let mut answer = Answer::bytes(ok, openapi::v2_protobuf().into());
            answer.content_type = openapi::V2_PROTOBUF[0];
            return Ok(answer);
        }
        ["openapi", "v2"] => Some(openapi::v2()),
        ["openapi", "v3"] => {
            // The real server does not say that this is JSON.
            let mut answer = Answer::json(ok, &openapi::index(&registry, &crds));
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

fn asks_for_protobuf(request: &Request) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    accept
        .split(',')
        .any(|one| openapi::V2_PROTOBUF.contains(&one.trim()))
}

/// 404 without a word.
fn nothing() -> Answer {
    let mut answer = Answer::bytes(StatusCode::NOT_FOUND, Vec::new().into());
    answer.content_type = "";
    answer
}

/// `spec.versions[i]` of a CRD.
fn crd_version(server: &Server, crd: &str, version: &str) -> Option<Value> {
    let held = server
        .store()
        .get(&definitions::place(), &Key::new("", crd))?
        .value();
    let mut versions = held.pointer("/spec/versions")?.as_array()?.iter();
    let found = versions.find(|found| found.get("name").and_then(Value::as_str) == Some(version));
    found.cloned()
}
