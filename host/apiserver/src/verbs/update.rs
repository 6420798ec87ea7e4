//! Update: PUT of a whole object.

use crate::answer::Answer;
use crate::call::Call;
use crate::request::options::{WriteKind, WriteOptions};
use crate::status::Refusal;
use crate::write::{ObjectPart, WantedObject, Writing, accept};

/// Puts the object in the body in the place of the one that is there.
///
/// # Errors
/// 404, 409, and whatever admission and validation refuse.
pub fn update(call: &Call<'_>) -> Result<Answer, Refusal> {
    part(call, ObjectPart::Main)
}

/// Updates one part of an object.
///
/// # Errors
/// As [`update()`].
pub fn part(call: &Call<'_>, part: ObjectPart) -> Result<Answer, Refusal> {
    call.look()?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Update)?;
    let mut object = accept::body(call, options.field_validation)?;
    accept::place(call, &mut object)?;
    accept::name(call, &object)?;
    accept::single_owners(call, &mut object);
    let writing = Writing::of(call, &options, part);
    let written = writing.update(|_| Ok(WantedObject::Updated(object.clone())))?;
    written.answer(call)
}
