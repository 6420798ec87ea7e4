//! Why a key runs: for people and for the order of the queue, never for the guest.

use std::fmt;

use windlass_base::bugs::bug;
use windlass_kube::api::Resource;
use windlass_kube::informer::{Change, Origin};
use windlass_kube::object::Key;

/// A key that must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueue {
    /// Which one.
    pub key: Key,
    /// Why.
    pub why: WakeReason,
    /// It may wait for what needs to run more.
    pub low: bool,
}

/// Why a key runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// It, or something that concerns it, was in a first list.
    Listed,
    /// An object of this kind and name came, changed or went.
    Changed(String, Key),
    /// Its own object, of this kind and name, is new, has a new generation, or is to be deleted.
    Edited(String, Key),
    /// An object of this kind and name changed while it wrote it, or its write of it has an unknown end.
    Overtaken(String, Key),
    /// What it read is watched from now on.
    Watched,
    /// It was told what the cluster serves, and that has changed.
    Served,
    /// It has its finalizer now, or has it no more.
    Settled,
    /// It asked for it.
    Requeued,
    /// It failed before.
    Failed,
    /// The API server was busy, or the lease was not certain.
    SlowedDown,
    /// The plugin has a new version.
    Swapped,
    /// It is time to look at everything again.
    Resync,
    /// Somebody asked for it.
    Asked,
}

impl fmt::Display for WakeReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed => write!(out, "it was in the first list"),
            Self::Changed(kind, key) | Self::Edited(kind, key) => {
                write!(out, "{kind} {key} has changed")
            }
            Self::Overtaken(kind, key) => {
                write!(out, "{kind} {key} has changed while it wrote that")
            }
            Self::Watched => write!(out, "what it read is watched now"),
            Self::Served => write!(out, "what the cluster serves has changed"),
            Self::Settled => write!(out, "its finalizer was put on or taken off"),
            Self::Requeued => write!(out, "it asked to run again"),
            Self::Failed => write!(out, "it failed before"),
            Self::SlowedDown => write!(out, "the API server was busy"),
            Self::Swapped => write!(out, "the plugin has a new version"),
            Self::Asked => write!(out, "somebody asked for it"),
            Self::Resync => write!(out, "everything is looked at again"),
        }
    }
}

/// The change as a reason.
pub(super) fn changed(resource: &Resource, change: &Change) -> WakeReason {
    let object = change.new.as_ref().or(change.old.as_ref());
    let key = object.map(|object| object.metadata.key.clone());
    match key {
        Some(key) => WakeReason::Changed(resource.kind.clone(), key),
        None => WakeReason::Listed,
    }
}

/// Whether a change is only that something was found: nothing happened, unless it is on its way out.
pub(super) fn is_found(change: &Change, origin: Origin) -> bool {
    let there = |object: &windlass_kube::object::Object| {
        bug!(DeletionsRunLow, !object.metadata.deleting, true)
    };
    origin == Origin::List && change.old.is_none() && change.new.as_ref().is_some_and(there)
}
