//! What the server adds to an object, keeps of it, and refuses in it, before it is stored.

use serde_json::{Value, json};

use super::kind::KindHandling;
use super::{MODIFIED, Writing, namespaces};
use crate::meta;
use crate::mutants::mutant;
use crate::registry::Origin;
use crate::request::golang;
use crate::request::route::Verb;
use crate::status::{Cause, Named, Refusal};

/// The longest name, less the suffix of a generated one.
const LONGEST_PREFIX: usize = 63 - 5;

/// Completes and judges a new object; notes what the client should know.
pub(super) fn create(writing: &Writing<'_>, object: &mut Value) -> Result<(), Refusal> {
    let call = writing.call;
    let seams = call.state.seams();
    let generate = meta::text(object, "generateName").to_owned();
    let nameless = meta::text(object, "name").is_empty();
    if !generate.is_empty() && mutant!(GenerateNameWins, nameless, true) {
        let prefix: String = generate.chars().take(LONGEST_PREFIX).collect();
        meta::set_text(object, "name", &format!("{prefix}{}", seams.rng.suffix()));
    }
    meta::set_text(object, "creationTimestamp", &meta::time(seams.clock.wall()));
    let uid = mutant!(
        UidsComeBack,
        writing.rng(object).uid(),
        format!(
            "00000000-0000-4000-8000-{:012x}",
            meta::text(object, "name").len()
        )
    );
    meta::set_text(object, "uid", &uid);
    let kind = KindHandling::of(call.resource);
    kind.prepare_create(object, writing)?;
    invalid(writing, object, kind.validate_create(object, call.resource))?;
    call.warnings.extend(kind.warnings(object, None, writing));
    Ok(())
}

/// The client may say which object it means, in a PUT.
pub(super) fn same_uid(
    writing: &Writing<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Refusal> {
    let call = writing.call;
    let (uid, held) = (
        meta::text(object, "uid"),
        old.map_or("", |old| meta::text(old, "uid")),
    );
    if call.verb != Verb::Update || uid.is_empty() || uid == held {
        return Ok(());
    }
    let key = call.key();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {held}",
        call.resource.etcd_key(&key)
    );
    Err(Refusal::conflict(call.named(), &key.name, &why))
}

/// The client may say which version it means.
pub(super) fn preconditions(
    writing: &Writing<'_>,
    object: &Value,
    old: &Value,
) -> Result<(), Refusal> {
    let call = writing.call;
    let name = meta::text(old, "name");
    let wanted = meta::text(object, "resourceVersion");
    let held = meta::text(old, "resourceVersion");
    let wanted = golang::parse_uint(wanted).map_err(Refusal::unknown)?;
    if wanted == 0 {
        if writing.strategy.updates_unconditionally {
            return Ok(());
        }
        let cause = Cause::invalid(
            "metadata.resourceVersion",
            &json!(0),
            "must be specified for an update",
        );
        // The real server names the resource here, not the kind.
        return Err(Refusal::invalid(call.named(), name, vec![cause]));
    }
    let stale = Ok(wanted) != golang::parse_uint(held);
    if mutant!(UpdatesIgnoreTheVersion, stale, false) {
        return Err(Refusal::conflict(call.named(), name, MODIFIED));
    }
    Ok(())
}

/// Completes and judges a changed object; notes what the client should know.
pub(super) fn update(
    writing: &Writing<'_>,
    object: &mut Value,
    old: &Value,
) -> Result<(), Refusal> {
    let resource = writing.call.resource;
    let held = |field: &str| meta::get(old, field).cloned();
    meta::set(object, "generation", held("generation"));
    meta::set(object, "resourceVersion", held("resourceVersion"));
    let kind = KindHandling::of(resource);
    kind.prepare_update(object, old, writing)?;
    if meta::text(object, "uid").is_empty() {
        meta::set(object, "uid", held("uid"));
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if let Some(value) = held(field) {
            meta::set(object, field, Some(value));
        }
    }
    let grace = "deletionGracePeriodSeconds";
    if meta::get(object, grace).is_none() && held(grace).is_some() {
        meta::set(object, grace, held(grace));
    }
    let said = kind.validate_update(writing.part, object, old, resource);
    let ratcheted = said.ratcheted.iter();
    writing.call.warnings.extend(ratcheted.map(Cause::line));
    invalid(writing, object, said.causes)?;
    writing
        .call
        .warnings
        .extend(kind.warnings(object, Some(old), writing));
    Ok(())
}

fn invalid(writing: &Writing<'_>, object: &Value, causes: Vec<Cause>) -> Result<(), Refusal> {
    if causes.is_empty() {
        return Ok(());
    }
    let causes = mutant!(
        OnlyTheFirstFaultIsReported,
        causes,
        causes.into_iter().take(1).collect()
    );
    let call = writing.call;
    // A custom resource is of the kind that it says.
    let said = object
        .get("kind")
        .and_then(Value::as_str)
        .filter(|_| call.resource.origin != Origin::BuiltIn);
    let kind = Named {
        resource: said.unwrap_or(call.kind().resource),
        ..call.kind()
    };
    Err(Refusal::invalid(kind, meta::text(object, "name"), causes))
}

/// Whether the last finalizer of an object that is being deleted has gone.
pub(super) fn goes_away(object: &Value, old: &Value) -> bool {
    let waits = meta::number(old, "deletionGracePeriodSeconds").unwrap_or(0) > 0;
    meta::is_deleting(old)
        && mutant!(
            ObjectsOutliveTheirLastFinalizer,
            meta::finalizers(object).is_empty(),
            false
        )
        && !waits
        && !(object.get("kind").and_then(Value::as_str) == Some("Namespace")
            && namespaces::has_contents(object))
}
