//! Every import that reaches beyond the sandbox, declared once: what it is called, what it takes, what it does, and how it
//! is recorded. The recorder, the player and `docs/imports.md` follow from that.
//!
//! - `log`, `config`, `clock`, `metrics` and `memory.keep` are not here: they answer from the call itself, and are not
//!   recorded.

pub(super) mod answer;
mod changes;
mod hints;
mod http;
mod owners;
mod reads;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use answer::Recordable;
pub use answer::{RecordedError, RecordedStatus, Reply};
pub(super) use changes::{
    Apply, ApplySet, ApplyStatus, Create, CreateMany, CreateSubresource, Delete, DeleteAll,
    DeleteMany, PatchObject, Publish, UpdateSubresource,
};
pub(super) use hints::{Recall, Take};
pub(super) use http::Fetch;
pub(super) use owners::{Adopt, Disown, Hold, Protect, Release, ReleaseMany};
pub(super) use reads::{Get, Kinds, List, ListChildren, Select, UnchangedFor};
pub(super) use words::JsonText;

/// A call of an import: what the guest gives. Its JSON is what recordings hold, by the contract's names.
pub(super) trait Import: Serialize + DeserializeOwned + Clone + Send + 'static {
    /// What is fixed about it.
    const ABOUT: ImportInfo;

    /// What it is answered with.
    type Answer: Recordable + Clone + Send + 'static;

    /// About how many bytes it has.
    fn bytes(&self) -> usize;

    /// Its JSON.
    fn to_json(&self) -> Value {
        // It cannot fail: all keys are texts.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What is fixed about an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportInfo {
    /// Its name in the contract: `apply-set`.
    pub name: &'static str,
    /// Its interface: `cluster`.
    pub interface: &'static str,
    /// The verbs that a grant must have for it, for people.
    pub verbs: &'static str,
    /// What it does to the cluster.
    pub effect: Effect,
}

/// What an import does to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It looks. A replay answers it from the recording.
    Read,
    /// It changes something, and passes the Lease gate.
    Write(Assumed),
    /// It sends something to a server outside the cluster. A replay answers it from the recording.
    Send,
}

/// What a write is answered with that is not sent, in a dry run or a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumed {
    /// This part of what the guest gave.
    Given(&'static str),
    /// The object with this reference, as it was read before.
    ReadBefore(&'static str),
    /// Nothing.
    Nothing,
    /// Each of the objects in this part of what the guest gave.
    EachGiven(&'static str),
    /// Nothing for each of the objects in this part of what the guest gave.
    NothingForEach(&'static str),
}

/// Hands the types of all imports to the macro `with`, in the contract's order.
macro_rules! every_import {
    ($with:ident) => {
        $with! {
            Get List Select ListChildren Kinds UnchangedFor Apply ApplyStatus ApplySet Adopt Disown
            Hold Release ReleaseMany Protect Create CreateMany CreateSubresource UpdateSubresource
            PatchObject Delete DeleteMany DeleteAll Publish Fetch Recall Take
        }
    };
}
pub(super) use every_import;

macro_rules! infos {
    ($($import:ident)+) => { &[$($import::ABOUT),+] };
}

/// All imports, in the contract's order.
pub const IMPORTS: &[ImportInfo] = every_import!(infos);

/// What is known of the import with this name.
pub(super) fn about(name: &str) -> Option<ImportInfo> {
    IMPORTS.iter().copied().find(|about| about.name == name)
}
