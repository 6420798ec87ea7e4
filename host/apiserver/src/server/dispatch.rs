//! Finds the resource and the verb of a request, and has it answered.

use std::sync::Arc;

use http::Method;

use crate::answer::Answer;
use crate::call::Call;
use crate::registry::{Origin, Registry, Resource};
use crate::request::route::{Route, Target, Verb};
use crate::request::{Request, timeout};
use crate::state::State;
use crate::status::Refusal;
use crate::verbs::{create, delete, documents, patch, read, subresource, update, watch};
use crate::{deep, names, reviews};

/// Answers one request whose body is there.
pub(super) fn answer(state: &State, request: &Request) -> Answer {
    let answer = ask(state, request).unwrap_or_else(Answer::from);
    if request.is_for_people() {
        return answer.pretty();
    }
    answer
}

/// Answers one request; a refusal stays one.
///
/// # Errors
/// The refusal.
pub(super) fn ask(state: &State, request: &Request) -> Result<Answer, Refusal> {
    // The objects that are read may be nested deeper than the request.
    let nesting = deep::nesting(&request.body).max(state.store().deepest());
    deep::roomy(nesting, || dispatch(state, request))
}

fn dispatch(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let target = match &request.route {
        Route::Objects(target) => target,
        Route::Other(parts) => {
            timeout::check(&request.query)?;
            return documents::answer(state, request, parts);
        }
    };
    if !is_long(request, target) {
        timeout::check(&request.query)?;
    }
    let registry = state.registry();
    let found = registry.find(&target.group, &target.version, &target.plural);
    let Some(resource) = found else {
        return nothing_there(&registry, target);
    };
    if request.method == Method::HEAD {
        return Err(Refusal::method_not_allowed());
    }
    if let Some(name) = &target.name
        && let [why, ..] = names::path_segment(name).as_slice()
    {
        let message = format!("Name parameter invalid: {name:?}: {why}");
        return Err(Refusal::bad_request(message));
    }
    let watches = request.query.truth("watch").unwrap_or(false);
    let verb =
        Verb::of(&request.method, target, watches).ok_or_else(Refusal::method_not_allowed)?;
    let call = Call::new(state, request, target, resource, verb);
    let answer = about_objects(&call);
    let warnings = call.warnings.into_inner();
    match answer {
        Ok(answer) => Ok(answer.warning(warnings)),
        Err(refusal) => Err(refusal.warning(warnings)),
    }
}

/// Whether a request may go on forever, so that no timeout is asked for (kubernetes
/// `pkg/controlplane/apiserver/config.go`, `LongRunningFunc`).
fn is_long(request: &Request, target: &Target) -> bool {
    let watches = request.query.truth("watch").unwrap_or(false);
    let streams = ["attach", "exec", "proxy", "log", "portforward"];
    let subresource = target.subresource.as_deref().unwrap_or_default();
    Verb::of(&request.method, target, watches) == Some(Verb::Watch)
        || streams.contains(&subresource)
}

/// A path that could name objects, but none that are served: within the built-in groups that is a `Status`,
/// elsewhere a text.
fn nothing_there(registry: &Registry, target: &Target) -> Result<Answer, Refusal> {
    let built_in = |resource: &Arc<Resource>| {
        resource.group == target.group && resource.origin == Origin::BuiltIn
    };
    if registry.all().iter().any(built_in) {
        return Err(Refusal::no_such_path());
    }
    Ok(Answer::no_page())
}

fn about_objects(call: &Call<'_>) -> Result<Answer, Refusal> {
    let built_in = call.resource.origin == Origin::BuiltIn;
    if !built_in && !scope_fits(call) {
        return Ok(Answer::no_page());
    }
    call.warnings.extend(call.resource.deprecated.clone());
    if call.target.subresource.is_some() {
        return subresource::answer(call);
    }
    if built_in {
        // The definition of a custom resource that goes away says fewer verbs than there are.
        if !call.resource.has_verb(call.verb.word()) {
            return Err(Refusal::method_not_allowed());
        }
        shape_fits(call)?;
    } else if call.target.name.is_none() && matches!(call.verb, Verb::Update | Verb::Patch) {
        return Err(Refusal::bad_request("name must be provided"));
    }
    match call.verb {
        Verb::Get => read::get(call),
        Verb::List => read::list(call),
        Verb::Watch => watch::watch(call),
        Verb::Create if reviews::is_review(call.resource) => reviews::create(call),
        Verb::Create if built_in && call.resource.plural == "bindings" => {
            subresource::bind_named(call)
        }
        Verb::Create => create::create(call),
        Verb::Update => update::update(call),
        Verb::Patch => patch::patch(call),
        Verb::Delete => delete::delete(call),
        Verb::DeleteCollection => delete::delete_collection(call),
    }
}

/// Custom resources are served where their scope says; lists and watches also of all namespaces.
fn scope_fits(call: &Call<'_>) -> bool {
    match (call.resource.namespaced, call.target.namespace.is_some()) {
        (true, true) | (false, false) => true,
        (true, false) => matches!(call.verb, Verb::List | Verb::Watch),
        (false, true) => false,
    }
}

/// Each verb has its form of a path: objects of a namespaced kind are named with their namespace, and what
/// writes an object names it, but for a creation.
fn shape_fits(call: &Call<'_>) -> Result<(), Refusal> {
    let one = call.target.name.is_some();
    let names = match call.verb {
        Verb::List | Verb::Watch | Verb::DeleteCollection => {
            let everywhere = call.resource.namespaced && call.target.namespace.is_none();
            if call.verb == Verb::DeleteCollection && everywhere {
                return Err(Refusal::method_not_allowed());
            }
            return Ok(());
        }
        Verb::Create => !one,
        Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => one,
    };
    if !names {
        return Err(Refusal::method_not_allowed());
    }
    match (call.resource.namespaced, call.target.namespace.is_some()) {
        (true, false) if !one => Err(Refusal::method_not_allowed()),
        (true, true) | (false, false) => Ok(()),
        _ => Err(Refusal::no_such_path()),
    }
}
