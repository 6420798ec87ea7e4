//! The imports that change the cluster.

use serde::{Deserialize, Serialize};

use super::reads::List;
use super::words::{JsonText, PatchType, Propagation, Reference, Severity, length};
use super::{Assumed, Effect, Import, ImportInfo};
use crate::bindings::cluster::{DeleteOptions, Error, ListQuery, SetError};
use crate::bindings::events::Event;
use crate::bindings::types::ObjectRef;

/// An import that takes an object and nothing else, and is answered with it.
macro_rules! of_object {
    ($(#[$about:meta])* $name:ident, $import:literal, $verbs:literal) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            pub(crate) object: JsonText,
        }

        impl Import for $name {
            const ABOUT: ImportInfo = ImportInfo {
                name: $import,
                interface: "cluster",
                verbs: $verbs,
                effect: Effect::Write(Assumed::Given("object")),
            };
            type Answer = Result<String, Error>;

            fn bytes(&self) -> usize {
                self.object.0.len()
            }
        }

        impl From<String> for $name {
            fn from(object: String) -> Self {
                Self {
                    object: JsonText(object),
                }
            }
        }
    };
}

of_object!(
    /// `apply`.
    Apply, "apply", "`create` and `patch`"
);
of_object!(
    /// `apply-status`.
    ApplyStatus, "apply-status", "`patch` on the subresource `status`"
);
of_object!(
    /// `create`.
    Create, "create", "`create`"
);

/// `apply-set`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplySet {
    pub(crate) children: Vec<JsonText>,
}

impl From<Vec<String>> for ApplySet {
    fn from(children: Vec<String>) -> Self {
        Self {
            children: children.into_iter().map(JsonText).collect(),
        }
    }
}

impl Import for ApplySet {
    const ABOUT: ImportInfo = ImportInfo {
        name: "apply-set",
        interface: "cluster",
        verbs: "`create` and `patch`; `watch` and `delete` as well to delete what leaves the set",
        effect: Effect::Write(Assumed::Given("children")),
    };
    type Answer = Result<Vec<String>, Vec<SetError>>;

    fn bytes(&self) -> usize {
        self.children.iter().map(|child| child.0.len() + 32).sum()
    }
}

/// `create-subresource`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSubresource {
    pub(crate) parent: Reference,
    pub(crate) subresource: String,
    pub(crate) object: JsonText,
}

impl Import for CreateSubresource {
    const ABOUT: ImportInfo = ImportInfo {
        name: "create-subresource",
        interface: "cluster",
        verbs: "`create` on the subresource",
        effect: Effect::Write(Assumed::Given("object")),
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        self.parent.bytes() + self.subresource.len() + self.object.0.len()
    }
}

/// `update-subresource`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSubresource {
    pub(crate) target: Reference,
    pub(crate) subresource: String,
    pub(crate) object: JsonText,
}

impl Import for UpdateSubresource {
    const ABOUT: ImportInfo = ImportInfo {
        name: "update-subresource",
        interface: "cluster",
        verbs: "`update` on the subresource",
        effect: Effect::Write(Assumed::Given("object")),
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        self.target.bytes() + self.subresource.len() + self.object.0.len()
    }
}

/// `patch`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PatchObject {
    pub(crate) target: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subresource: Option<String>,
    pub(crate) patch_type: PatchType,
    pub(crate) patch: JsonText,
}

impl Import for PatchObject {
    const ABOUT: ImportInfo = ImportInfo {
        name: "patch",
        interface: "cluster",
        verbs: "`patch`, on the subresource if there is one",
        effect: Effect::Write(Assumed::ReadBefore("target")),
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        self.target.bytes() + length(&self.subresource) + self.patch.0.len()
    }
}

/// `delete`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Delete {
    target: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    propagation: Option<Propagation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
}

impl Delete {
    /// The delete of `target` with these `options`.
    pub(crate) fn of(target: ObjectRef, options: DeleteOptions) -> Self {
        Self {
            target: target.into(),
            uid: options.uid,
            resource_version: options.resource_version,
            propagation: options.propagation.map(Into::into),
            grace_period_seconds: options.grace_period_seconds,
        }
    }
}

impl From<Delete> for (ObjectRef, DeleteOptions) {
    fn from(delete: Delete) -> Self {
        let options = DeleteOptions {
            uid: delete.uid,
            resource_version: delete.resource_version,
            propagation: delete.propagation.map(Into::into),
            grace_period_seconds: delete.grace_period_seconds,
        };
        (delete.target.into(), options)
    }
}

