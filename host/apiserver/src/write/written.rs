//! What a write came to.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::present;
use crate::registry::Resource;
use crate::status::Refusal;
use crate::store::Entry;

/// What a write came to.
#[derive(Clone, Debug)]
pub struct Written {
    /// 200 or 201.
    pub code: StatusCode,
    /// The object.
    pub object: Outcome,
}

/// The object that a write leaves.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// As it is in the store.
    Kept(Arc<Entry>),
    /// As it would be, or was, in the version of the path: after a dry run, or when it went away.
    Loose(Value),
}

impl Written {
    pub(super) fn kept(code: StatusCode, entry: Arc<Entry>) -> Self {
        let object = Outcome::Kept(entry);
        Self { code, object }
    }

    pub(super) fn loose(code: StatusCode, object: Value) -> Self {
        let object = Outcome::Loose(object);
        Self { code, object }
    }

    /// The answer in the form that the client wants.
    ///
    /// # Errors
    /// 406 if it can have none of what it wants.
    pub fn answer(self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let look = call.look()?;
        match self.object {
            Outcome::Kept(entry) => present::one(call.resource, &entry, look, self.code),
            Outcome::Loose(object) => Ok(present::loose(call.resource, &object, look, self.code)),
        }
    }
}

impl Outcome {
    /// The object, in the version of the path.
    pub fn into_value(self, resource: &Resource) -> Value {
        match self {
            Self::Kept(entry) => present::value(resource, &entry),
            Self::Loose(object) => object,
        }
    }
}
