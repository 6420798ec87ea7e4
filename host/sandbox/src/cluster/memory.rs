//! What a call makes the host hold, on the account of its plugin.

use super::Call;
use crate::bindings::cluster::Error;
use windlass_base::memory::{self, Charge, Exceeded};

/// As many trees as there are of an object that is written: what the guest wants, and what was there and
/// is there now, to tell the difference.
const TREES: usize = 3;

/// As many texts: the guest's, the request's, the answer's, and the object in it.
const TEXTS: usize = 4;

/// What it takes, in bytes, to remember that a call has met an object.
pub(super) const MET: usize = 512;

impl Call {
    /// Makes room for `bytes`, until what is returned is dropped.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<Charge, Error> {
        let charge = self.cluster.account.take(bytes);
        charge.map_err(|exceeded| self.exceeded(exceeded))
    }

    /// Makes room for what it takes to write the object that `text` is of.
    pub(super) fn hold_written(&mut self, text: &str) -> Result<Charge, Error> {
        self.remember_one()?;
        self.hold(TREES * memory::tree(text) + TEXTS * text.len())
    }

    /// Makes room for so many bytes more in `charge`.
    pub(super) fn hold_more(&mut self, charge: &mut Charge, bytes: usize) -> Result<(), Error> {
        charge
            .grow(bytes)
            .map_err(|exceeded| self.exceeded(exceeded))
    }

    /// Makes room for one more object that the call meets, until it ends.
    pub(super) fn remember_one(&mut self) -> Result<(), Error> {
        self.remember(MET)
    }

    /// Makes room for so many bytes more, until the call ends.
    pub(super) fn remember(&mut self, bytes: usize) -> Result<(), Error> {
        let grown = self.state.lock().memory.grow(bytes);
        grown.map_err(|exceeded| self.exceeded(exceeded))
    }

    /// Logs what the plugin has no room for, once a call, and what would change that.
    pub(super) fn exceeded(&mut self, exceeded: Exceeded) -> Error {
        let text = exceeded.to_string();
        let is_known = std::mem::replace(&mut self.state.lock().exceeded, true);
        if !is_known {
            let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
            tracing::warn!(plugin, object, "memory limit: {text}");
        }
        Error::other(text)
    }
}
