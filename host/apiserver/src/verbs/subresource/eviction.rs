//! Evicting a pod: a deletion that its disruption budget has to allow (kubernetes
//! `pkg/registry/core/pod/storage/eviction.go`).

use std::sync::Arc;

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::success;
use crate::admission::{self, Admission};
use crate::answer::Answer;
use crate::call::Call;
use crate::registry::Resource;
use crate::request::loopback::{self, Agent, At, Failed, RequestBody};
use crate::request::options::{DeleteOptions, WriteKind, WriteOptions};
use crate::request::query::Query;
use crate::request::route::Verb;
use crate::state::State;
use crate::status::{Cause, Named, Refusal};
use crate::store::{NamespacedName, Write};
use crate::verbs::{delete, update};
use crate::write::{ObjectPart, sent};
use crate::{budgets, conditions, meta};

/// Other writes may come first this often.
const TRIES: usize = 20;
const SERVER: Agent = Agent {
    program: "kube-apiserver",
    user: "system:apiserver",
};

/// How an eviction may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leave {
    /// Whatever has become of the pod.
    Freely,
    /// As long as the pod is as it was; else the budget of that name is asked again.
    Unchanged(Option<String>),
}

/// Deletes a pod, if its disruption budget allows it.
pub(super) fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    call.look()?;
    let options = options(call)?;
    let mut last = Refusal::internal("too many writes came first");
    for _ in 0..TRIES {
        let held = call.stored()?;
        let pod = held.value();
        let leave = if is_over(&pod) {
            Leave::Freely
        } else if phase(&pod) == "Pending" {
            Leave::Unchanged(None)
        } else {
            by_budget(call, &pod, &options)?
        };
        let own = options.resource_version.is_some();
        let mut wanted = options.clone();
        if let (Leave::Unchanged(_), false) = (&leave, own) {
            wanted.resource_version = Some(meta::text(&pod, "resourceVersion").to_owned());
        }
        match (delete_marked(call, wanted), leave) {
            (Ok(()), _) => return Ok(success(StatusCode::CREATED)),
            (Err(refusal), leave) if refusal.reason == "Conflict" && !own => match leave {
                // The pod has changed meanwhile, or it is not the one that the client means.
                Leave::Unchanged(None) => last = refusal,
                Leave::Unchanged(Some(budget)) => return Err(budgets::still_processed(&budget)),
                Leave::Freely => return Err(refusal),
            },
            (Err(refusal), _) => return Err(refusal),
        }
    }
    Err(last)
}

fn options(call: &Call<'_>) -> Result<DeleteOptions, Refusal> {
    let body = sent::part(call, "eviction")?;
    let key = call.key();
    if meta::text(&body, "name") != &*key.name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Refusal::bad_request(why));
    }
    let unsafe_read = "ignoreStoreReadErrorWithClusterBreakingPotential";
    let said = body.get("deleteOptions");
    if { said.and_then(|said| said.get(unsafe_read)) } == Some(&Value::Bool(true)) {
        let why = "can not be set for pod eviction, try after removing the option";
        let field = format!("deleteOptions.{unsafe_read}");
        let causes = vec![Cause::invalid(field, &Value::Bool(true), why)];
        let kind = Named {
            group: "policy",
            resource: "Eviction",
        };
        return Err(Refusal::invalid(kind, &key.name, causes));
    }
    let mut options = DeleteOptions::read(&Query::default(), said)?;
    let sent = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    options.dry_run |= sent.dry_run;
    admission::validate(&Admission::write(call, &sent, &body, None))?;
    Ok(options)
}

/// Whether a pod has ended, or ends already.
fn is_over(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed") || meta::is_deleting(pod)
}

fn phase(pod: &Value) -> &str {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    phase.unwrap_or_default()
}

