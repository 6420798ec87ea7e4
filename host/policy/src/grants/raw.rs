//! A grant as a document has it.

use serde::Deserialize;

use super::{Grant, Namespaces, Owners, acknowledge};
use windlass_kube::selector::SelectorMapping;

/// One permission, in the form of an RBAC rule, and where it holds.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Grant"))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawGrant {
    /// `apps`, or empty for the core group.
    api_groups: Vec<String>,
    /// Plural and lower case, subresources after a slash.
    resources: Vec<String>,
    /// Empty means any.
    #[serde(default)]
    resource_names: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    verbs: Vec<String>,
    /// Where.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Namespaces"))]
    namespaces: Option<Namespaces>,
    /// Where, by the labels of the namespaces. It excludes `namespaces`.
    namespace_selector: Option<SelectorMapping>,
    /// What is powerful in it, as the operator knows: see [`Grant::acknowledgements`].
    #[serde(default, deserialize_with = "acknowledge::read")]
    acknowledge: Vec<String>,
    /// Whether the plugin may take over objects that the host did not make and that nobody controls.
    #[serde(default)]
    adopt: bool,
    /// Finalizers beside its own that the plugin may put on these objects and take off. `*` is each one that may be named.
    #[serde(default)]
    finalizers: Vec<String>,
    /// Which owners it may give these objects, and take from them.
    #[serde(default)]
    owners: Owners,
}

/// A grant that says twice where it holds.
#[derive(Debug, thiserror::Error)]
#[error("a grant has both namespaces and namespaceSelector: keep the one that says where it holds")]
pub(super) struct SaysTwice;

impl TryFrom<RawGrant> for Grant {
    type Error = SaysTwice;

    fn try_from(raw: RawGrant) -> Result<Self, SaysTwice> {
        let namespaces = match (raw.namespaces, raw.namespace_selector) {
            (Some(_), Some(_)) => return Err(SaysTwice),
            (Some(namespaces), None) => namespaces,
            (None, Some(selector)) => Namespaces::Selected {
                selector,
                names: Vec::new(),
            },
            (None, None) => Namespaces::default(),
        };
        Ok(Self {
            api_groups: raw.api_groups,
            resources: raw.resources,
            resource_names: raw.resource_names,
            verbs: raw.verbs,
            namespaces,
            acknowledge: raw.acknowledge,
            adopt: raw.adopt,
            finalizers: raw.finalizers,
            owners: raw.owners,
        })
    }
}
