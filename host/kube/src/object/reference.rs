//! An object by its kind and name.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::key::Key;
use windlass_base::text::clean_name;

/// An object, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Its kind.
    pub kind: String,
    /// Its namespace, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name; of a list the label selector.
    pub name: String,
}

impl ObjectRef {
    /// The object of this kind and name.
    pub fn new(kind: &str, key: &Key) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = (&self.kind, clean_name(&self.name));
        match &self.namespace {
            Some(namespace) => write!(out, "{kind}/{namespace}/{name}"),
            None => write!(out, "{kind}/{name}"),
        }
    }
}
