//! Create.

use crate::answer::Answer;
use crate::request::options::{WriteKind, WriteOptions};
use crate::server::Call;
use crate::status::Refusal;
use crate::write::{Part, Writing, accept, meta};

/// Creates the object in the body.
///
/// # Errors
/// 409 if there is one already, and whatever admission and validation refuse.
pub fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let mut accepted = accept::body(call, options.field_validation)?;
    let object = &mut accepted.object;
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        meta::set(object, field, None);
    }
    accept::place(call, object)?;
    let twice = accept::single_owners(object);
    accepted.warnings.extend(twice);
    let written = Writing::of(call, &options, Part::Main).create(&accepted.object)?;
    written.answer(call, accepted.warnings)
}
