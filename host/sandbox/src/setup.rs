//! What guests need of the machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use windlass_code_cache::CodeCache;

use super::{Compiler, Sandboxes};
use windlass_base::memory::plugin_budget;
use windlass_base::seams::Seams;
use windlass_base::seams::environment::user_code_cache;

/// Where guests run, on so many threads.
///
/// # Errors
/// The machine runs none.
pub fn sandboxes(threads: usize, seams: &Seams) -> anyhow::Result<Arc<Sandboxes>> {
    let budget = plugin_budget(Path::new("/"));
    let sandboxes = Sandboxes::new(seams.clone(), threads, budget, Compiler::Child);
    sandboxes.map_err(|error| anyhow::anyhow!("cannot start the WebAssembly engine: {error:#}"))
}

/// Where compiled code is kept: in `folder`, or in the user's cache folder.
///
/// # Errors
/// The folder cannot be used.
pub fn code_cache(folder: Option<PathBuf>) -> anyhow::Result<CodeCache> {
    let folder = folder.or_else(user_code_cache);
    let folder = folder
        .context("neither HOME nor XDG_CACHE_HOME is set: name a folder with --code-cache")?;
    CodeCache::open(&folder)
        .context("cannot use the code cache; name another folder with --code-cache")
}
