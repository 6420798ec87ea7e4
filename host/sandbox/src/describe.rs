//! Asks components what they are, without a cluster: for the commands that only look.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_code_cache::CodeCache;

use crate::{LoadError, Plugin, Sandboxes, code_cache, sandboxes};
use windlass_base::seams::Seams;
use windlass_policy::manifest::Limits;

/// Asks components. Compiled code is kept, as a host does.
pub struct Describe {
    sandboxes: Arc<Sandboxes>,
    cache: CodeCache,
}

impl Describe {
    /// With compiled code in `cache`, or in the user's cache folder; `threads` run guests.
    ///
    /// # Errors
    /// The folder cannot be used, or the machine runs no guests.
    pub fn new(cache: Option<PathBuf>, threads: usize, seams: &Seams) -> anyhow::Result<Self> {
        Ok(Self {
            sandboxes: sandboxes(threads, seams)?,
            cache: code_cache(cache)?,
        })
    }

    /// Loads a component as a host would, and asks it.
    ///
    /// # Errors
    /// A host would not load it either.
    pub async fn load(
        &self,
        name: &str,
        bytes: &[u8],
        config: &str,
        limits: Limits,
    ) -> Result<Plugin, LoadError> {
        self.sandboxes
            .load(name, bytes, config, limits, &self.cache)
            .await
    }
}
