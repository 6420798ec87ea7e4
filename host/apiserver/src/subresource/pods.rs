//! What can be done to a pod beside writing it: binding it to a node, and evicting it.

use http::StatusCode;
use serde_json::Value;

use super::{plain_body, success};
use crate::answer::Answer;
use crate::request::options::{DeleteOptions, WriteKind, WriteOptions};
use crate::request::query::Query;
use crate::server::Call;
use crate::status::Refusal;
use crate::verbs::delete;
use crate::write::{Part, Wanted, Writing, meta};

/// Puts a pod on a node (`POST …/binding`), as a scheduler does.
pub(super) fn bind(call: &Call<'_>) -> Result<Answer, Refusal> {
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let body = plain_body(call)?;
    let node = body
        .pointer("/target/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let name = call.target.name.as_deref().unwrap_or_default();
    Writing::of(call, &options, Part::Main).update(|old| {
        let mut new = old.cloned().unwrap_or_default();
        let held = new
            .pointer("/spec/nodeName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !held.is_empty() {
            let why = format!("pod {name} is already assigned to node {held:?}");
            return Err(Refusal::conflict(call.named(), name, &why));
        }
        meta::set_in(&mut new, "spec", "nodeName", Some(node.as_str().into()));
        Ok(Wanted::Applied(new))
    })?;
    Ok(success(StatusCode::CREATED))
}

/// Deletes a pod, as `kubectl drain` does. Disruption budgets are not looked at.
pub(super) fn evict(call: &Call<'_>) -> Result<Answer, Refusal> {
    let body = plain_body(call)?;
    let mut options = DeleteOptions::read(&Query::default(), body.get("deleteOptions"))?;
    options.dry_run |= call.request.query.text("dryRun").is_some();
    delete::one(call, &call.key(), &options)?;
    Ok(success(StatusCode::CREATED))
}
