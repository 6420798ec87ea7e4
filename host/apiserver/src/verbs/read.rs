//! Get and list.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::mutants::mutant;
use crate::present::{self, Page};
use crate::registry::{Origin, Resource};
use crate::request::options::{ListOptions, too_large_version};
use crate::request::{decode, golang};
use crate::status::{Cause, Refusal};
use crate::store::{Entry, Gone, Snapshot};

/// Answers one object.
///
/// # Errors
/// 404, or 400 for options that make no sense.
pub fn get(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let wanted = call
        .request
        .query
        .text("resourceVersion")
        .unwrap_or_default();
    if !wanted.is_empty() {
        reached(call, version(wanted).map_err(|cause| unreadable(&cause))?)?;
    }
    present::one(call.resource, &*call.stored()?, look, StatusCode::OK)
}

/// Answers a list.
///
/// # Errors
/// 400 and 422 for options that make no sense, 410 for what is compacted, 504 for the future.
pub fn list(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = ListOptions::read(&call.request.query, call.resource)?;
    let (snapshot, page) = page(call, &options)?;
    let entries = snapshot.iter().map(|entry| &**entry);
    Ok(present::list(call.resource, entries, &page, look))
}

/// The selected objects of one page.
///
/// # Errors
/// As [`list`].
pub fn page(call: &Call<'_>, options: &ListOptions) -> Result<(Vec<Arc<Entry>>, Page), Refusal> {
    let (snapshot, from) = snapshot(call, options)?;
    let namespace = call.target.namespace.as_deref();
    let plain = options.labels.is_everything() && options.fields.is_everything();
    let rest = snapshot.entries.into_iter();
    let mut rest = rest.skip_while(|entry| {
        from.as_ref()
            .is_some_and(|from| relative(entry, namespace) < *from)
    });
    let limit = usize::try_from(options.limit)
        .ok()
        .filter(|limit| *limit > 0);
    let ignores_limit = options.resource_version == "0" && options.continue_token.is_empty();
    let limit = limit.filter(|_| !ignores_limit).unwrap_or(usize::MAX);
    let mut taken: Vec<Arc<Entry>> = Vec::new();
    let mut page = Page {
        revision: snapshot.revision,
        ..Page::default()
    };
    for entry in rest.by_ref() {
        if taken.len() == limit {
            let last = taken
                .last()
                .map(|last| relative(last, namespace))
                .unwrap_or_default();
            let after = mutant!(PagesRepeatTheirLastItem, format!("{last}\0"), last);
            page.next = Some(token(snapshot.revision, &after));
            page.remaining = plain.then(|| 1 + rest.count() as u64);
            break;
        }
        if selects(options, call.resource, &entry) {
            taken.push(entry);
        }
    }
    Ok((taken, page))
}

/// Whether an object is asked for. The fields of a custom resource are those that its reader sees.
pub fn selects(options: &ListOptions, resource: &Resource, entry: &Entry) -> bool {
    let read = || match resource.origin {
        Origin::BuiltIn => entry.value(),
        Origin::Custom { .. } => present::value(resource, entry),
    };
    options.labels.selects(entry.labels.as_deref()) && options.fields.selects(entry, read)
}

/// Where an object lies, as continue tokens have it.
fn relative(entry: &Entry, namespace: Option<&str>) -> String {
    if namespace.is_some() || entry.key.namespace.is_empty() {
        entry.key.name.to_string()
    } else {
        format!("{}/{}", entry.key.namespace, entry.key.name)
    }
}

fn snapshot(call: &Call<'_>, options: &ListOptions) -> Result<(Snapshot, Option<String>), Refusal> {
    let store = call.state.store();
    let namespace = call.target.namespace.as_deref();
    if !options.continue_token.is_empty() {
        let (revision, start) = start(&options.continue_token)?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Refusal::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let Ok(revision) = u64::try_from(revision) else {
            return Ok((store.list(&call.place, namespace), Some(start)));
        };
        let gone = |_: Gone| continue_expired(&start);
        let snapshot = store
            .list_at(&call.place, namespace, revision)
            .map_err(gone)?;
        return Ok((snapshot, Some(start)));
    }
    if options.resource_version.is_empty() {
        return Ok((store.list(&call.place, namespace), None));
    }
    let wanted = version(&options.resource_version).map_err(|cause| {
        let why = format!("{}: {}", cause.field, cause.message);
        Refusal::bad_request(format!("invalid resource version: {why}"))
    })?;
    reached(call, wanted)?;
    let legacy = options.version_match.is_empty() && options.limit > 0 && wanted > 0;
    if options.version_match == "Exact" || legacy {
        let gone =
            |_: Gone| Refusal::expired("The resourceVersion for the provided list is too old.");
        let snapshot = store
            .list_at(&call.place, namespace, wanted)
            .map_err(gone)?;
        return Ok((snapshot, None));
    }
    Ok((store.list(&call.place, namespace), None))
}

/// A `resourceVersion` as a number.
///
/// # Errors
/// The cause, with the words of Go's `strconv.ParseUint`.
pub fn version(text: &str) -> Result<u64, Cause> {
    golang::parse_uint(text).map_err(|why| Cause::invalid("resourceVersion", &json!(text), &why))
}

/// 500 for a `resourceVersion` that is not a number: the real server has no better word for it.
pub fn unreadable(cause: &Cause) -> Refusal {
    Refusal::unknown(format!("{}: {}", cause.field, cause.message))
}

/// The store must have come as far as the client has.
///
/// # Errors
/// 504 if it has not.
pub fn reached(call: &Call<'_>, wanted: u64) -> Result<(), Refusal> {
    let current = call.state.store().revision();
    if wanted > current {
        return Err(too_large_version(wanted, current));
    }
    Ok(())
}

fn token(revision: u64, start: &str) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": start });
    URL_SAFE_NO_PAD.encode(token.to_string())
}

/// Where a continue token goes on: the revision (negative: the latest), and from which place.
fn start(token: &str) -> Result<(i64, String), Refusal> {
    let bad = |why: &str| Refusal::bad_request(format!("invalid continue token: {why}"));
    let generic = |why: String| bad(&format!("continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|error| generic(base64_error(&error)))?;
    let held = decode::json(&bytes).map_err(generic)?.value;
    let field = |name: &str| held.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("v") {
        "meta.k8s.io/v1" => {}
        other => {
            return Err(bad(&format!(
                "continue key is not valid: server does not recognize this encoded version {other}"
            )));
        }
    }
    let revision = held.get("rv").and_then(Value::as_i64).unwrap_or(0);
    if revision == 0 {
        return Err(bad(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ));
    }
    let start = field("start");
    if start.is_empty() {
        return Err(bad(
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        ));
    }
    if start.split('/').any(|part| matches!(part, "." | ".." | "")) {
        return Err(generic(start.to_owned()));
    }
    Ok((revision, start.to_owned()))
}

fn base64_error(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            *at
        }
        base64::DecodeError::InvalidLength(length) => *length,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

/// 410, with a token to go on without consistency.
fn continue_expired(start: &str) -> Refusal {
    let mut refusal = Refusal::expired(
        "The provided continue parameter is too old to display a consistent list result. You can \
         start a new list without the continue parameter, or use the continue token in this response \
         to retrieve the remainder of the results. Continuing with the provided token results in an \
         inconsistent list - objects that were created, modified, or deleted between the time the \
         first chunk was returned and now may show up in the list.",
    );
    let token = json!({ "v": "meta.k8s.io/v1", "rv": -1, "start": start });
    refusal.continue_token = Some(URL_SAFE_NO_PAD.encode(token.to_string()));
    refusal
}
