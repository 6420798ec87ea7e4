//! Which objects a read or a delete is about.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `ConfigMap`, not `configmaps`.
    pub kind: String,
    /// None for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectRef {
    /// An object in a namespace.
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::cluster_scoped(api_version, kind, name)
        }
    }

    /// An object of a cluster-scoped kind.
    pub fn cluster_scoped(api_version: &str, kind: &str, name: impl Into<String>) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.into(),
        }
    }
}

/// `ConfigMap/default/ada`; without the namespace for a cluster-scoped kind.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

/// Where a read is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// From the host's store if the plugin has `watch`. The read is tracked.
    #[default]
    Stored,
    /// The newest state, from the API server. This costs a request and is not tracked.
    Latest,
}

/// Which objects to list: all of a kind, narrowed by the methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `ConfigMap`, not `configmaps`.
    pub kind: String,
    /// None lists every namespace.
    pub namespace: Option<String>,
    /// Kubernetes' own selector text.
    pub label_selector: Option<String>,
    /// Kubernetes' own selector text.
    pub field_selector: Option<String>,
    /// Give at most this many.
    pub limit: Option<u32>,
    /// Where the answer comes from.
    pub consistency: Consistency,
}

impl ListQuery {
    /// Every object of a kind.
    pub fn all(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            limit: None,
            consistency: Consistency::default(),
        }
    }

    /// Those in one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Those whose labels match: `app=web,tier!=db`.
    #[must_use]
    pub fn labelled(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Those whose fields match: `spec.nodeName=a`.
    #[must_use]
    pub fn with_fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// At most this many.
    #[must_use]
    pub fn at_most(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The newest state, from the API server.
    #[must_use]
    pub fn latest(mut self) -> Self {
        self.consistency = Consistency::Latest;
        self
    }
}

/// Whose children to list, and which part of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildrenQuery {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `Pod`, not `pods`.
    pub kind: String,
    /// None lists every namespace.
    pub namespace: Option<String>,
    /// The UID of the owner. None is the primary.
    pub owner: Option<String>,
    /// List the objects as well that no object controls.
    pub orphans: bool,
    /// Give `apiVersion`, `kind` and `metadata` only.
    pub metadata_only: bool,
}

impl ChildrenQuery {
    /// The children of the primary of this kind, whatever their labels.
    pub fn all(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            owner: None,
            orphans: false,
            metadata_only: false,
        }
    }

    /// Those in one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Those of the object with this UID, and not of the primary.
    #[must_use]
    pub fn owned_by(mut self, uid: impl Into<String>) -> Self {
        self.owner = Some(uid.into());
        self
    }

    /// The objects as well that no object controls.
    #[must_use]
    pub fn with_orphans(mut self) -> Self {
        self.orphans = true;
        self
    }

    /// Only what every object has.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

/// How an object is adopted. The default is by the primary, without a finalizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Adoption {
    /// An object that the primary controls, which is to be the owner. None is the primary.
    pub owner: Option<ObjectRef>,
    /// A finalizer that a grant names, which is put on in the same write.
    pub finalizer: Option<String>,
}

/// Conditions and options of a delete. The default is right for most deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOptions {
    /// Only the object with this UID. None means the object that this call read.
    pub uid: Option<String>,
    /// Only this version. None lets the host decide.
    pub resource_version: Option<String>,
    /// None is [`Propagation::Background`].
    pub propagation: Option<Propagation>,
    /// None leaves it to the kind; 0 means at once.
    pub grace_period_seconds: Option<u32>,
}

/// A kind that the cluster serves, and a grant names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// `apps/v1`, or `v1` for the core group: the first version that has the kind, in the order that the API server prefers.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// The resource: `deployments`.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done to its objects, of that what the grants name.
    pub verbs: Vec<String>,
}

impl Served {
    /// Whether this can be done to its objects: `list`.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|held| held == verb)
    }
}

/// How an object is changed without owning its fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 6902: a list of operations. A failed `test` is [`Code::Invalid`](crate::Code::Invalid).
    Json(Value),
    /// RFC 7386: a named field is replaced, and null removes it. Lists are replaced as a whole.
    Merge(Value),
}

/// What happens to the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}
