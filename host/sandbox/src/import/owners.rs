//! The imports that change owners and finalizers of objects that are there.

use serde::{Deserialize, Serialize};

use super::words::{Reference, length};
use super::{Assumed, Effect, Import, ImportInfo};
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;

/// `adopt`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adopt {
    pub(crate) target: Reference,
    pub(crate) uid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finalizer: Option<String>,
}

impl Import for Adopt {
    const ABOUT: ImportInfo = ImportInfo {
        name: "adopt",
        interface: "cluster",
        verbs: "`patch`, with `adopt: true`",
        effect: Effect::Write(Assumed::ReadBefore("target")),
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        let owner = self.owner.as_ref().map_or(0, Reference::bytes);
        self.target.bytes() + self.uid.len() + owner + length(&self.finalizer)
    }
}

/// `disown`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disown {
    pub(crate) target: Reference,
    pub(crate) uid: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) owners: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finalizer: Option<String>,
}

impl Import for Disown {
    const ABOUT: ImportInfo = ImportInfo {
        name: "disown",
        interface: "cluster",
        verbs: "`patch`; `owners: any` as well for other owners than the primary",
        effect: Effect::Write(Assumed::Nothing),
    };
    type Answer = Result<(), Error>;

    fn bytes(&self) -> usize {
        let owners: usize = self.owners.iter().map(|owner| owner.len() + 32).sum();
        self.target.bytes() + self.uid.len() + owners + length(&self.finalizer)
    }
}

/// `protect`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Protect {}

impl Import for Protect {
    const ABOUT: ImportInfo = ImportInfo {
        name: "protect",
        interface: "cluster",
        verbs: "`patch` on the primary",
        effect: Effect::Write(Assumed::Nothing),
    };
    type Answer = Result<(), Error>;

    fn bytes(&self) -> usize {
        // Its name alone is recorded.
        Self::ABOUT.name.len()
    }
}

/// An object, and its UID.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) target: Reference,
    pub(crate) uid: String,
}

/// `release-many`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseMany {
    pub(crate) targets: Vec<Identity>,
    pub(crate) finalizer: String,
}

impl ReleaseMany {
    /// Of these objects with these UIDs.
    pub(crate) fn of(targets: Vec<(ObjectRef, String)>, finalizer: String) -> Self {
        let targets = targets.into_iter().map(|(target, uid)| Identity {
            target: target.into(),
            uid,
        });
        Self {
            targets: targets.collect(),
            finalizer,
        }
    }
}

impl Import for ReleaseMany {
    const ABOUT: ImportInfo = ImportInfo {
        name: "release-many",
        interface: "cluster",
        verbs: "`patch`, with the finalizer in `finalizers`",
        effect: Effect::Write(Assumed::NothingForEach("targets")),
    };
    type Answer = Vec<Result<(), Error>>;

    fn bytes(&self) -> usize {
        let targets = self.targets.iter();
        let targets = targets.map(|held| held.target.bytes() + held.uid.len() + 32);
        32 + self.finalizer.len() + targets.sum::<usize>()
    }
}

/// An import that puts a finalizer on an object, or takes it off.
macro_rules! of_finalizer {
    ($(#[$about:meta])* $name:ident, $import:literal, $assumed:expr, $answer:ty) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            pub(crate) target: Reference,
            pub(crate) uid: String,
            pub(crate) finalizer: String,
        }

        impl Import for $name {
            const ABOUT: ImportInfo = ImportInfo {
                name: $import,
                interface: "cluster",
                verbs: "`patch`, with the finalizer in `finalizers`",
                effect: Effect::Write($assumed),
            };
            type Answer = Result<$answer, Error>;

            fn bytes(&self) -> usize {
                self.target.bytes() + self.uid.len() + self.finalizer.len()
            }
        }
    };
}

of_finalizer!(
    /// `hold`.
    Hold, "hold", Assumed::ReadBefore("target"), String
);
of_finalizer!(
    /// `release`.
    Release, "release", Assumed::Nothing, ()
);
