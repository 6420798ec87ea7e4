//! Puts a finalizer on an object, or takes it off, against everybody else who changes the list.

mod patch;

use serde_json::value::RawValue;

use crate::api::{Api, ApiError, Request as ApiRequest, Resource};
use crate::object::{Metadata, Object};
use windlass_base::bugs::bug;

/// How often a finalizer patch is tried against others who change the list.
const RACES: u32 = 10;

/// Which way a finalizer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalizerPatch {
    /// On.
    Protect,
    /// Off.
    Release,
}

/// Puts `finalizer` on or takes it off, however the list changes meanwhile: reads again and tries
/// again at once, outside the failure backoff. Answers the object as it is then; `None` if it is
/// gone or replaced, which is fine either way.
///
/// # Errors
/// The API server refused for another reason, or others kept changing the list.
pub async fn settle_finalizer(
    api: &Api,
    resource: &Resource,
    object: &Metadata,
    finalizer: &str,
    which: FinalizerPatch,
) -> Result<Option<Object>, ApiError> {
    let Ok(uri) = path(resource, object) else {
        return Ok(None);
    };
    let patch_uri = format!("{uri}?fieldManager=windlass");
    let mut latest = object.clone();
    let mut known = None;
    let mut races = 0;
    loop {
        let operations = match which {
            FinalizerPatch::Protect
                if bug!(FinalizersComeBack, latest.deleting, false)
                    || latest.has_finalizer(finalizer) =>
            {
                None
            }
            FinalizerPatch::Protect => Some(patch::protect(&latest, finalizer)),
            FinalizerPatch::Release => patch::release(&latest, finalizer),
        };
        let Some(operations) = operations else {
            return Ok(known);
        };
        match api
            .text(ApiRequest::json_patch(patch_uri.clone(), &operations))
            .await
        {
            Ok(answer) => return Ok(Object::parse(answer.get())),
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) if error.is_race() && races < RACES => races += 1,
            Err(error) => return Err(error),
        }
        let read = api.read(uri.clone()).await?;
        let Some(read) = read.and_then(|read: Box<RawValue>| Object::parse(read.get())) else {
            return Ok(None);
        };
        if read.metadata.uid != object.uid {
            return Ok(None);
        }
        latest = read.metadata.as_ref().clone();
        known = Some(read);
    }
}

/// Where an object is.
pub fn path(resource: &Resource, object: &Metadata) -> Result<String, crate::api::BadName> {
    resource.path(
        object.key.namespace.as_deref(),
        Some(&object.key.name),
        None,
    )
}
