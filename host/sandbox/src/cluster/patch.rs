//! `patch`: changes part of an object, or of its subresource.
//!
//! - It is about the object that the call has read: a JSON patch tests its UID, a merge patch names it.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::check::{self, Patch};
use super::read::{form, uri};
use super::retry::Repeat;
use super::write::{object_of, with_uid};
use super::{Call, Target};
use crate::bindings::cluster::{Error, PatchType};
use crate::bindings::types::ObjectRef;
use windlass_kube::api::{ApiError, Request};
use windlass_kube::object::{ApplyScope, Object};
use windlass_view::SentWrite;

impl Call {
    pub(crate) async fn patch(
        &mut self,
        target: ObjectRef,
        subresource: Option<String>,
        kind: PatchType,
        patch: String,
    ) -> Result<String, Error> {
        check::names([subresource.as_deref()])?;
        let target = self.target(&target).await?;
        let subresource = subresource.as_deref();
        self.permit(&["patch"], &target, subresource)?;
        check::check_size("patch", &patch)?;
        let _held = self.hold_written(&patch)?;
        let patch = Patch::parse(kind, &patch)?;
        self.permit_patch(&target, &patch)?;
        if !self.cluster.writes.is_sent() {
            return self.capture_patch(&target, patch).await;
        }
        let apply_scope = match subresource {
            Some("status") => ApplyScope::Status,
            Some(_) | None => ApplyScope::Whole,
        };
        let (resource, key) = (&target.resource, &target.key);
        let write = self
            .cluster
            .view
            .write(resource, key, &self.primary.key, apply_scope)
            .shown_against(self.answered(&target));
        let sent = patch.sent();
        let answer = self.send_patch(&target, subresource, patch).await?;
        let object = object_of(&answer)?;
        match subresource {
            None | Some("status") => {
                self.meet(&target, &object, false);
                let sent = SentWrite {
                    object: &sent,
                    answer: answer.get(),
                    manager: &self.field_manager(&target, &serde_json::Map::new()),
                };
                write.answered(&object, &sent);
            }
            Some(_) => write.patched_in_part(&object, &sent),
        }
        Ok(self.show_part(&target, subresource, &object))
    }

    /// Whether the patch leaves alone what no plugin may change.
    fn permit_patch(&mut self, target: &Target, patch: &Patch) -> Result<(), Error> {
        let Target { resource, key } = target;
        if patch.touches_guarded() {
            return Err(self.deny(&format!(
                "patch finalizers, owner references or managed fields of {resource} {key}: no grant covers that"
            )));
        }
        if patch.touches_reserved() {
            return Err(self.deny(&format!(
                "patch labels or annotations under windlass.dev/, or all of them at once, of {resource} {key}: they are the host's and the user's; name each of the others"
            )));
        }
        Ok(())
    }

    async fn send_patch(
        &mut self,
        target: &Target,
        subresource: Option<&str>,
        patch: Patch,
    ) -> Result<Box<RawValue>, Error> {
        let manager = self.author(target, &serde_json::Map::new())?;
        let parameters = form().append_pair("fieldManager", &manager).finish();
        let uri = format!("{}?{parameters}", uri(target, subresource)?);
        let seen = self.seen_version(target).map(|seen| seen.uid);
        let version = patch.version().map(str::to_owned);
        let repeat = match &version {
            // The guest compares and swaps: it decides what comes next.
            Some(_) => Repeat::Never,
            None if patch.repeats_harmlessly() => Repeat::Harmless,
            None => Repeat::IfUndone,
        };
        match patch {
            Patch::Json(mut operations) => {
                if let Some(uid) = &seen {
                    let test = json!({ "op": "test", "path": "/metadata/uid", "value": uid });
                    operations.insert(0, test);
                }
                let request = Request::json_patch(uri, &Value::Array(operations));
                self.send_tested(target, request, repeat, (seen, version))
                    .await
            }
            Patch::Merge(fields) if subresource.is_none() || version.is_some() => {
                let request = Request::merge_patch(uri, &with_uid(fields, seen));
                self.send_write("patch an object", request, repeat).await
            }
            Patch::Merge(fields) => {
                let request = |patch: &Value| Request::merge_patch(uri.clone(), patch);
                let mut patch = with_uid(fields, seen);
                self.send_part(target, &mut patch, request).await
            }
        }
    }

    /// Sends a JSON patch. Of a failed `test` the server does not say which: if the object is another one
    /// by now, it was that of the UID; if it has another version, that of the version.
    async fn send_tested(
        &mut self,
        target: &Target,
        request: Request,
        repeat: Repeat,
        (uid, version): (Option<String>, Option<String>),
    ) -> Result<Box<RawValue>, Error> {
        self.check_requests()?;
        let failed = match self.try_write(request, repeat).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        let refused = failed.error.is_race();
        let error = self.failed("patch an object", &failed.error);
        // An earlier attempt may be what made the tests fail.
        if refused && failed.perhaps_done {
            return Err(Error::Unavailable);
        }
        if uid.is_none() && version.is_none() || !is_failed_test(&failed.error) {
            return Err(error);
        }
        let read = Request::get(super::read::uri(target, None)?);
        let there = Object::parse(self.look_up("read what was patched", read).await?.get());
        let is = |wanted: &Option<String>, now: &str| wanted.as_deref().is_none_or(|it| it == now);
        Err(match there.map(|there| there.metadata) {
            Some(there) if !is(&uid, &there.uid) => {
                Error::conflict("another object has the name now")
            }
            Some(there) if !is(&version, &there.resource_version) => {
                Error::conflict("the object has another version now")
            }
            Some(_) => error,
            None => Error::conflict("the object is gone"),
        })
    }

    /// A subresource as the guest may see it: a status comes with its object, and like it.
    pub(super) fn show_part(
        &self,
        target: &Target,
        subresource: Option<&str>,
        part: &Object,
    ) -> String {
        match subresource {
            None | Some("status") => self.show(&target.resource, part),
            Some(_) => part.json.text().into_owned(),
        }
    }
}

fn is_failed_test(error: &ApiError) -> bool {
    error.code() == Some(422)
}
