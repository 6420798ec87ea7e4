//! Delete, and deletecollection.

use http::StatusCode;
use serde_json::{Value, json};

use super::read;
use crate::answer::Answer;
use crate::present;
use crate::request::decode;
use crate::request::options::{DeleteOptions, ListOptions, Propagation};
use crate::server::Call;
use crate::status::Refusal;
use crate::store::{Entry, Key, Write};
use crate::strategy::Strategy;
use crate::write::meta;
use std::sync::Arc;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const TRIES: usize = 100;

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Deletes an object, or begins to.
///
/// # Errors
/// 404, and 409 if it is not as the preconditions say.
pub fn delete(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = options(call)?;
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
    let options = options(call)?;
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

fn options(call: &Call<'_>) -> Result<DeleteOptions, Refusal> {
    let request = call.request;
    let body = if request.body.is_empty() {
        None
    } else {
        let decoded = match decode::format(request.header("content-type"))? {
            decode::Format::Yaml => decode::yaml(&request.body),
            decode::Format::Protobuf => {
                return Err(decode::unsupported("application/json, application/yaml"));
            }
            decode::Format::Json => decode::json(&request.body)
                .map_err(|why| format!("couldn't get version/kind; json parse error: {why}")),
        };
        Some(delete_options(
            decoded.map_err(Refusal::bad_request)?.value,
        )?)
    };
    DeleteOptions::read(&request.query, body.as_ref())
}

/// The body is of the one kind that there is for it, in whatever version.
fn delete_options(body: Value) -> Result<Value, Refusal> {
    let said = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (said("kind"), said("apiVersion"));
    if kind.is_empty() || kind == "DeleteOptions" {
        return Ok(body);
    }
    Err(Refusal::bad_request(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )))
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
pub fn one(call: &Call<'_>, key: &Key, options: &DeleteOptions) -> Result<Deleted, Refusal> {
    if call.resource.plural == "namespaces" && IMMORTAL.contains(&&*key.name) {
        let why = "this namespace may not be deleted";
        return Err(Refusal::forbidden(call.named(), &key.name, why));
    }
    for _ in 0..TRIES {
        let held = call.server.store().get(&call.place, key);
        let held = held.ok_or_else(|| Refusal::not_found(call.named(), &key.name))?;
        let old = present::value(call.resource, &held);
        preconditions(call, &old, options)?;
        let now = call.server.seams().clock.wall();
        let step = next(
            &old,
            options,
            Strategy::of(call.resource).graceful,
            meta::time(now).as_str(),
        );
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
    step: Step,
    dry_run: bool,
) -> Option<Deleted> {
    let (write, object, gone) = match step {
        Step::Stay => {
            return Some(Deleted {
                object: old,
                gone: false,
            });
        }
        Step::Wait(object) => (
            Write::Put(crate::convert::to_stored(object.clone(), call.resource)),
            object,
            false,
        ),
        Step::Go => (Write::Delete(held.value()), old, true),
    };
    if dry_run {
        return Some(Deleted { object, gone });
    }
    let written = call
        .server
        .write(call, held.key.clone(), Some(held.revision), write)
        .ok()?;
    Some(Deleted {
        object: if gone {
            object
        } else {
            present::value(call.resource, &written)
        },
        gone,
    })
}

fn preconditions(call: &Call<'_>, old: &Value, options: &DeleteOptions) -> Result<(), Refusal> {
    let name = meta::text(old, "name");
    // The real server says the kind where it usually says the plural.
    let kind = call.kind();
    let uid = meta::text(old, "uid");
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
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

/// What a deletion does next.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// It has begun, and there is nothing to add.
    Stay,
    /// It waits in this state for finalizers, or for its time.
    Wait(Value),
    /// It goes.
    Go,
}

fn next(old: &Value, options: &DeleteOptions, graceful: bool, now: &str) -> Step {
    let finalizers = finalizers(old, options);
    let mut new = old.clone();
    let list = finalizers.iter().map(|name| json!(name)).collect();
    meta::set(
        &mut new,
        "finalizers",
        (!finalizers.is_empty()).then_some(Value::Array(list)),
    );
    let begun = meta::is_deleting(old);
    let pending = meta::number(old, "deletionGracePeriodSeconds").unwrap_or(0) > 0;
    let wanted = grace(old, options);
    if begun && pending {
        let held = meta::number(old, "deletionGracePeriodSeconds").unwrap_or(0);
        match options.grace_seconds {
            Some(asked) if asked.max(0) < held => {}
            _ => return Step::Stay,
        }
    }
    let takes_time = graceful && wanted > 0;
    if !takes_time && finalizers.is_empty() {
        return Step::Go;
    }
    let seconds = if takes_time { wanted } else { 0 };
    if !begun || pending {
        meta::set_text(&mut new, "deletionTimestamp", &later(now, seconds));
        meta::set(&mut new, "deletionGracePeriodSeconds", Some(seconds.into()));
        if let (false, Some(generation)) = (begun, meta::number(old, "generation")) {
            meta::set(&mut new, "generation", Some((generation + 1).into()));
        }
    }
    if new == *old {
        Step::Stay
    } else {
        Step::Wait(new)
    }
}

/// How many seconds a pod is given: none before it is on a node, and none after it has ended.
fn grace(old: &Value, options: &DeleteOptions) -> i64 {
    let text = |at: &str| old.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded")
    {
        return 0;
    }
    let own = old
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    match options.grace_seconds.or(own).unwrap_or(0) {
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

fn later(now: &str, seconds: i64) -> String {
    let moment: Result<jiff::Timestamp, _> = now.parse();
    let later =
        moment.map(|moment| moment.saturating_add(jiff::SignedDuration::from_secs(seconds)));
    match later {
        Ok(Ok(later)) => meta::time(later),
        _ => now.to_owned(),
    }
}

/// The finalizers after the garbage collector's two have been put in or taken out as the options say.
fn finalizers(old: &Value, options: &DeleteOptions) -> Vec<String> {
    let held = meta::finalizers(old);
    let has = |name: &str| held.iter().any(|held| held == name);
    let (orphan, foreground) = match (options.orphan, options.propagation) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(policy)) => (
            policy == Propagation::Orphan,
            policy == Propagation::Foreground,
        ),
        (None, None) => (has(ORPHAN), has(FOREGROUND) && !has(ORPHAN)),
    };
    let ours = |name: &String| name == ORPHAN || name == FOREGROUND;
    let mut all: Vec<String> = held.iter().filter(|name| !ours(name)).cloned().collect();
    if orphan {
        all.push(ORPHAN.to_owned());
    }
    if foreground {
        all.push(FOREGROUND.to_owned());
    }
    let same = all.len() == held.len() && all.iter().all(|name| has(name));
    if same { held } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(finalizers: &[&str]) -> Value {
        json!({ "metadata": { "name": "a", "finalizers": finalizers, "generation": 1 } })
    }

    #[test]
    fn finalizers_and_propagation_decide_what_a_deletion_does() {
        let now = "2026-11-21T09:30:00Z";
        let with = |propagation| DeleteOptions {
            propagation,
            ..DeleteOptions::default()
        };
        let waits = |old: &Value, propagation| match next(old, &with(propagation), false, now) {
            Step::Wait(new) => Some(meta::finalizers(&new)),
            Step::Go => None,
            Step::Stay => Some(vec!["stays".to_owned()]),
        };
        let orphan = Some(Propagation::Orphan);
        let foreground = Some(Propagation::Foreground);
        assert_eq!(waits(&object(&[]), None), None);
        assert_eq!(waits(&object(&["x"]), None), Some(vec!["x".to_owned()]));
        assert_eq!(
            waits(&object(&[]), foreground),
            Some(vec![FOREGROUND.to_owned()])
        );
        assert_eq!(waits(&object(&[]), orphan), Some(vec![ORPHAN.to_owned()]));
        let mut begun = object(&["x"]);
        meta::set_text(&mut begun, "deletionTimestamp", now);
        meta::set(&mut begun, "deletionGracePeriodSeconds", Some(0.into()));
        assert_eq!(waits(&begun, None), Some(vec!["stays".to_owned()]));
    }
}