impl Import for Delete {
    const ABOUT: ImportInfo = ImportInfo {
        name: "delete",
        interface: "cluster",
        verbs: "`delete`",
        effect: Effect::Write(Assumed::Nothing),
    };
    type Answer = Result<(), Error>;

    fn bytes(&self) -> usize {
        self.target.bytes() + length(&self.uid) + length(&self.resource_version)
    }
}

/// `delete-all`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DeleteAll {
    query: List,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    propagation: Option<Propagation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
}

impl DeleteAll {
    /// The delete of what `query` selects with these `options`.
    pub(crate) fn of(query: ListQuery, options: DeleteOptions) -> Self {
        Self {
            query: query.into(),
            uid: options.uid,
            resource_version: options.resource_version,
            propagation: options.propagation.map(Into::into),
            grace_period_seconds: options.grace_period_seconds,
        }
    }
}

impl From<DeleteAll> for (ListQuery, DeleteOptions) {
    fn from(delete: DeleteAll) -> Self {
        let options = DeleteOptions {
            uid: delete.uid,
            resource_version: delete.resource_version,
            propagation: delete.propagation.map(Into::into),
            grace_period_seconds: delete.grace_period_seconds,
        };
        (delete.query.into(), options)
    }
}

impl Import for DeleteAll {
    const ABOUT: ImportInfo = ImportInfo {
        name: "delete-all",
        interface: "cluster",
        verbs: "`deletecollection`",
        effect: Effect::Write(Assumed::Nothing),
    };
    type Answer = Result<(), Error>;

    fn bytes(&self) -> usize {
        self.query.bytes() + length(&self.uid) + length(&self.resource_version)
    }
}

/// `create-many`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateMany {
    pub(crate) objects: Vec<JsonText>,
}

impl From<Vec<String>> for CreateMany {
    fn from(objects: Vec<String>) -> Self {
        Self {
            objects: objects.into_iter().map(JsonText).collect(),
        }
    }
}

impl Import for CreateMany {
    const ABOUT: ImportInfo = ImportInfo {
        name: "create-many",
        interface: "cluster",
        verbs: "`create`",
        effect: Effect::Write(Assumed::EachGiven("objects")),
    };
    type Answer = Vec<Result<String, Error>>;

    fn bytes(&self) -> usize {
        let objects = self.objects.iter();
        32 + objects.map(|object| object.0.len() + 32).sum::<usize>()
    }
}

/// `delete-many`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteMany {
    pub(crate) targets: Vec<Delete>,
}

impl From<Vec<(ObjectRef, DeleteOptions)>> for DeleteMany {
    fn from(targets: Vec<(ObjectRef, DeleteOptions)>) -> Self {
        let targets = targets.into_iter();
        let targets = targets.map(|(target, options)| Delete::of(target, options));
        Self {
            targets: targets.collect(),
        }
    }
}

impl Import for DeleteMany {
    const ABOUT: ImportInfo = ImportInfo {
        name: "delete-many",
        interface: "cluster",
        verbs: "`delete`",
        effect: Effect::Write(Assumed::NothingForEach("targets")),
    };
    type Answer = Vec<Result<(), Error>>;

    fn bytes(&self) -> usize {
        let targets = self.targets.iter();
        32 + targets.map(|target| target.bytes() + 64).sum::<usize>()
    }
}

/// `publish`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Publish {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    regarding: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    related: Option<Reference>,
    severity: Severity,
    reason: String,
    action: String,
    note: String,
}

impl Import for Publish {
    const ABOUT: ImportInfo = ImportInfo {
        name: "publish",
        interface: "events",
        verbs: "`get` on what it is about, if that is not the primary",
        effect: Effect::Write(Assumed::Nothing),
    };
    type Answer = Result<(), Error>;

    fn bytes(&self) -> usize {
        let objects = [&self.regarding, &self.related].into_iter().flatten();
        let objects: usize = objects.map(Reference::bytes).sum();
        objects + self.note.len() + self.reason.len() + self.action.len()
    }
}

impl From<Event> for Publish {
    fn from(event: Event) -> Self {
        Self {
            regarding: event.regarding.map(Into::into),
            related: event.related.map(Into::into),
            severity: event.severity.into(),
            reason: event.reason,
            action: event.action,
            note: event.note,
        }
    }
}

impl From<Publish> for Event {
    fn from(event: Publish) -> Self {
        Self {
            regarding: event.regarding.map(Into::into),
            related: event.related.map(Into::into),
            severity: event.severity.into(),
            reason: event.reason,
            action: event.action,
            note: event.note,
        }
    }
}
