//! `spec.crds`: what is done about the CustomResourceDefinitions that a component carries.

use std::fmt;

use serde::Deserialize;

/// What is done about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DefinitionPolicy {
    /// What is absent is installed, and what the plugin itself has installed is widened. Otherwise as [`Self::Check`].
    Install,
    /// The plugin waits until the cluster has them.
    Check,
    /// Nothing.
    #[default]
    Ignore,
}

/// As the document has it.
impl fmt::Display for DefinitionPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}
