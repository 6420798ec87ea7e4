//! `spec.mode`: whether a plugin writes.

use serde::Deserialize;

/// Whether a plugin writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Mode {
    /// It does what it is made for.
    #[default]
    Run,
    /// It makes passes over live objects. What it would write is shown, and not sent.
    Observe,
}
