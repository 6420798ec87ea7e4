//! Names one primary object of a plugin: what the queue holds.

use std::fmt;

/// Namespace and name of a primary. The kind is the plugin's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// None for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(out, "{namespace}/{}", self.name),
            None => write!(out, "{}", self.name),
        }
    }
}
