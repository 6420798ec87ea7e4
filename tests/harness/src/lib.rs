//! Builds what tests run: the host's program, and guests as components.

pub mod guests;
mod host;
mod javascript;

use std::path::Path;

pub use guests::guest;
pub use host::host_binary;

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}
