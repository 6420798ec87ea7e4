//! What a client wants of an object.

use serde_json::Value;

use super::fit::By;
use crate::meta;

/// An object that the client wants, and how its field ownership is kept.
#[derive(Debug)]
pub enum WantedObject {
    /// By create, PUT or patch: what changed is owned.
    Updated(Value),
    /// By server-side apply: ownership is settled already.
    Applied(Value),
}

impl WantedObject {
    pub(super) fn by(&self) -> By {
        match self {
            Self::Updated(_) => By::Update,
            Self::Applied(_) => By::Apply,
        }
    }

    pub(super) fn object(&self) -> &Value {
        match self {
            Self::Updated(object) | Self::Applied(object) => object,
        }
    }

    /// What is created by an update has no version to build on, whatever the client says; a dry run
    /// shows what the client says.
    pub(super) fn of_no_version(mut self, dry_run: bool) -> Self {
        match &mut self {
            Self::Updated(object) | Self::Applied(object) if !dry_run => {
                meta::set(object, "resourceVersion", None);
            }
            Self::Updated(_) | Self::Applied(_) => {}
        }
        self
    }
}
