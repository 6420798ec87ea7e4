//! Delete, and deletecollection.

mod decide;
pub mod first;
mod options;

use http::StatusCode;
use serde_json::{Value, json};

use super::read;
use crate::admission::{self, Admission};
use crate::answer::Answer;
use crate::call::Call;
use crate::mutants::mutant;
use crate::request::options::{DeleteOptions, ListOptions};
use crate::request::route::Verb;
use crate::status::Refusal;
use crate::store::{Entry, NamespacedName, Write};
use crate::strategy::Strategy;
use crate::{meta, present};
use decide::{DeletionStep, next};
use std::sync::Arc;

const TRIES: usize = 100;

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Deletes an object, or begins to.
///
/// # Errors
/// 404, and 409 if it is not as the preconditions say.
pub fn delete(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = options::read(call)?;
    warn(call, &options);
    let key = call.key();
    let deleted = one(call, &key, &options)?;
    let accepted = !deleted.gone && options.orphan == Some(false);
    let code = if accepted {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    if deleted.gone && !Strategy::of(call.resource).answers_deleted {
        let mut details = json!({
            "name": &*key.name,
            "kind": call.resource.plural,
            "uid": meta::text(&deleted.object, "uid"),
        });
        if !call.resource.group.is_empty() {
            meta::put(&mut details, "group", call.resource.group.as_str());
        }
        let status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        });
        return Ok(Answer::json(code, &status));
    }
    Ok(present::loose(call.resource, &deleted.object, look, code))
}

/// Deletes all objects that are selected.
///
/// # Errors
/// As [`delete()`], for the first that cannot be deleted.
pub fn delete_collection(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = options::read(call)?;
    warn(call, &options);
    let selection = ListOptions::read(&call.request.query, call.resource)?;
    let (entries, page) = read::page(call, &selection)?;
    for entry in &entries {
        match one(call, &entry.key, &options) {
            Err(refusal) if refusal.reason != "NotFound" => return Err(refusal),
            _ => {}
        }
    }
    let entries = entries.iter().map(|entry| &**entry);
    Ok(present::list(call.resource, entries, &page, look))
}

/// Warns a client that deletes jobs and does not say what becomes of their pods.
fn warn(call: &Call<'_>, options: &DeleteOptions) {
    let job = call.resource.group == "batch" && call.resource.plural == "jobs";
    if !job || options.orphan.is_some() || options.propagation.is_some() {
        return;
    }
    call.warnings.add(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
         remove them or set propagationPolicy=Orphan to suppress this warning",
    );
}

/// What a deletion came to.
#[derive(Debug)]
pub struct Deleted {
    /// The object's last state, or the one in which it waits.
    pub object: Value,
    /// Whether it has gone.
    pub gone: bool,
}

/// Deletes one object.
///
/// # Errors
/// As [`delete()`].
pub fn one(
    call: &Call<'_>,
    key: &NamespacedName,
    options: &DeleteOptions,
) -> Result<Deleted, Refusal> {
    if call.resource.plural == "namespaces" && IMMORTAL.contains(&&*key.name) {
        let why = "this namespace may not be deleted";
        return Err(Refusal::forbidden(call.named(), &key.name, why));
    }
    for _ in 0..TRIES {
        let held = call
            .state
            .store()
            .get(&call.place, key)
            .ok_or_else(|| Refusal::not_found(call.named(), &key.name))?;
        let old = present::value(call.resource, &held);
        let now = call.state.seams().clock.wall();
        let step = if first::applies(call.resource) {
            first::preconditions(call.resource, &old, options)?;
            first::next(call.resource, &old, options, now)
        } else {
            preconditions(call, &old, options)?;
            None
        };
        // An eviction is admitted as such.
        if matches!(call.verb, Verb::Delete | Verb::DeleteCollection) {
            admission::validate(&Admission::delete(call, options, &old))?;
        }
        let strategy = Strategy::of(call.resource);
        let step = step.unwrap_or_else(|| next(&old, options, strategy, &meta::time(now)));
        if let Some(deleted) = take(call, &held, old, step, options.dry_run) {
            return Ok(deleted);
        }
    }
    Err(Refusal::internal("too many writes came first"))
}

/// Does one step; nothing if another write came first.
fn take(
    call: &Call<'_>,
    held: &Arc<Entry>,
    old: Value,
    step: DeletionStep,
    dry_run: bool,
) -> Option<Deleted> {
    let write = |held: &Entry, write| {
        let key = held.key.clone();
        call.write(key, Some(held.revision), write).ok()
    };
    let put = |object: &Value| Write::Put(crate::convert::to_stored(object.clone(), call.resource));
    let (object, gone) = match step {
        DeletionStep::Stay => (old, false),
        DeletionStep::Wait(object) if dry_run => (object, false),
        DeletionStep::End(object) if dry_run => (object, true),
        DeletionStep::Go if dry_run => (old, true),
        DeletionStep::Wait(object) => {
            let written = write(held, put(&object))?;
            (present::value(call.resource, &written), false)
        }
        DeletionStep::End(object) => {
            let mut last = write(held, put(&object))?;
            // Whatever is written meanwhile, its end has begun.
            loop {
                if let Some(gone) = write(&last, Write::Delete(last.value())) {
                    break (present::value(call.resource, &gone), true);
                }
                last = call.state.store().get(&call.place, &held.key)?;
            }
        }
        DeletionStep::Go => {
            let gone = write(held, Write::Delete(held.value()))?;
            (present::value(call.resource, &gone), true)
        }
    };
    Some(Deleted { object, gone })
}

fn preconditions(call: &Call<'_>, old: &Value, options: &DeleteOptions) -> Result<(), Refusal> {
    let name = meta::text(old, "name");
    // The real server says the kind where it usually says the plural.
    let kind = call.kind();
    let uid = meta::text(old, "uid");
    let differs = |wanted: &&str| mutant!(DeletionsIgnoreTheUid, *wanted != uid, false);
    if let Some(wanted) = options.uid.as_deref().filter(differs) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The \
             object might have been deleted and then recreated"
        );
        return Err(Refusal::conflict(kind, name, &why));
    }
    let version = meta::text(old, "resourceVersion");
    let other = |wanted: &&str| *wanted != version;
    if let Some(wanted) = options.resource_version.as_deref().filter(other) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in \
             record ({version}). The object might have been modified"
        );
        return Err(Refusal::conflict(kind, name, &why));
    }
    Ok(())
}