/// Has the pod's disruption budget allow the eviction, which counts in its status.
fn by_budget(call: &Call<'_>, pod: &Value, options: &DeleteOptions) -> Result<Leave, Refusal> {
    let registry = call.state.registry();
    let resource = registry.find("policy", "v1", "poddisruptionbudgets");
    let Some(resource) = resource else {
        return Ok(Leave::Freely);
    };
    let key = call.key();
    let store = call.state.store();
    let entries = store.list(&resource.place(), Some(&key.namespace)).entries;
    let all = entries.iter().map(|entry| entry.value());
    let mut own: Vec<Value> = all.filter(|budget| budgets::selects(budget, pod)).collect();
    let (Some(mut budget), more) = (own.pop(), !own.is_empty()) else {
        return Ok(Leave::Freely);
    };
    if more {
        return Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    let name = meta::text(&budget, "name").to_owned();
    if !conditions::is_true(pod, "Ready") && budgets::spares_unready(&budget) {
        return Ok(Leave::Unchanged(Some(name)));
    }
    let place = NamespacedName::new(&key.namespace, &name);
    let now = call.state.seams().clock.wall();
    for _ in 0..TRIES {
        let new = budgets::decremented(budget, &key.name, now)?;
        if options.dry_run {
            return Ok(Leave::Freely);
        }
        match replace_status(call.state, resource, &place, &new) {
            Ok(()) => return Ok(Leave::Freely),
            Err(Failed::Refused(why)) => return Err(Refusal::internal(&why)),
            Err(Failed::Absent | Failed::Changed) => {}
        }
        let held = store.get(&resource.place(), &place);
        let named = Named {
            group: "policy",
            resource: "poddisruptionbudgets",
        };
        let missing = || Refusal::not_found(named, &name);
        budget = held.ok_or_else(missing)?.value();
    }
    let why = format!("Timeout: couldn't update PodDisruptionBudget {name:?} due to conflicts");
    let mut refusal = Refusal::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", why);
    refusal.details.retry_after = 10;
    Err(refusal)
}

/// Replaces the status of a budget as the server itself, by an update as any client's.
fn replace_status(
    state: &State,
    budgets: &Arc<Resource>,
    key: &NamespacedName,
    new: &Value,
) -> Result<(), Failed> {
    let target = At::status(budgets, key).target(Some(&key.name));
    let request = loopback::request(
        SERVER,
        Method::PUT,
        target.clone(),
        RequestBody::Object,
        new,
    );
    let call = Call::new(state, &request, &target, budgets, Verb::Update);
    update::part(&call, ObjectPart::Status)?;
    Ok(())
}

/// Says on the pod why it goes, and deletes it (`addConditionAndDeletePod`).
fn delete_marked(call: &Call<'_>, mut options: DeleteOptions) -> Result<(), Refusal> {
    let key = call.key();
    if !options.dry_run {
        let now = call.state.seams().clock.wall();
        for left in (0..TRIES).rev() {
            let held = call.stored()?;
            let pod = held.value();
            unchanged(&pod, &options)?;
            let write = Write::Put(crate::convert::to_stored(marked(pod, now), call.resource));
            let written = call.write(key.clone(), Some(held.revision), write);
            match written {
                Ok(entry) => {
                    if options.resource_version.is_some() {
                        options.resource_version = Some(entry.revision.to_string());
                    }
                    break;
                }
                Err(_) if left > 0 => {}
                Err(_) => return Err(Refusal::internal("too many writes came first")),
            }
        }
    }
    delete::one(call, &key, &options).map(drop)
}

/// Refuses to touch a pod that is not the one that was meant.
fn unchanged(pod: &Value, options: &DeleteOptions) -> Result<(), Refusal> {
    let (name, uid) = (meta::text(pod, "name"), meta::text(pod, "uid"));
    let version = meta::text(pod, "resourceVersion");
    let conflict = |why: String| {
        let named = Named {
            group: "",
            resource: "Pod",
        };
        Err(Refusal::conflict(named, name, &why))
    };
    match (&options.uid, &options.resource_version) {
        (Some(wanted), _) if wanted != uid => conflict(format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might \
             have been deleted and then recreated"
        )),
        (_, Some(wanted)) if wanted != version => conflict(format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        )),
        _ => Ok(()),
    }
}

/// A pod that says that it is evicted.
fn marked(mut pod: Value, now: Timestamp) -> Value {
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": null,
        "lastTransitionTime": meta::time(now),
    });
    conditions::put(&mut pod, condition);
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_over_when_it_has_ended_or_is_deleted() {
        let pod = |phase: &str| json!({ "metadata": {}, "status": { "phase": phase } });
        for (said, over) in [
            ("Running", false),
            ("Pending", false),
            ("Succeeded", true),
            ("Failed", true),
        ] {
            let pod = pod(said);
            assert_eq!((phase(&pod), is_over(&pod)), (said, over));
        }
        let mut going = pod("Running");
        meta::set(
            &mut going,
            "deletionTimestamp",
            Some("2026-11-21T09:30:00Z".into()),
        );
        assert!(is_over(&going));
    }
}
