//! The scale of something with replicas, as an `autoscaling/v1` Scale.

use http::StatusCode;
use serde_json::Value;

use super::plain_body;
use crate::answer::Answer;
use crate::crd::scale;
use crate::patch;
use crate::present;
use crate::registry::{Origin, ScalePaths};
use crate::request::decode;
use crate::request::options::{WriteKind, WriteOptions};
use crate::request::route::Verb;
use crate::server::Call;
use crate::status::Refusal;
use crate::write::{Part, Wanted, Writing, meta};

/// Answers a request about the scale.
///
/// # Errors
/// As the object's own verbs.
pub fn answer(call: &Call<'_>) -> Result<Answer, Refusal> {
    let paths = paths(call);
    let read = |object: &Value| -> Result<Value, Refusal> {
        let mut read = scale::read(object, &paths)?;
        if call.resource.origin == Origin::BuiltIn {
            meta::set_in(
                &mut read,
                "status",
                "selector",
                Some(selector(object).into()),
            );
        }
        Ok(read)
    };
    if call.verb == Verb::Get {
        let held = present::value(call.resource, &*call.held()?);
        return Ok(Answer::json(StatusCode::OK, &read(&held)?));
    }
    let kind = if call.verb == Verb::Update {
        WriteKind::Update
    } else {
        WriteKind::Patch
    };
    let options = WriteOptions::read(&call.request.query, kind)?;
    let written = Writing::of(call, &options, Part::Scale).update(|old| {
        let old = old.unwrap_or(&Value::Null);
        let wanted = if call.verb == Verb::Update {
            plain_body(call)?
        } else {
            patched(call, &scale::current(old, &paths)?)?
        };
        Ok(Wanted::Updated(scale::write(old, &wanted, &paths)?))
    })?;
    Ok(Answer::json(written.code, &read(&written.object)?))
}

fn patched(call: &Call<'_>, scale: &Value) -> Result<Value, Refusal> {
    let body = plain_body(call)?;
    match call.request.header("content-type").unwrap_or_default() {
        "application/json-patch+json" => patch::json(scale, &body),
        "application/merge-patch+json"
        | "application/strategic-merge-patch+json"
        | "application/apply-patch+yaml" => patch::merge(scale, &body),
        _ => Err(decode::unsupported(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}

fn paths(call: &Call<'_>) -> ScalePaths {
    match &call.resource.origin {
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
fn selector(object: &Value) -> String {
    let labels = object
        .pointer("/spec/selector/matchLabels")
        .and_then(Value::as_object);
    let pairs = labels.into_iter().flatten();
    let pairs = pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}
