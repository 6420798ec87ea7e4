//! Binding a pod to a node.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::success;
use crate::admission::{self, Admission};
use crate::answer::Answer;
use crate::call::Call;
use crate::request::options::{WriteKind, WriteOptions};
use crate::request::route::{Target, Verb};
use crate::status::{Cause, Named, Refusal};
use crate::store::Write;
use crate::write::{accept, sent};
use crate::{conditions, meta};

/// Other writes may come first this often.
const TRIES: usize = 100;

/// Puts a pod on a node (`POST …/binding`), as a scheduler does.
pub(super) fn bind(call: &Call<'_>) -> Result<Answer, Refusal> {
    call.look()?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let binding = sent::part(call, "binding")?;
    let name = call.target.name.as_deref().unwrap_or_default();
    if meta::text(&binding, "name") != name {
        let why = "name in URL does not match name in Binding object";
        return Err(Refusal::bad_request(why));
    }
    judge(call, &options, &binding)?;
    assign(call, &options, &binding)
}

/// Puts the pod that the body names on a node (`POST …/bindings`, the older path).
///
/// # Errors
/// As for [`bind`].
pub(crate) fn bind_named(call: &Call<'_>) -> Result<Answer, Refusal> {
    call.look()?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let mut binding = accept::body(call, options.field_validation)?;
    // This path takes no notice of the UID.
    meta::set(&mut binding, "uid", None);
    accept::place(call, &mut binding)?;
    judge(call, &options, &binding)?;
    let name = meta::text(&binding, "name");
    if name.is_empty() {
        return Err(Refusal::bad_request("Name parameter required."));
    }
    let target = Target {
        plural: "pods".to_owned(),
        name: Some(name.to_owned()),
        subresource: Some("binding".to_owned()),
        ..call.target.clone()
    };
    let registry = call.state.registry();
    let pods = registry.find(&target.group, &target.version, &target.plural);
    let pods = pods.ok_or_else(Refusal::no_such_path)?;
    let pod = Call::new(call.state, call.request, &target, pods, Verb::Create);
    assign(&pod, &options, &binding)
}

fn judge(call: &Call<'_>, options: &WriteOptions, binding: &Value) -> Result<(), Refusal> {
    let wrong = wrong(binding);
    if !wrong.is_empty() {
        return Err(Refusal::unknown(wrong));
    }
    admission::validate(&Admission::write(call, options, binding, None))
}

/// Writes the node into the pod of the path.
fn assign(call: &Call<'_>, options: &WriteOptions, binding: &Value) -> Result<Answer, Refusal> {
    let key = call.key();
    let now = call.state.seams().clock.wall();
    for _ in 0..TRIES {
        let held = call.stored()?;
        if let Some(other) = other(binding, &held.value()) {
            let key = call.resource.etcd_key(&key);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: {other}"
            );
            return Err(Refusal::conflict(
                call.named(),
                meta::text(binding, "name"),
                &why,
            ));
        }
        let conflict = |why: String| {
            let named = Named {
                group: "",
                resource: "pods/binding",
            };
            Refusal::conflict(named, &key.name, &why)
        };
        let bound = bound(held.value(), binding, now).map_err(conflict)?;
        if options.dry_run {
            return Ok(success(StatusCode::CREATED));
        }
        let write = Write::Put(crate::convert::to_stored(bound, call.resource));
        if call.write(key.clone(), Some(held.revision), write).is_ok() {
            return Ok(success(StatusCode::CREATED));
        }
    }
    Err(Refusal::internal("too many writes came first"))
}

/// What is wrong with a binding (`ValidatePodBinding`); empty if nothing is. The real server takes it for a
/// fault of its own.
fn wrong(binding: &Value) -> String {
    let text = |at: &str| {
        binding
            .pointer(at)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = text("/target/kind");
    let mut causes = Vec::new();
    if !matches!(kind, "" | "Node") {
        let allowed = ["Node".to_owned(), "<empty>".to_owned()];
        causes.push(Cause::unsupported("target.kind", &kind.into(), &allowed).line());
    }
    if text("/target/name").is_empty() {
        causes.push(Cause::required("target.name", "").line());
    }
    match causes.as_slice() {
        [] | [_] => causes.concat(),
        _ => format!("[{}]", causes.join(", ")),
    }
}

/// In what a pod is another one than a binding means.
fn other(binding: &Value, pod: &Value) -> Option<String> {
    let fields = [("UID", "uid"), ("ResourceVersion", "resourceVersion")];
    fields.into_iter().find_map(|(shown, field)| {
        let (wanted, held) = (meta::text(binding, field), meta::text(pod, field));
        let differs = !wanted.is_empty() && wanted != held;
        differs
            .then(|| format!("{shown} in precondition: {wanted}, {shown} in object meta: {held}"))
    })
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
    meta::set_in(&mut pod, "status", "nominatedNodeName", None);
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
        let mut going = pod.clone();
        going["metadata"]["deletionTimestamp"] = "2026-11-21T09:30:00Z".into();
        assert_eq!(
            bound(going, &binding, now).unwrap_err(),
            "pod a is being deleted, cannot be assigned to a host"
        );
    }
    #[test]
    fn a_binding_names_a_node_and_the_pod_that_it_means() {
        let target = |target: Value| wrong(&json!({ "target": target }));
        assert_eq!(target(json!({ "name": "n" })), "");
        assert_eq!(target(json!({ "kind": "Node", "name": "n" })), "");
        assert_eq!(target(json!({})), "target.name: Required value");
        assert_eq!(
            target(json!({ "kind": "Pod" })),
            "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", \
             target.name: Required value]"
        );
        let pod = json!({ "metadata": { "uid": "u", "resourceVersion": "7" } });
        let meant = |metadata: Value| other(&json!({ "metadata": metadata }), &pod);
        assert_eq!(meant(json!({ "name": "a" })), None);
        assert_eq!(meant(json!({ "uid": "u", "resourceVersion": "7" })), None);
        assert_eq!(
            meant(json!({ "uid": "v" })).unwrap(),
            "UID in precondition: v, UID in object meta: u"
        );
        assert_eq!(
            meant(json!({ "resourceVersion": "6" })).unwrap(),
            "ResourceVersion in precondition: 6, ResourceVersion in object meta: 7"
        );
    }
}
