//! The imports that look at the cluster.

use serde::{Deserialize, Serialize};

use super::words::{Consistency, Reference, length};
use super::{Effect, Import, ImportInfo};
use crate::bindings::cluster::{ChildrenQuery, Error, ListQuery, Served};

/// `get`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Get {
    pub(crate) target: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subresource: Option<String>,
    pub(crate) consistency: Consistency,
}

impl Import for Get {
    const ABOUT: ImportInfo = ImportInfo {
        name: "get",
        interface: "cluster",
        verbs: "`get`; with `watch` as well it is answered from the store",
        effect: Effect::Read,
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        self.target.bytes() + length(&self.subresource)
    }
}

/// `list`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct List {
    api_version: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_selector: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field_selector: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    consistency: Consistency,
}

impl Import for List {
    const ABOUT: ImportInfo = ImportInfo {
        name: "list",
        interface: "cluster",
        verbs: "`list`; with `watch` as well it is answered from the store",
        effect: Effect::Read,
    };
    type Answer = Result<Vec<String>, Error>;

    fn bytes(&self) -> usize {
        let given = [&self.namespace, &self.label_selector, &self.field_selector];
        self.api_version.len() + self.kind.len() + given.into_iter().map(length).sum::<usize>()
    }
}

/// `select`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Select {
    pub(crate) query: List,
    pub(crate) paths: Vec<String>,
}

impl Import for Select {
    const ABOUT: ImportInfo = ImportInfo {
        name: "select",
        interface: "cluster",
        verbs: List::ABOUT.verbs,
        effect: Effect::Read,
    };
    type Answer = Result<String, Error>;

    fn bytes(&self) -> usize {
        let paths = self.paths.iter();
        self.query.bytes() + paths.map(|path| path.len() + 32).sum::<usize>()
    }
}

/// `list-children`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ListChildren {
    api_version: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    orphans: bool,
    metadata_only: bool,
}

impl Import for ListChildren {
    const ABOUT: ImportInfo = ImportInfo {
        name: "list-children",
        interface: "cluster",
        verbs: "`list`; with `watch` as well it is answered from the store",
        effect: Effect::Read,
    };
    type Answer = Result<Vec<String>, Error>;

    fn bytes(&self) -> usize {
        self.api_version.len() + self.kind.len() + length(&self.namespace) + length(&self.owner)
    }
}

/// `kinds`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kinds {}

impl Import for Kinds {
    const ABOUT: ImportInfo = ImportInfo {
        name: "kinds",
        interface: "cluster",
        verbs: "none; it names what grants name",
        effect: Effect::Read,
    };
    type Answer = Result<Vec<Served>, Error>;

    fn bytes(&self) -> usize {
        // Its name alone is recorded.
        Self::ABOUT.name.len()
    }
}

/// `unchanged-for`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnchangedFor {
    pub(crate) target: Reference,
}

impl Import for UnchangedFor {
    const ABOUT: ImportInfo = ImportInfo {
        name: "unchanged-for",
        interface: "cluster",
        verbs: "`watch`",
        effect: Effect::Read,
    };
    type Answer = Result<u32, Error>;

    fn bytes(&self) -> usize {
        self.target.bytes()
    }
}

impl From<ChildrenQuery> for ListChildren {
    fn from(query: ChildrenQuery) -> Self {
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            owner: query.owner,
            orphans: query.orphans,
            metadata_only: query.metadata_only,
        }
    }
}

impl From<ListChildren> for ChildrenQuery {
    fn from(query: ListChildren) -> Self {
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            owner: query.owner,
            orphans: query.orphans,
            metadata_only: query.metadata_only,
        }
    }
}

impl From<ListQuery> for List {
    fn from(query: ListQuery) -> Self {
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            label_selector: query.label_selector,
            field_selector: query.field_selector,
            limit: query.limit,
            consistency: query.consistency.into(),
        }
    }
}

impl From<List> for ListQuery {
    fn from(query: List) -> Self {
        Self {
            api_version: query.api_version,
            kind: query.kind,
            namespace: query.namespace,
            label_selector: query.label_selector,
            field_selector: query.field_selector,
            limit: query.limit,
            consistency: query.consistency.into(),
        }
    }
}
