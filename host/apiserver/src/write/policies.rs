//! Admission at a write: the mutating plugins first, the validating ones when the object is complete. A Scale
//! is an object of its own, which is admitted as such (`subresource/scale.rs`) and which no policy mutates.

use serde_json::Value;

use super::{ObjectPart, Writing, accept};
use crate::admission::{self, Admission};
use crate::policy::Patch;
use crate::status::Refusal;

impl Writing<'_> {
    /// Has mutating policies change the object.
    pub(super) fn mutate(&self, object: &mut Value, old: Option<&Value>) -> Result<(), Refusal> {
        if self.part == ObjectPart::Scale {
            return Ok(());
        }
        let resource = self.call.resource;
        let sent = object.clone();
        let admission = Admission::write(self.call, self.options, &sent, old);
        admission::mutate(&admission, object, |object, patch| match patch {
            Patch::Apply => accept::mutated(object, resource),
            Patch::Json => accept::patched_by_policy(object, resource),
        })
    }

    /// Asks validating policies, and whether a policy may be written by this user; `sent_name` is the name
    /// that the client sent.
    pub(super) fn admit(
        &self,
        object: &Value,
        old: Option<&Value>,
        sent_name: &str,
    ) -> Result<(), Refusal> {
        admission::allow(self.call, object, old)?;
        if self.part == ObjectPart::Scale {
            return Ok(());
        }
        let admission = Admission {
            sent_name,
            ..Admission::write(self.call, self.options, object, old)
        };
        admission::validate(&admission)?;
        self.charge(&admission)
    }
}
