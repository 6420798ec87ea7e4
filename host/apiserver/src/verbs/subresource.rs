//! Parts of an object with a path of their own.

mod eviction;
mod pods;
mod scale;
mod tokens;

use http::StatusCode;

use crate::answer::Answer;
use crate::call::Call;
use crate::present;
use crate::registry::Origin;
use crate::request::route::Verb;
use crate::status::Refusal;
use crate::verbs::{patch, update};
use crate::write::ObjectPart;

pub(crate) use pods::bind_named;

/// Does what a request about a subresource asks for.
///
/// # Errors
/// 404 if there is no such subresource, 405 if it has no such verb, and whatever else is refused.
pub(crate) fn answer(call: &Call<'_>) -> Result<Answer, Refusal> {
    let name = call.target.subresource.as_deref().unwrap_or_default();
    let found = call.resource.subresource(name);
    let Some(subresource) = found else {
        if call.resource.origin != Origin::BuiltIn && call.target.name.is_some() {
            let name = call.target.name.as_deref().unwrap_or_default();
            return Err(Refusal::not_found(call.named(), name));
        }
        return Err(Refusal::no_such_path());
    };
    if !subresource
        .verbs
        .iter()
        .any(|verb| verb == call.verb.word())
    {
        return Err(not_supported(call));
    }
    match (name, call.verb) {
        ("status" | "approval" | "ephemeralcontainers" | "resize", Verb::Get) => {
            let look = call.look()?;
            present::one(call.resource, &*call.stored()?, look, StatusCode::OK)
        }
        ("status", Verb::Update) => update::part(call, ObjectPart::Status),
        ("status", Verb::Patch) => patch::part(call, ObjectPart::Status),
        ("approval", Verb::Update) => update::part(call, ObjectPart::Approval),
        ("approval", Verb::Patch) => patch::part(call, ObjectPart::Approval),
        ("ephemeralcontainers", Verb::Update) => {
            update::part(call, ObjectPart::EphemeralContainers)
        }
        ("ephemeralcontainers", Verb::Patch) => patch::part(call, ObjectPart::EphemeralContainers),
        ("resize", Verb::Update) => update::part(call, ObjectPart::Resize),
        ("resize", Verb::Patch) => patch::part(call, ObjectPart::Resize),
        ("scale", _) => scale::answer(call),
        ("finalize", Verb::Update) => update::part(call, ObjectPart::Finalize),
        ("binding", Verb::Create) => pods::bind(call),
        ("eviction", Verb::Create) => eviction::create(call),
        ("token", Verb::Create) => tokens::create(call),
        _ => Err(no_node(call, name)?),
    }
}

/// 405; who serves custom resources says it in words of its own.
fn not_supported(call: &Call<'_>) -> Refusal {
    let mut refusal = Refusal::method_not_allowed();
    if call.resource.origin != Origin::BuiltIn {
        let (named, verb) = (call.named(), call.verb.word());
        let kind = named.qualified();
        refusal.message = format!("{verb} is not supported on resources of kind {kind:?}");
        named.group.clone_into(&mut refusal.details.group);
        named.resource.clone_into(&mut refusal.details.kind);
    }
    refusal
}

/// 501: what discovery lists because clients look for it, and only a node could do.
fn no_node(call: &Call<'_>, name: &str) -> Result<Refusal, Refusal> {
    call.stored()?;
    let why = format!(
        "{name} of {} needs a node, and there is none here",
        call.resource.plural
    );
    Ok(Refusal::new(StatusCode::NOT_IMPLEMENTED, "", why))
}

/// A `Status` that says it went well.
fn success(code: StatusCode) -> Answer {
    let status = serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": code.as_u16(),
    });
    Answer::json(code, &status)
}
