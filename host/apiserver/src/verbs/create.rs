//! Create.

use crate::answer::Answer;
use crate::call::Call;
use crate::meta;
use crate::request::decode;
use crate::request::options::{WriteKind, WriteOptions};
use crate::status::Refusal;
use crate::write::{ObjectPart, Writing, accept};

/// Creates the object in the body.
///
/// # Errors
/// 409 if there is one already, and whatever admission and validation refuse.
pub fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    call.look()?;
    decode::format(call.request.header("content-type"))?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let mut object = accept::body(call, options.field_validation)?;
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        meta::set(&mut object, field, None);
    }
    accept::place(call, &mut object)?;
    accept::single_owners(call, &mut object);
    let written = Writing::of(call, &options, ObjectPart::Main).create(object)?;
    written.answer(call)
}
