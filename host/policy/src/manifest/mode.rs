//! `spec.mode` and `spec.objectAnnotations`: whether a plugin writes, and whether users of its objects may hold it back.

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

/// Whether the annotations `windlass.dev/paused` and `windlass.dev/reconcile-requested-at` of an object count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ObjectAnnotations {
    /// Anyone who may change an object may pause it, and ask for a pass over it.
    #[default]
    Follow,
    /// Nobody can keep an object away from the plugin.
    Ignore,
}
