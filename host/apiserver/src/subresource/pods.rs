//! What can be done to a pod beside writing it: binding it to a node, and evicting it.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{plain_body, success};
use crate::answer::Answer;
use crate::policy::{self, Admission};
use crate::request::options::{DeleteOptions, WriteKind, WriteOptions};
use crate::request::query::Query;
use crate::server::Call;
use crate::status::{Named, Refusal};
use crate::store::Write;
use crate::verbs::delete;
use crate::write::{conditions, meta};

/// Other writes may come first this often.
const TRIES: usize = 100;

/// Puts a pod on a node (`POST …/binding`), as a scheduler does.
pub(super) fn bind(call: &Call<'_>) -> Result<Answer, Refusal> {
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let binding = plain_body(call)?;
    let key = call.key();
    if meta::text(&binding, "name") != &*key.name {
        let why = "name in URL does not match name in Binding object";
        return Err(Refusal::bad_request(why));
    }
    policy::validate(&Admission::write(call, &options, &binding, None))?;
    let now = call.server.seams().clock.wall();
    for _ in 0..TRIES {
        let held = call.held()?;
        let conflict = |why: String| {
            let named = Named {
                group: "",
                resource: "pods/binding",
            };
            Refusal::conflict(named, &key.name, &why)
        };
        let bound = bound(held.value(), &binding, now).map_err(conflict)?;
        if options.dry_run {
            return Ok(success(StatusCode::CREATED));
        }
        let write = Write::Put(crate::convert::to_stored(bound, call.resource));
        if call
            .server
            .write(call, key.clone(), Some(held.revision), write)
            .is_ok()
        {
            return Ok(success(StatusCode::CREATED));
        }
    }
    Err(Refusal::internal("too many writes came first"))
}

/// A pod on the node of a binding; or why it cannot be put there. It gets no new generation, and nobody
/// owns the fields.
fn bound(mut pod: Value, binding: &Value, now: Timestamp) -> Result<Value, String> {
    let text = |object: &Value, at: &str| {
        let held = object.pointer(at).and_then(Value::as_str);
        held.unwrap_or_default().to_owned()
    };
    let name = meta::text(&pod, "name").to_owned();
    if meta::is_deleting(&pod) {
        return Err(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = text(&pod, "/spec/nodeName");
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    let gates = pod
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let node = text(binding, "/target/name");
    meta::set_in(&mut pod, "spec", "nodeName", Some(node.into()));
    for part in ["annotations", "labels"] {
        let more = meta::get(binding, part).and_then(Value::as_object);
        for (key, value) in more.into_iter().flatten() {
            let mut held = meta::get(&pod, part).cloned().unwrap_or_else(|| json!({}));
            meta::put(&mut held, key, value.clone());
            meta::set(&mut pod, part, Some(held));
        }
    }
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": meta::time(now),
    });
    conditions::put(&mut pod, scheduled);
    Ok(pod)
}

/// Deletes a pod, as `kubectl drain` does. Disruption budgets are not looked at.
pub(super) fn evict(call: &Call<'_>) -> Result<Answer, Refusal> {
    let body = plain_body(call)?;
    let mut options = DeleteOptions::read(&Query::default(), body.get("deleteOptions"))?;
    options.dry_run |= call.request.query.text("dryRun").is_some();
    let sent = WriteOptions {
        dry_run: options.dry_run,
        ..WriteOptions::read(&Query::default(), WriteKind::Create)?
    };
    policy::validate(&Admission::write(call, &sent, &body, None))?;
    delete::one(call, &call.key(), &options)?;
    Ok(success(StatusCode::CREATED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_bound_once_and_only_when_nothing_holds_it() {
        let now = "2026-11-21T09:30:00Z".parse().unwrap();
        let binding = json!({ "metadata": { "name": "a", "labels": { "x": "y" } }, "target": { "name": "n" } });
        let pod = json!({ "metadata": { "name": "a" }, "spec": {} });
        let once = bound(pod.clone(), &binding, now).unwrap();
        assert_eq!(once["spec"]["nodeName"], "n");
        assert_eq!(once["metadata"]["labels"], json!({ "x": "y" }));
        assert!(conditions::is_true(&once, "PodScheduled"));
        let again = bound(once, &binding, now);
        assert_eq!(
            again.unwrap_err(),
            "pod a is already assigned to node \"n\""
        );
        let mut gated = pod.clone();
        gated["spec"]["schedulingGates"] = json!([{ "name": "x" }]);
        assert_eq!(
            bound(gated, &binding, now).unwrap_err(),
            "pod a has non-empty .spec.schedulingGates"
        );
        let mut going = pod;
        going["metadata"]["deletionTimestamp"] = "2026-11-21T09:30:00Z".into();
        assert_eq!(
            bound(going, &binding, now).unwrap_err(),
            "pod a is being deleted, cannot be assigned to a host"
        );
    }
}
